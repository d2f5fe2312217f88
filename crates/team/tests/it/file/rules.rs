//! What a valid file means: the team, defaults, warnings, and equality.

use tertulia_team::agents;
use tertulia_team::file::TeamFile;
use tertulia_team::{Limits, MemberKind};

use super::written::to_toml;

use super::good;

const MAX: &str = "[[member]]\nname = \"max\"\nagent = \"claude\"\n";
const ANN: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n";

#[test]
fn an_agent_implies_its_kind() {
    let team = good(&format!("{MAX}{ANN}"));
    let kinds: Vec<_> = team.members.iter().map(|member| (member.kind, member.agent)).collect();
    assert_eq!(kinds, [(MemberKind::Ai, Some(agents::CLAUDE)), (MemberKind::Human, None)]);
    assert!(team.warnings.is_empty());
}

#[test]
fn the_team_has_the_members_the_default_and_the_limits() {
    let text = format!(
        "default = \"max\"\n[limits]\nturns = 7\nbudget_usd = 2\n{ANN}{MAX}budget_usd = 1.5\n"
    );
    let roster = good(&text).roster().unwrap();
    let members: Vec<_> =
        roster.members().iter().map(|m| (&*m.name, m.is_default, m.budget_usd)).collect();
    assert_eq!(members, [("ann", false, None), ("max", true, Some(1.5))]);
    let limits = Limits { turns: 7, budget_usd: Some(2.0), ..Limits::default() };
    assert_eq!(roster.limits(), &limits);
}

#[test]
fn a_fallback_is_another_agent_of_the_team() {
    let eva = "[[member]]\nname = \"eva\"\nagent = \"codex\"\n";
    let team = good(&format!("{ANN}{MAX}fallback = [\"eva\"]\n{eva}"));
    let roster = team.roster().unwrap();
    assert_eq!(roster.members()[1].fallback, ["eva".into()]);
    for (names, expected) in [
        ("\"eve\"", "\"eve\" is not a member of the team; did you mean eva?"),
        ("\"ann\"", "\"ann\" is a person; only agents can take over"),
        ("\"max\"", "\"max\" is the member itself; name another one"),
        ("\"eva\", \"eva\"", "\"eva\" is listed twice; remove one"),
    ] {
        let text = format!("{ANN}{MAX}fallback = [{names}]\n{eva}");
        let errors = TeamFile::parse(&text, "tertulia.toml").unwrap_err().to_string();
        let expected = format!("tertulia.toml:7:12: member \"max\": fallback: {expected}");
        assert!(errors.starts_with(&expected), "{errors}");
    }
    let person = format!("{ANN}fallback = [\"max\"]\n{MAX}");
    let errors = TeamFile::parse(&person, "tertulia.toml").unwrap_err().to_string();
    assert!(errors.contains("has no effect on a person"), "{errors}");
}

#[test]
fn a_team_without_a_person_is_allowed_with_a_warning() {
    let team = good(MAX);
    assert_eq!(team.warnings.len(), 1);
    assert_eq!(
        team.warnings[0].to_string(),
        "tertulia.toml:1:1: member: the team has no person; \
         add a [[member]] with kind = \"human\" to take part\n1 | [[member]]\n  | ^^^^^^^^^^"
    );
}

#[test]
fn what_may_not_be_meant_is_a_warning() {
    let check = |text: &str, path: &str, words: &str| {
        let team = good(&format!("{text}{ANN}"));
        let [warning] = team.warnings.as_slice() else { panic!("{:?}", team.warnings) };
        assert_eq!((&*warning.path, &*warning.what), (path, words));
    };
    let long = format!("task = \"{}\"\n{MAX}", "x".repeat(5121));
    check(&long, "task", "has 5121 bytes; only the first 5120 are kept");
    let open = "[[member]]\nname = \"o\"\nagent = \"openai\"\nbase_url = \"http://host/v1\"\n";
    check(open, "member \"o\"", "has no model; most endpoints require one");
    let key = format!("{open}model = \"m\"\nkey_variable = \"KEY\"\n");
    check(&key, "member \"o\": base_url", "the key is sent without encryption; write https://");
    for host in ["localhost:80", "127.0.0.1", "[::1]:9"] {
        assert_eq!(
            good(&format!("{}{ANN}", key.replace("host/", &format!("{host}/")))).warnings,
            []
        );
    }
}

#[test]
fn a_spending_limit_that_cannot_hold_a_member_is_reported() {
    let warnings = |text: &str| {
        let team = good(&format!("{ANN}{text}"));
        team.warnings.iter().map(|w| format!("{} {}", w.path, w.what)).collect::<Vec<_>>()
    };
    let member = |name: &str, agent: &str, more: &str| {
        format!("[[member]]\nname = \"{name}\"\nagent = \"{agent}\"\n{more}\n")
    };
    for (agent, cause) in [
        ("codex", "reports neither costs nor its model; set model"),
        ("copilot", "reports neither costs nor tokens"),
    ] {
        let words = format!(
            "member \"c\": budget_usd this limit never applies to {agent}, which {cause}; \
             use limits.turns, which limits all agents"
        );
        assert_eq!(warnings(&member("c", agent, "budget_usd = 5")), [words]);
    }
    // The cost of these is computed.
    let codex = member("c", "codex", "budget_usd = 5\nmodel = \"gpt-5\"");
    assert_eq!(warnings(&codex), [""; 0]);
    assert_eq!(warnings(&member("c", "gemini", "budget_usd = 5")), [""; 0]);
    let command = "command = \"x\"\nbudget_usd = 1";
    assert_eq!(warnings(&member("c", "command", command)).len(), 1);
    assert_eq!(
        warnings(&member("c", "command", &format!("{command}\noutput = \"jsonl\""))),
        [""; 0]
    );
    assert_eq!(warnings(&member("c", "claude", "budget_usd = 5")), [""; 0]);
    // A limit of 0 asks before the first turn, so reported costs do not matter.
    assert_eq!(warnings(&member("c", "codex", "budget_usd = 0")), [""; 0]);
    let open = "base_url = \"http://localhost/v1\"\nmodel = \"m\"";
    let team = [
        member("max", "claude", ""),
        member("eva", "codex", ""),
        member("leo", "openai", open),
        member("pat", "copilot", ""),
        member("lint", "command", "command = \"x\""),
    ]
    .concat();
    let words = "limits.budget_usd does not count members whose cost is unknown: \"eva\" (codex: set \
                 model), \"pat\" (copilot); use limits.turns, which limits all agents";
    assert_eq!(warnings(&format!("{team}[limits]\nbudget_usd = 5.0\n")), [words]);
    assert_eq!(warnings(&team), [""; 0]);
    let claude = member("max", "claude", "");
    assert_eq!(warnings(&format!("{claude}[limits]\nbudget_usd = 5.0\n")), [""; 0]);
}

#[test]
fn a_warning_is_no_part_of_what_a_file_says() {
    let (one, other) =
        (good(&format!("{MAX}window = 5\n")), good(&format!("\n\n{MAX}window = 0x5")));
    assert_ne!(one.warnings, other.warnings);
    assert_eq!(one, other);
}

#[test]
fn a_command_is_words_however_it_is_written() {
    let command = |value: &str| {
        let text =
            format!("[[member]]\nname = \"c\"\nagent = \"command\"\ncommand = {value}\n{ANN}");
        good(&text).members[0].command.iter().map(|word| word.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(command("\"lint  --all x\""), ["lint", "--all", "x"]);
    assert_eq!(command("[\"my lint\", \"a | b\", \"\"]"), ["my lint", "a | b", ""]);
}

#[test]
fn a_line_that_may_hold_a_secret_is_not_repeated() {
    for line in [
        "env = { TOKEN = 12345678 }",
        "env = 12345678",
        "[member.env]\nTOKEN = 12345678",
        "key_variable = 12345678",
        "base_url = \"https://me:12345678@host\"",
    ] {
        let error = super::bad(&format!("{MAX}{line}\n")).to_string();
        assert!(!error.contains("12345678"), "{error}");
    }
}

#[test]
fn a_hundred_members_are_the_most() {
    let members = |count: usize| -> String {
        (0..count).map(|n| format!("[[member]]\nname = \"m{n}\"\nagent = \"claude\"\n")).collect()
    };
    assert_eq!(good(&members(100)).members.len(), 100);
    let error = super::bad(&members(101)).to_string();
    assert!(error.contains("member \"m100\": 101 members; at most 100 are allowed"), "{error}");
}

#[test]
fn the_built_in_team_needs_no_programs() {
    let built_in = TeamFile::built_in();
    let roster = built_in.roster().unwrap();
    let names: Vec<_> = roster.members().iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["you", "scribe", "librarian"]);
    assert_eq!(good(&to_toml(&built_in)), built_in);
    assert!(good(&to_toml(&built_in)).warnings.is_empty());
}

#[test]
fn a_secret_beside_an_error_is_not_repeated_either() {
    let text =
        r#"{"schemaVersion": "1.1", "team": {"members": [{"name": 5, "env": {"A": "hush"}}]}}"#;
    let error = TeamFile::parse(text, "t").unwrap_err().to_string();
    assert!(error.contains("member 1: name") && !error.contains("hush"), "{error}");
}

#[test]
fn a_member_in_an_error_is_called_by_its_name_or_counted_from_1() {
    let error = |member: &str| super::bad(&format!("{ANN}[[member]]\n{member}\n")).to_string();
    let named = error("name = \"max\"\nagent = \"clod\"");
    assert!(named.contains(": member \"max\": agent: must be one of"), "{named}");
    let nameless = error("agent = \"claude\"");
    assert!(nameless.contains(": member 2: has no name\n"), "{nameless}");
}
