//! Tests `tertulia demo`: it needs no files, key or network.

use crate::workspace::Workspace;

#[test]
fn the_demo_shows_two_answers_and_what_each_member_received() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["demo"]);
    for text in [
        "52 messages",
        "you: @scribe",
        "scribe:\n",
        "you: @librarian",
        "librarian:\n",
        "E-2041",
        "What scribe received",
        "What librarian received",
        "messages covered by the summary",
        "tertulia init",
    ] {
        assert!(output.stdout.contains(text), "{text}:\n{}", output.stdout);
    }
    assert_eq!(output.stderr, "");
    // Decisions and open points are listed separately, without anything else.
    let lines_of = |heading: &str| {
        let lines = output.stdout.lines().skip_while(|line| *line != heading).skip(1);
        lines.take_while(|line| line.starts_with("- ")).collect::<Vec<_>>()
    };
    let decisions = lines_of("## Decisions");
    assert_eq!(decisions.len(), 5, "{decisions:#?}");
    for line in &decisions {
        assert!(line.contains("Decision: ") || line.contains("Agreed: "), "{line}");
    }
    let open = lines_of("## Open");
    assert_eq!(open.len(), 3, "{open:#?}");
    assert!(!output.stdout.contains("## Names"), "{}", output.stdout);
    assert!(output.stdout.contains("About E-2041, lock, account, past sessions say:"));
    // The summary covers some messages, and something is recalled.
    let covered =
        output.stdout.lines().find(|line| line.contains("covered by the summary")).unwrap();
    assert!(!covered.trim().starts_with("0 "), "{covered}");
}

#[test]
fn the_demo_shows_two_agents_that_hand_over_to_each_other_and_to_the_person() {
    let output = Workspace::empty().exits(0, &["demo"]);
    let at = |text: &str| {
        output.stdout.find(text).unwrap_or_else(|| panic!("{text} is not in:\n{}", output.stdout))
    };
    let order = [
        "[m1] ann:\n",
        "[m2] max:\n",
        "[m3] eva:\n",
        "[m4] max:\n",
        "Now it is Ann's turn",
        "Why was eva asked? (tertulia why shows this)\n",
        "eva's turn t2 is queued: max wrote @eva in m2",
        "What eva received (tertulia context --turn shows this)\n",
        "You are eva, a member of a team",
        "[MESSAGE from max]",
        "you: @scribe",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{}", output.stdout);
}

#[test]
fn what_the_demo_recommends_works_in_its_order_on_a_fresh_machine() {
    let workspace = Workspace::empty();
    let shown = workspace.exits(0, &["demo"]).stdout;
    let (_, next) = shown.split_once("Next, try").unwrap();
    let commands: Vec<&str> =
        next.lines().filter_map(|line| line.trim().strip_prefix("tertulia ")).collect();
    assert_eq!(commands.len(), 4, "{next}");
    for line in commands {
        let (command, _) = line.split_once("  ").unwrap();
        let words = shell_words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = workspace.exits(0, &words);
        if words[0] == "run" {
            assert!(output.stdout.contains("Nothing was decided yet."), "{}", output.stdout);
        }
    }
}

/// Returns the words of a command without escapes.
fn shell_words(command: &str) -> Vec<String> {
    let pieces = command.split('"').enumerate();
    let words = pieces.flat_map(|(place, piece)| match place % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![piece.to_owned()],
    });
    words.collect()
}

#[test]
fn the_demo_touches_no_file() {
    let workspace = Workspace::empty();
    workspace.exits(0, &["demo"]);
    for name in ["work", "home", "data"] {
        let left: Vec<_> = std::fs::read_dir(workspace.root().join(name)).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn the_demo_says_the_same_every_time() {
    let workspace = Workspace::empty();
    assert_eq!(workspace.exits(0, &["demo"]).stdout, workspace.exits(0, &["demo"]).stdout);
}
