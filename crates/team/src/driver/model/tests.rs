//! The request to an endpoint member compared with a build of the library with its defaults.

use std::collections::BTreeMap;

use tertulia_agent::{AgentKind, AgentSpec, Endpoint, Permissions, Timeouts};
use tertulia_context::SpokenBy;
use tertulia_context::branch::BranchIndex;
use tertulia_session::Entry;
use tertulia_session::record::read_entry_line;

use super::*;
use crate::{Limits, Team, TeamMember};

fn endpoint(budget_tokens: u64) -> TeamMember {
    let base_url = "http://127.0.0.1:1/v1".into();
    let spec = AgentSpec {
        kind: AgentKind::OpenAi(Endpoint { base_url, key_variable: None }),
        program: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        model: Some("some-model".into()),
        cwd: std::env::temp_dir(),
        permissions: Permissions::Read,
        timeouts: Timeouts::default(),
        limits: tertulia_dialect::stream::Limits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    };
    TeamMember { budget_tokens, ..TeamMember::agent("max", spec) }
}

fn log() -> Vec<Entry> {
    let line = |at: usize| {
        let text = match at {
            3 => "The deploy key is called heron-7 and nobody else has it.".to_owned(),
            60 => "What is the deploy key called?".to_owned(),
            _ => format!("Remark {at}: the parser of module {at} reads its input line by line."),
        };
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e-{at}\""));
        let line = format!(
            r#"{{"id":"e-{at}","parentId":{parent},"type":"message","payload":{{"role":"user","content":"{text}"}}}}"#
        );
        read_entry_line(at + 1, &line).unwrap()
    };
    (0..=60).map(line).collect()
}

#[test]
fn an_endpoint_gets_what_the_default_of_the_library_gives() {
    let log = log();
    let mut branch = BranchIndex::default();
    log.iter().enumerate().for_each(|(at, entry)| branch.push(at, entry));
    let branch = Branch::new(&log, &branch);
    let answers = EntryId::from("e-60");
    for budget in [700, 1_200, 100_000] {
        let team =
            Team::new(vec![TeamMember::person("ann"), endpoint(budget)], Limits::default(), None);
        let team = team.unwrap();
        let spoken_by = |_: &Message| SpokenBy::Member;
        let of = Member { team: &team, member: &team.members()[1], spoken_by: &spoken_by };
        let about = About { answers: &answers, has: None, consult: None };
        let sent = body(branch, &mut ContextIndex::new(), &of, &about, false).unwrap();

        let builder = ContextBuilder::new(ContextConfig::new(budget)).unwrap();
        let (system, _) = system_text(branch, &of);
        let perspective = of.perspective();
        let built = builder.build_context(&ContextBuildInput {
            system_prompt: Some(&system),
            session_entries: &log,
            perspective: Some(&perspective),
            answers: Some(&answers),
            ..ContextBuildInput::default()
        });
        let built = built.unwrap();
        let context = ModelContext::new(built.model_messages.iter().map(|one| &*one.message));
        assert_eq!(sent.json, Dialect::OpenAiChat.render(&context).fragment.to_json());
        assert_eq!(sent.recalled.is_empty(), budget == 100_000, "{budget}");
    }
}
