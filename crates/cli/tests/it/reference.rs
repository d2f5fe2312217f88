//! Checks that the reference pages match the code: the help of every command, the fields of the team file, the rpc
//! methods and the types of entries. `cargo xtask reference` runs these tests with `TERTULIA_UPDATE` set, which
//! writes the pages instead of comparing them.

mod schema;

use crate::harness::{repository_file, tertulia};
use tertulia_operations::rpc::REFERENCE;

/// Compares a file of the repository with its text, or writes it if `TERTULIA_UPDATE` is set.
#[track_caller]
pub(crate) fn check_file(path: &str, text: &str, command: &str) {
    let file = repository_file(path);
    if std::env::var_os("TERTULIA_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(stored == text, "{path} is not up to date; run `cargo xtask {command}`");
}

/// Returns the page with every block between `<!-- generated: NAME -->` and `<!-- end -->` filled in.
fn fill_in(page: &str, block: impl Fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (name, after) = after.split_once(" -->\n").unwrap();
        let (_, after) = after.split_once("<!-- end -->").unwrap();
        filled.push_str(before);
        filled.push_str(&format!("<!-- generated: {name} -->\n\n{}\n<!-- end -->", block(name)));
        rest = after;
    }
    filled + rest
}

#[track_caller]
fn check_blocks(path: &str, block: impl Fn(&str) -> String) {
    let page = std::fs::read_to_string(repository_file(path)).unwrap();
    check_file(path, &fill_in(&page, block), "reference");
}

/// Returns the help of a command without spaces at the ends of lines.
fn help(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = tertulia(&words, "").stdout;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Returns the page with the first text block below every heading `tertulia COMMAND` replaced by the help of that
/// command.
fn with_help(page: &str) -> String {
    let mut lines = page.lines();
    let mut text = String::new();
    let mut command = None;
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if let Some(heading) = line.trim_start_matches('#').strip_prefix(" tertulia ") {
            command = Some(heading);
        } else if line == "```text"
            && let Some(command) = command.take()
        {
            text.push_str(&help(command));
            text.push_str("\n```\n");
            lines.by_ref().find(|line| *line == "```").unwrap();
        }
    }
    text
}

#[test]
fn the_command_reference_shows_the_help_of_this_program() {
    let page = std::fs::read_to_string(repository_file("docs/cli.md")).unwrap();
    check_file("docs/cli.md", &with_help(&page), "reference");
}

#[test]
fn every_command_has_its_section() {
    let page = std::fs::read_to_string(repository_file("docs/cli.md")).unwrap();
    let help = tertulia(&["--help"], "").stdout;
    let commands = help.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = commands.take_while(|line| !line.starts_with("-q"));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"handover") && names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("\n## tertulia {name}\n")), "{name}");
    }
}

#[test]
fn the_rpc_reference_has_the_methods_of_the_server() {
    check_blocks("docs/rpc.md", |group| {
        let mut table = "| method | parameters | result |\n|---|---|---|\n".to_owned();
        let methods = REFERENCE.iter().filter(|method| method.group == group);
        for method in methods {
            let row =
                format!("| `{}` | {} | {} |\n", method.name, method.parameters, method.result);
            table.push_str(&row.replace("|  |", "| |"));
        }
        table
    });
}

#[test]
fn the_team_file_reference_has_the_fields_of_the_schema() {
    let schema = schema::Schema::read(tertulia_team::file::SCHEMA);
    check_blocks("docs/team-file.md", |name| match name {
        "team" => schema.fields(&[]),
        definition => schema.fields(&["$defs", definition]),
    });
}

#[test]
fn the_entry_reference_has_the_types_of_the_schema() {
    let file = repository_file("crates/session/schema/entry-v2.schema.json");
    let schema = schema::Schema::read(&std::fs::read_to_string(file).unwrap());
    check_blocks("docs/entries.md", |_| schema.types());
}
