//! Compares the output of `tertulia context --member` and `--turn` with the prompts that programs received.

use serde_json::Value;

use crate::workspace::{CommandOutput, Workspace};

/// Stores its input, and fails, so that the message stays the newest one. Two of the arguments of Claude Code name
/// a file with the system text.
const RECORDER: &str = r#"cat > "$OUT/prompt"
while [ $# -gt 0 ]; do
  [ "$1" = --append-system-prompt-file ] && cp "$2" "$OUT/system"
  shift
done
exit 1"#;

/// Returns a person, an agent that answers, and Max, who is an agent of this kind. He gets the whole prompt in each turn.
fn team(kind: &str, out: &str) -> String {
    let command = match kind {
        "command" => "command = [\"recorder\"]",
        _ => "command = \"recorder\"",
    };
    format!(
        r#"
[[member]]
name = "ann"
kind = "human"
role = "decides"

[[member]]
name = "eva"
role = "reviewer"
agent = "script"
answers = ["See @notes.md, ask ann@example.org, as @max said: is /tmp fine? `\\@max`"]

[[member]]
name = "max"
role = "author"
agent = "{kind}"
{command}
instruction = "Be brief, @max."
memory = "fresh"
[member.env]
OUT = "{out}"
"#
    )
}

struct Recorded {
    workspace: Workspace,
    kind: &'static str,
}

impl Recorded {
    /// Creates a session in which Max got a prompt.
    fn new(kind: &'static str) -> Self {
        let workspace = Workspace::empty();
        workspace.program("recorder", RECORDER);
        let out = workspace.root().join("data").display().to_string();
        workspace.write("tertulia.toml", &team(kind, &out));
        workspace.write("notes.md", "what-is-in-the-file\n");
        workspace.exits(0, &["run", "--trust", "--new", "talk", "@eva /what do you think?"]);
        let text = "@max read @notes.md and @gone.md, as eva said.\n@notes.md\n\n@gone.md";
        let output = workspace.tertulia(&["run", "--session", "talk", text]);
        assert_eq!(output.code, Some(1), "{kind}: {output:#?}");
        Self { workspace, kind }
    }

    /// Returns the input of the program.
    fn received(&self, part: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace.root().join("data").join(part)).ok()
    }

    fn context(&self, arguments: &[&str]) -> CommandOutput {
        let words = [&["context", "--session", "talk"], arguments].concat();
        let output = self.workspace.tertulia(&words);
        assert_eq!(output.code, Some(0), "{}: {output:#?}", self.kind);
        output
    }

    /// Returns the ids of the entries of Max's first turn, and of his answer if there is one.
    fn turn(&self, state: &str) -> String {
        let is_turn = |entry: &&Value| {
            let payload = &entry["payload"];
            entry["type"] == "turn" && payload["member"] == "max" && payload["state"] == state
        };
        let entries = self.workspace.entries();
        entries.iter().find(is_turn).unwrap()["id"].as_str().unwrap().to_owned()
    }
}

const KINDS: [&str; 4] = ["claude", "codex", "gemini", "command"];

#[test]
fn context_of_a_member_is_to_the_byte_what_its_program_receives() {
    for kind in KINDS {
        let recorded = Recorded::new(kind);
        let prompt = recorded.context(&["--member", "max", "--part", "prompt"]).stdout;
        assert_eq!(prompt, recorded.received("prompt").unwrap(), "{kind}");
        let system = recorded.context(&["--member", "max", "--part", "system"]).stdout;
        assert_eq!(system, recorded.received("system").unwrap_or_default(), "{kind}");
        let both = recorded.context(&["--member", "max"]).stdout;
        let between = if system.is_empty() { "" } else { "\n\n" };
        assert_eq!(both, format!("{system}{between}{prompt}"), "{kind}");
        assert!(both.contains("You are max, a member of a team"), "{kind}: {both}");
        assert!(both.contains("Be brief, @max.") || kind == "gemini", "{kind}: {both}");
    }
}

#[test]
fn a_file_in_a_persons_message_keeps_the_syntax_of_the_agent() {
    for kind in KINDS {
        let prompt = Recorded::new(kind).received("prompt").unwrap();
        let (_, message) = prompt.rsplit_once("from ann").unwrap();
        let expected = match kind {
            // These attach files: a missing file must not become another one.
            "claude" => {
                "]\n  @max read @notes.md and \\@gone.md, as eva said.\n  @notes.md\n\n  \\@gone.md"
            }
            "gemini" => {
                ":\n  max read @notes.md and \\@gone.md, as eva said.\n  @notes.md\n\n  \\@gone.md"
            }
            _ => "]\n  @max read @notes.md and @gone.md, as eva said.\n  @notes.md\n\n  @gone.md",
        };
        assert_eq!(message, expected, "{kind}");
        // Eva's message attaches nothing.
        let said = match kind {
            "claude" => r"See \@notes.md, ask ann@example.org, as @max said: is /tmp fine? `\@max`",
            "gemini" => r"See \@notes.md, ask ann\@example.org, as max said: is /tmp fine? `\@max`",
            _ => r"See @notes.md, ask ann@example.org, as @max said: is /tmp fine? `\@max`",
        };
        assert!(prompt.contains(said), "{kind}: {prompt}");
    }
}

#[test]
fn a_turn_shows_what_was_sent_then_whatever_came_after_it() {
    for kind in KINDS {
        let recorded = Recorded::new(kind);
        let prompt = recorded.received("prompt").unwrap();
        let system = recorded.received("system");
        let turn = recorded.turn("queued");
        let workspace = &recorded.workspace;
        let changed = team(kind, "/dev/null").replace("Be brief", "Be long");
        workspace.write("tertulia.toml", &changed.replace("\"decides\"", "\"waits\""));
        workspace.write("gone.md", "now it is there\n");
        workspace.exits(0, &["run", "--trust", "--session", "talk", "@eva anything else?"]);
        // Every entry of the turn, and a unique prefix of its id.
        for id in [&turn, &recorded.turn("started"), &recorded.turn("failed"), &turn[..14]] {
            let shown = recorded.context(&["--turn", id, "--part", "prompt"]).stdout;
            assert_eq!(shown, prompt, "{kind}");
        }
        let json = recorded.context(&["--turn", &turn, "--json"]).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["member"], "max");
        assert_eq!(json["turn"], *turn);
        assert_eq!(json["prompt"], *prompt);
        assert_eq!(json["systemFlag"].as_str(), system.as_deref());
        assert_eq!(json["verified"], true);
        assert!(json["promptHash"].as_str().unwrap().starts_with("b3-"), "{json}");
    }
}

#[test]
fn a_turn_on_a_branch_that_was_left_shows_what_was_sent() {
    let recorded = Recorded::new("command");
    let prompt = recorded.received("prompt").unwrap();
    let workspace = &recorded.workspace;
    let first = workspace.entries()[0]["id"].as_str().unwrap().to_owned();
    let turns = ["queued", "started", "failed"].map(|state| recorded.turn(state));
    // The second branch begins where the turn was queued but not started.
    for from in [&first, &turns[0]] {
        workspace.exits(0, &["sessions", "branch", "talk", from]);
        for id in &turns {
            let shown = recorded.context(&["--turn", id, "--part", "prompt"]).stdout;
            assert_eq!(shown, prompt, "{id} behind {from}");
        }
    }
    let reported = workspace.exits(1, &["why", &turns[1], "--session", "talk"]).stderr;
    assert!(
        reported.contains(" is on another branch of session talk; `tertulia sessions"),
        "{reported}"
    );
}

#[test]
fn a_broken_team_file_does_not_hide_what_was_sent() {
    let recorded = Recorded::new("command");
    let turn = recorded.turn("queued");
    recorded.workspace.write("tertulia.toml", "this is no team file");
    let shown =
        recorded.workspace.exits(0, &["context", "--turn", &turn, "--part", "prompt"]).stdout;
    assert_eq!(shown, recorded.received("prompt").unwrap());
}

#[test]
fn a_turn_that_cannot_be_shown_says_why() {
    let recorded = Recorded::new("command");
    let refused = |id: &str| {
        let output = recorded.workspace.tertulia(&["context", "--session", "talk", "--turn", id]);
        assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output:#?}");
        output.stderr
    };
    let first = recorded.workspace.entries()[0]["id"].as_str().unwrap().to_owned();
    let said = recorded.workspace.entries();
    let said = said.iter().find(|entry| entry["type"] == "message").unwrap();
    let reported = refused(said["id"].as_str().unwrap());
    assert!(reported.contains("is neither a turn nor an agent's answer"), "{reported}");
    assert!(refused("e-").contains(&first[..4]), "{}", refused("e-"));
    assert!(refused("e-zzz").contains("e-zzz"), "{}", refused("e-zzz"));
    let output = recorded.workspace.tertulia(&["context", "--session", "talk", "--part", "prompt"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("--part needs --member or --turn"), "{}", output.stderr);
}

#[test]
fn no_argument_of_an_agent_holds_an_instruction_or_a_message() {
    for kind in ["claude", "codex", "gemini"] {
        let workspace = Workspace::new(&format!(
            "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
             agent = \"{kind}\"\ninstruction = \"Instruction 4711.\"\nmemory = \"fresh\"\n"
        ));
        let recorder = "printf '%s\\n' \"$0\" \"$@\" >>arguments; cat >prompt; exit 1";
        workspace.program(kind, recorder);
        workspace.tertulia(&["run", "Message 0815.", "--trust"]);
        let arguments = std::fs::read_to_string(workspace.path("arguments")).unwrap();
        assert!(!arguments.contains("4711") && !arguments.contains("0815"), "{kind}: {arguments}");
        let prompt = std::fs::read_to_string(workspace.path("prompt")).unwrap();
        assert!(prompt.contains("Message 0815."), "{kind}: {prompt}");
    }
}
