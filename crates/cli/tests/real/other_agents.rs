//! Tests that a session of every agent continues in every other agent, and back: the programs themselves create it,
//! get it from `tertulia sessions import` and `tertulia handover`, and resume it. The tests compare the requests
//! that the model server captures.

use serde_json::Value;
use tertulia_fake_models::{Asked, Script, Step};

use crate::agents::Agent;
use crate::captured::{Said, conversation};
use crate::workspace::Workspace;

const FIRST: &str = "First: how wide is the leaf \u{1f469}\u{200d}\u{1f680}?\n\n    let 幅 = \"«Größe» 🙂\"; // \\n, \"quoted\"\n\nPlease measure.";
const ANSWER: &str =
    "It is 4 cm wide:\n\n```rust\nfn breite() -> &'static str {\n\t\"4 ㎝ 🙂\"\n}\n```";
const SECOND: &str = "Second: and the stem? <b>&amp;</b> {\"a\": [1, 2]}";
const SHORT_ANSWER: &str = "The stem is 11 cm long; 한국어.";
const THIRD: &str = "Third: measure it again, été.";
const OTHER_ANSWER: &str = "Measured again: 4 cm.";
const FOURTH: &str = "Fourth: so what is it?";

/// The output of the tool.
const MEASURED: &str = "Größe: 42 ✓ \"漢字\"";

macro_rules! for_each_source {
    ($($name:ident: $agent:ident),* $(,)?) => {
        $(#[test] fn $name() { goes_on_and_comes_back(Agent::$agent) })*
    };
}

for_each_source![
    a_session_of_claude_goes_on_in_every_other_agent_and_comes_back: Claude,
    a_session_of_codex_goes_on_in_every_other_agent_and_comes_back: Codex,
    a_session_of_gemini_goes_on_in_every_other_agent_and_comes_back: Gemini,
    a_session_of_opencode_goes_on_in_every_other_agent_and_comes_back: Opencode,
    a_session_of_copilot_goes_on_in_every_other_agent_and_comes_back: Copilot,
    a_session_of_pi_goes_on_in_every_other_agent_and_comes_back: Pi,
];

fn goes_on_and_comes_back(source: Agent) {
    let machine = Machine::new();
    let begun = machine.begin(source);
    // All are written before one continues, because a handover first imports new messages of other agents.
    let others = std::iter::successors(Some(source.next()), |agent| Some(agent.next()));
    let others: Vec<Agent> = others.take_while(|agent| *agent != source).collect();
    let hand_over = |target: &Agent| machine.hand_over(*target, &begun.session);
    let written: Vec<String> = others.iter().map(hand_over).collect();
    let mut problems = Vec::new();
    for (target, native_id) in others.into_iter().zip(&written) {
        let pair = format!("{} → {}", source.word(), target.word());
        let asked = machine.ask(target, Some(native_id), THIRD);
        let problem = missing(&begun.said, THIRD, &asked);
        problems.extend(problem.map(|problem| format!("{pair}: {problem}")));
        if target != source.next() {
            continue;
        }
        // The last request of the other agent contains all its new messages except its answer.
        let answer = Said::Assistant(OTHER_ANSWER.to_owned());
        let said = [begun.said.clone(), added(THIRD, &asked), vec![answer]].concat();
        let back = machine.hand_over(source, &begun.session);
        assert_eq!(back, begun.native_id, "{pair} → {}", source.word());
        let asked = machine.ask(source, Some(&back), FOURTH);
        let problem = missing(&said, FOURTH, &asked);
        problems.extend(problem.map(|problem| format!("{pair} → {}: {problem}", source.word())));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// A user's machine with all programs.
struct Machine {
    workspace: Workspace,
}

/// A session that an agent has created.
struct Begun {
    /// The session in the store.
    session: String,
    native_id: String,
    said: Vec<Said>,
}

/// The output of `sessions import`.
struct Imported {
    session: String,
    native_id: String,
}

impl Machine {
    fn new() -> Self {
        let workspace = Workspace::of_all_programs();
        let measure = Step::Shell(format!("printf '%s\\n' '{MEASURED}'"));
        for agent in Agent::ALL {
            let script = Script::new([Step::text("Nothing was asked.")])
                .when("First:", [measure.clone(), Step::text(ANSWER)])
                .when("Second:", [Step::text(SHORT_ANSWER)])
                .when("Third:", [measure.clone(), Step::text(OTHER_ANSWER)])
                .when("Fourth:", [Step::text("That is all.")]);
            workspace.models.script_for(agent.model(), script);
        }
        Self { workspace }
    }

    /// Lets an agent create a session of two turns, and imports it after each turn.
    fn begin(&self, agent: Agent) -> Begun {
        self.ask(agent, None, FIRST);
        let newest = ["--last", "--agent", agent.word(), "--project", "."];
        let imported = self.import(&newest);
        let asked = self.ask(agent, Some(&imported.native_id), SECOND);
        let Imported { session, native_id } = self.import(&newest);
        assert_eq!((&session, &native_id), (&imported.session, &imported.native_id));
        let mut of_tools = conversation(asked.last().expect("a request"));
        of_tools.retain(|said| matches!(said, Said::Call { .. } | Said::Result { .. }));
        assert!(of_tools.len() == 2 && is_measured(&of_tools), "{of_tools:#?}");
        let user = |text: &str| Said::User(text.to_owned());
        let assistant = |text: &str| Said::Assistant(text.to_owned());
        let mut said = vec![user(FIRST)];
        said.append(&mut of_tools);
        said.extend([assistant(ANSWER), user(SECOND), assistant(SHORT_ANSWER)]);
        Begun { session, native_id, said }
    }

    /// Hands a session over to an agent. Returns the agent's ID of it.
    fn hand_over(&self, agent: Agent, session: &str) -> String {
        let words = ["handover", session, "--to", agent.word(), "--json"];
        word(&self.json(&words), "nativeSessionId")
    }

    fn import(&self, words: &[&str]) -> Imported {
        let record = self.json(&[&["sessions", "import", "--json"], words].concat());
        let (session, native_id) = (word(&record, "importedAs"), word(&record, "nativeSessionId"));
        Imported { session, native_id }
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let run = self.workspace.tertulia(words);
        assert_eq!(run.code, Some(0), "{words:?}: {run:#?}");
        serde_json::from_str(&run.answers).unwrap_or_else(|error| panic!("{error}: {run:#?}"))
    }

    /// Asks an agent, and returns its requests.
    #[track_caller]
    fn ask(&self, agent: Agent, session: Option<&str>, prompt: &str) -> Vec<Asked> {
        let before = self.workspace.models.asked().len();
        let run = self.workspace.ask(agent, session, prompt);
        let asked = self.workspace.models.asked().split_off(before);
        let of_prompt = |one: &Asked| !one.tools.is_empty() && one.user.contains(prompt);
        let asked: Vec<Asked> = asked.into_iter().filter(of_prompt).collect();
        assert!(run.code == Some(0) && !asked.is_empty(), "{agent:?}: {prompt}: {run:#?}");
        asked
    }
}

/// Returns the first part of a conversation, with this prompt at its end, that the first request does not contain
/// in order and exactly once.
fn missing(said: &[Said], prompt: &str, asked: &[Asked]) -> Option<String> {
    let captured = conversation(asked.first()?);
    let said = [said, &[Said::User(prompt.to_owned())]].concat();
    let mut rest = captured.iter();
    let mut problems = Vec::new();
    for one in &said {
        let count = |all: &[Said]| all.iter().filter(|other| *other == one).count();
        let (wanted, found) = (count(&said), count(&captured));
        let before = rest.clone();
        if found != wanted {
            problems.push(format!("{found} times instead of {wanted}: {one:?}"));
        } else if !rest.any(|other| other == one) {
            rest = before;
            problems.push(format!("not in its order: {one:?}"));
        }
    }
    let problems = problems.join("\n  ");
    (!problems.is_empty()).then(|| format!("{problems}\n  in {captured:#?}"))
}

/// Returns the part of the last request from this prompt on.
fn added(prompt: &str, asked: &[Asked]) -> Vec<Said> {
    let mut said = conversation(asked.last().expect("a request"));
    let is_prompt = |one: &Said| *one == Said::User(prompt.to_owned());
    let start = said.iter().rposition(is_prompt).expect("the prompt");
    let mut added = said.split_off(start);
    // Programs may add texts of the user, which are not part of the conversation.
    added.retain(|one| is_prompt(one) || !matches!(one, Said::User(_)));
    assert!(is_measured(&added), "{added:#?}");
    added
}

fn is_measured(said: &[Said]) -> bool {
    said.iter().any(|one| matches!(one, Said::Result { text, .. } if text.contains(MEASURED)))
}

#[track_caller]
fn word(record: &Value, field: &str) -> String {
    let word = record[field].as_str();
    word.unwrap_or_else(|| panic!("no {field} in {record}")).to_owned()
}
