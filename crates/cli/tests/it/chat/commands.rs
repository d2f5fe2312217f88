//! Commands without effect print a note, and none of them gives advice for the command line.

use super::ChatWorkspace;
use super::plain::talk;

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
agent = "script"
answers = ["Max here."]

[[member]]
name = "eva"
display_name = "Eva"
agent = "script"
answers = ["Eva here."]

[[member]]
name = "tests"
agent = "command"
command = ["sh", "-c", "echo all good"]
cwd = "src"
"#;

fn workspace() -> ChatWorkspace {
    let workspace = ChatWorkspace::with(TEAM, &[]);
    std::fs::create_dir(workspace.path().join("src")).unwrap();
    workspace
}

/// Returns what is shown between the greeting and the end.
#[track_caller]
fn shown(input: &str) -> String {
    let shown = talk(&workspace(), &["--new", "talk"], input);
    shown.split_once('\n').map_or("", |(_, rest)| rest).trim_end().to_owned()
}

#[test]
fn a_command_with_nothing_to_do_says_so_and_sends_nothing() {
    for (command, answer) in [
        ("/resume", "no turns are queued"),
        ("/cancel", "no turn is running"),
        ("/cancel max", "max has no running turn; /queue shows who has"),
        ("/cancel all", "no turn is running or queued"),
        ("/drop max", "max has no queued turn; /queue shows who has"),
        ("/drop all", "no turns are queued; Esc or /cancel stops the running turn"),
        (
            "/drop mex",
            "'mex' is not in the team (did you mean max?); there are: ann, max, eva, tests",
        ),
        ("/task", "the team has no task; /task TEXT sets one"),
        ("/compact", "Nothing to summarise yet: the newest 2 messages always stay verbatim."),
        ("/resume max", "max has had no turn yet; /next max gives it one"),
        ("/drop ,", "usage: /drop NAME…, or /drop all"),
        ("/cost", "no agent has reported costs"),
        ("/why", "the session has no messages yet"),
        ("/fork", "nothing to fork: the session has no messages yet"),
    ] {
        assert_eq!(shown(&format!("{command}\n")), answer, "{command}");
    }
}

#[test]
fn a_task_that_is_taken_away_is_reported_once_more() {
    let shown = shown("/task Build it\n/task\n/task\n");
    let expected = "the task was: Build it\nann: [TEAM_TASK: ]\nteam task cleared\n\
                    the team has no task; /task TEXT sets one";
    assert!(shown.ends_with(expected), "{shown}");
}

#[test]
fn next_takes_names_apart_by_commas_or_spaces_with_a_sign_or_without() {
    for given in ["max,eva", "max eva", "@max, @eva", "@Max @Eva", "max,eva: go", "max eva go on"] {
        let shown = shown(&format!("/next {given}\n"));
        assert!(shown.contains("[NEXT: max, eva]"), "{given}: {shown}");
        assert!(shown.contains("max:\nMax here.") && shown.contains("Eva:\nEva here."), "{shown}");
    }
    let code = shown("/next max: see `this\n");
    assert!(code.contains("ann:\n[NEXT: max]\nsee `this\nmax:\nMax here."), "{code}");
}

#[test]
fn next_with_an_unknown_name_offers_the_nearest_and_says_nothing() {
    let there = "there are: ann, max, eva, tests";
    for (given, expected) in [
        ("evva look", format!("'evva' is not in the team (did you mean eva?); {there}")),
        ("@nobody", format!("'nobody' is not in the team; {there}")),
        (
            "max, evva",
            format!(
                "'evva' is not in the team (did you mean eva?); {there}; to add a message, put a colon before it: \
                 /next max: …"
            ),
        ),
        ("", "usage: /next NAME… [TEXT]; /members lists the team".to_owned()),
    ] {
        assert_eq!(shown(&format!("/next {given}\n")), expected, "{given}");
    }
}

#[test]
fn a_typo_in_a_mention_is_reported_with_the_nearest_name() {
    let asked = shown("@evva please look\n@eva I mean you\n");
    assert!(asked.contains("nobody is called 'evva' (did you mean eva?)"), "{asked}");
    assert!(!asked.contains("Max here."), "nobody else answers: {asked}");
    let reported = shown("Please ask @evva.\n");
    assert!(
        reported.contains("addresses 'evva', but nobody is called that; did you mean eva?"),
        "{reported}"
    );
    assert!(reported.ends_with("Max here."), "{reported}");
}

#[test]
fn why_explains_the_turn_that_answered() {
    let shown = shown("hello\n/why\n");
    let turns: Vec<&str> = shown.lines().filter(|line| line.starts_with("max's turn ")).collect();
    assert_eq!(turns.len(), 3, "{shown}");
    for (turn, state) in turns.iter().zip(["queued", "started", "done"]) {
        assert!(turn.contains(&format!(" is {state}: ")), "{shown}");
    }
}

#[test]
fn members_are_reported_as_what_they_are() {
    let expected = "@ann  a person\n\
                    @max  script, window 20\n\
                    @eva \"Eva\"  script, window 20\n\
                    @tests  command `sh -c echo all good`, window 20, works in src";
    assert_eq!(shown("/members\n"), expected);
}

#[test]
fn a_context_is_for_agents_and_says_when_the_newest_message_is_their_own() {
    assert_eq!(shown("/context ann\n"), "ann is a person and gets no prompt");
    assert_eq!(shown("/context max\n"), "the session has no messages yet");
    let wrong = shown("/context mex\n");
    assert!(wrong.starts_with("'mex' is not in the team (did you mean max?)"), "{wrong}");
    let own = shown("hello\n/context max\n");
    let (_, own) = own.split_once("\n\n").unwrap();
    assert!(own.starts_with("the latest message (e-"), "{own}");
    assert!(own.contains(") is max's own; if asked to continue,\n"), "{own}");
    assert!(own.contains("its own newest message and 1 before it"), "{own}");
    let other = shown("hello\n/context eva\n");
    assert!(other.contains("\neva would get ") && !other.contains("own"), "{other}");
}

#[test]
fn no_command_advises_what_only_the_command_line_has() {
    let input = "hello\n/export log.jsonl\n/export log.jsonl\n/export no/such/folder/x\n/why zzz\n\
                 /fork zzz\n/resume zzz\n/context zzz\n/next zzz\n/drop zzz\n/help\n/members\n/queue\n\
                 /cost\n/why\n/resume\n/nonsense\n";
    let shown = shown(input);
    assert!(
        shown.contains("log.jsonl already exists and was not changed; name another file"),
        "{shown}"
    );
    assert!(
        shown.contains("there is no entry zzz in this session; /why and /queue show entry IDs"),
        "{shown}"
    );
    for word in ["--", "`tertulia", "tertulia "] {
        assert!(!shown.contains(word), "{word} is in:\n{shown}");
    }
}

#[test]
fn compact_makes_the_next_prompt_shorter_or_says_why_it_cannot() {
    let long = "We have to think about the gateway and its many ports and hosts. ".repeat(20);
    let shown = shown(&format!("{long}\nagain\n/compact\n/context max\n/compact\n"));
    let (before, after) = shown.split_once("summarised 2 messages\n").expect(&shown);
    assert!(before.contains("think about the gateway"), "{before}");
    assert!(after.starts_with("prompts are "), "{after}");
    assert!(after.contains(" summary      of 2 earlier messages"), "{after}");
    let again = "Nothing to summarise yet: the newest 2 messages always stay verbatim.";
    assert!(after.ends_with(again), "{after}");
}

#[test]
fn compact_says_that_a_summary_would_not_be_shorter() {
    let shown = shown("Hi.\nagain\n/compact\n");
    let reported = "a summary of 2 messages would not be shorter than they are.";
    assert!(shown.ends_with(&format!("Nothing to summarise yet: {reported}")), "{shown}");
}
