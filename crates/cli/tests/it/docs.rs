//! Checks that the documentation shows the real output of the commands.

use crate::harness::{NOW_MILLIS, TestStore, repository_file, tertulia, without_salts};
use crate::workspace::Workspace;
use tertulia_context::builder::HINTS;
use tertulia_operations::rpc::RpcServer;

fn read(path: &str) -> String {
    std::fs::read_to_string(repository_file(path)).unwrap()
}

/// Returns the texts of code blocks that open with this line.
fn fenced(document: &str, opening: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while lines.by_ref().any(|line| line == opening) {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n"));
    }
    blocks
}

#[test]
fn every_example_of_the_rpc_reference_answers_as_printed() {
    let examples = fenced(&read("docs/rpc.md"), "```jsonrpc");
    assert!(examples.len() >= 5);
    for example in examples {
        let mut server = RpcServer::new(|| NOW_MILLIS);
        let mut shown = Vec::new();
        for request in example.lines().filter_map(|line| line.strip_prefix("--> ")) {
            let mut out = Vec::new();
            server.answer(request, &mut out).unwrap();
            shown.push(format!("--> {request}"));
            shown.extend(String::from_utf8(out).unwrap().lines().map(|line| format!("<-- {line}")));
        }
        assert_eq!(without_salts(&shown.join("\n")), without_salts(&example));
    }
}

#[test]
fn the_rpc_reference_names_every_method() {
    let document = read("docs/rpc.md");
    let nearest = tertulia(&["rpc"], r#"{"jsonrpc":"2.0","id":1,"method":"clea"}"#);
    assert!(nearest.stdout.contains("did you mean clear?"));
    for method in [
        "createConversation",
        "addMessage",
        "getMessages",
        "getLatestMessage",
        "setTeamTask",
        "getTeamTask",
        "getContextForAgent",
        "assemblePrompt",
        "clear",
        "exportSnapshot",
        "importSnapshot",
        "stripAllMarkers",
        "parseMarkers",
        "normalizeAgentType",
        "truncateToBytes",
        "formatAddressees",
        "estimateTokens",
        "buildContext",
        "computeContextUpdates",
        "acceptSummary",
        "createSession",
        "append",
        "load",
        "branch",
        "redact",
        "search",
        "listSessions",
        "getCost",
        "verify",
    ] {
        assert!(document.contains(&format!("| `{method}` |")), "{method}");
    }
}

#[test]
fn the_command_reference_prints_the_help_of_every_command() {
    let document = read("docs/cli.md");
    let commands = [
        "init",
        "chat",
        "run",
        "demo",
        "why",
        "replay",
        "context",
        "build",
        "assemble",
        "rpc",
        "tokens",
        "cost",
        "sessions",
        "doctor",
        "completions",
        "man",
    ];
    let sessions = [
        "list", "show", "search", "rename", "branch", "redact", "export", "import", "verify",
        "delete", "backup", "restore",
    ];
    let alone = commands.map(|command| vec![command]).into_iter();
    for command in alone.chain(sessions.map(|command| vec!["sessions", command])) {
        let help = tertulia(&[&*command, &["--help"]].concat(), "").stdout;
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        assert!(
            document.contains(&help.join("\n")),
            "docs/cli.md lacks the help of {}:\n{}",
            command.join(" "),
            help.join("\n")
        );
    }
}

/// Runs a command from the documentation, and checks that it prints the shown text.
#[track_caller]
fn check_screen(shown: &str, prompt: &str) {
    let (command, printed) = shown.split_once('\n').unwrap();
    let arguments = command.strip_prefix(prompt).unwrap();
    let arguments: Vec<String> = arguments
        .split(' ')
        .map(|word| match word {
            path if path.starts_with("examples/") => repository_file(path).display().to_string(),
            word => word.to_owned(),
        })
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = tertulia(&arguments, "");
    let lines: Vec<&str> = outcome.stdout.lines().map(str::trim_end).collect();
    assert_eq!(lines.join("\n"), printed);
}

#[test]
fn the_screen_of_the_readme_is_what_its_command_prints() {
    let page = read("README.md");
    let screens = fenced(&page, "```console");
    let start = "$ cargo run -p tertulia -- context";
    let shown = screens.iter().find(|screen| screen.starts_with(start)).expect("a context");
    check_screen(shown, "$ cargo run -p tertulia -- ");
}

/// Returns the commands of the README, without their comments.
fn readme_commands() -> Vec<String> {
    let screens = fenced(&read("README.md"), "```console").join("\n");
    let commands = screens.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|line| line.split("  #").next().unwrap().trim_end().to_owned()).collect()
}

/// Tests cannot run the commands for testing and installing: CI runs the first, and this test checks that the
/// folder of the second contains the command.
#[test]
fn every_command_of_the_readme_works_on_a_fresh_machine() {
    let workspace = Workspace::empty();
    let (mut ran, mut others) = (0, Vec::new());
    for command in readme_commands() {
        let own = command.strip_prefix("tertulia ");
        let Some(line) = own.or_else(|| command.strip_prefix("cargo run -p tertulia -- ")) else {
            others.push(command);
            continue;
        };
        let words = words(&line.replace('"', "'"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        workspace.exits(0, &words);
        ran += 1;
    }
    assert!(ran >= 10, "{ran}");
    assert_eq!(others, ["cargo xtask test", "cargo install --locked --path crates/cli"]);
    assert!(read(".ci/run").ends_with("exec cargo xtask test\n"));
    assert!(read("crates/cli/Cargo.toml").contains("name = \"tertulia\""));
}

#[test]
fn the_table_in_the_command_reference_is_what_its_command_prints() {
    check_screen(&fenced(&read("docs/cli.md"), "```console")[0], "$ tertulia ");
}

/// Returns the words of a command line; single quotes keep some together.
fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').enumerate().flat_map(|(place, piece)| match place % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![piece.to_owned()],
    });
    let located = pieces.map(|word| match word.starts_with("examples/") {
        true => repository_file(&word).display().to_string(),
        false => word,
    });
    located.collect()
}

#[test]
fn the_first_screen_of_the_page_on_sessions_is_what_its_commands_print() {
    check_commands(&fenced(&read("docs/sessions.md"), "```console")[0], 4);
}

#[test]
fn the_screen_of_the_page_on_costs_is_what_its_commands_print() {
    check_commands(&fenced(&read("docs/cost.md"), "```console")[0], 3);
}

#[test]
fn the_prices_in_the_page_on_costs_can_be_read() {
    let page = read("docs/cost.md");
    let table = &fenced(&page, "```toml")[0];
    let table = tertulia_team::PriceTable::parse(table, "prices.toml").unwrap();
    assert_eq!(table.models.len(), 2);
}

/// Runs commands from the documentation with a store of their own, and checks that they print the shown texts.
#[track_caller]
fn check_commands(shown: &str, at_least: usize) {
    let store = TestStore::new();
    let commands: Vec<&str> = shown.split("$ tertulia ").skip(1).collect();
    assert!(commands.len() >= at_least);
    for command in commands {
        let (line, printed) = command.split_once('\n').unwrap();
        let url = store.url();
        let mut arguments = words(line);
        arguments.extend(["--store".to_owned(), url]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let outcome = tertulia(&arguments, "");
        assert_eq!(outcome.stdout.trim_end(), printed.trim_end(), "{line}: {}", outcome.stderr);
    }
}

#[test]
fn the_page_on_contexts_names_every_hint_with_its_meaning() {
    let document = read("docs/model-context.md");
    for hint in HINTS {
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` |", hint.name)));
        assert!(row.is_some_and(|row| row.contains(hint.meaning)), "{}", hint.name);
    }
}
