//! The process that runs turns: one hostile agent after the other, each followed by a check for
//! surviving processes.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Containment, Listener, Memory, Mentions,
    PermissionAnswer, PermissionRequest, Permissions, ResourceLimits, Timeouts, TurnRequest,
};
use tertulia_dialect::stream::{Limits, StreamEvent};

use super::grow::{Tree, VARIABLE};
use crate::error::FaultsError;
use crate::options::Options;
use crate::rng::Rng;

/// Time limit of a turn.
const TIME: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_millis(60);

/// Runs turns; prints `gone` or `lives` for each.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let names = ["containment", "owner", "seed", "from", "to", "stays"];
    let options = Options::parse("trees-inside", arguments, &names)?;
    let containment = match options.needed("containment")? {
        "group" => Containment::ControlGroup,
        "supervisor" => Containment::Supervisor,
        _ => Containment::Descendants,
    };
    let owner = options.number("owner", 0)? as u32;
    let stays = options.text("stays").is_some();
    for number in options.number("from", 0)?..options.number("to", 0)? {
        let tree = Tree::new(owner, number);
        let mut rng = Rng::from_text(&format!("{} {number}", options.number("seed", 0)?));
        let is_cancelled = rng.percent(50);
        let may_murder = !stays && containment == Containment::Supervisor;
        let script = tree.script(&mut rng, stays || is_cancelled, may_murder);
        let cancel = CancelToken::new();
        let mut listener =
            TurnListener { number, cancel: (!stays && is_cancelled).then(|| cancel.clone()) };
        let spec = spec(&tree, &script);
        let report = tertulia_agent::run_in_containment(
            containment,
            &spec,
            &request(&tree),
            &cancel,
            &mut listener,
        );
        let living = tree.living();
        let word = if living.is_empty() { "gone" } else { "lives" };
        say(&format!("{word} {number} {:?} {living:?}", report.containment));
        tree.fell();
    }
    Ok(true)
}

fn say(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

fn request(tree: &Tree) -> TurnRequest<'_> {
    let mentions = Mentions::none();
    TurnRequest {
        turn: &tree.mark,
        number: 0,
        prompt: "",
        message_start: 0,
        mentions,
        system: None,
        body: None,
        memory: Memory::Fresh,
    }
}

fn spec(tree: &Tree, script: &str) -> AgentSpec {
    AgentSpec {
        kind: AgentKind::Command(CommandOutput::Text),
        program: Some("/bin/sh".into()),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([(VARIABLE.into(), tree.mark.as_str().into())]),
        model: None,
        cwd: "/".into(),
        permissions: Permissions::Read,
        timeouts: Timeouts {
            first_byte: TIME,
            silence: TIME,
            total: TIME,
            after_final: TIME,
            grace: GRACE,
        },
        limits: Limits::default(),
        resources: ResourceLimits::default(),
    }
}

/// Reports when the tree is running, and cancels the turn if requested.
struct TurnListener {
    number: u64,
    cancel: Option<CancelToken>,
}

impl Listener for TurnListener {
    fn event(&mut self, event: StreamEvent) {
        if matches!(&event, StreamEvent::TextDelta { text } if text.contains("ready")) {
            say(&format!("ready {}", self.number));
            if let Some(cancel) = &self.cancel {
                cancel.cancel();
            }
        }
    }

    fn permit(&mut self, _request: &PermissionRequest) -> PermissionAnswer {
        PermissionAnswer::Deny
    }
}
