//! Tests `tertulia sessions show` and the Markdown export.

use crate::workspace::{CommandOutput, Workspace};

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\\n\\n- one\\n- two\"]\n";

fn talked() -> Workspace {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "[TEAM_TASK: Ship it] hello", "--new", "talk"]);
    workspace
}

/// Returns the output of the command in this time zone.
fn printed(workspace: &Workspace, zone: &str, arguments: &[&str]) -> String {
    let output = CommandOutput::wait(workspace.command(arguments).env("TZ", zone).spawn().unwrap());
    assert_eq!(output.code, Some(0), "{output:?}");
    output.stdout
}

/// Imports a log with one message, late in the evening in UTC.
fn late(workspace: &Workspace) {
    let log = r#"{"id":"m1","type":"message","timestamp":1769900400000,
        "payload":{"role":"user","content":"late words"}}"#;
    let log = log.replace("\n        ", "");
    let output =
        workspace.tertulia_with(&["sessions", "import", "-", "--as", "late"], log.as_bytes());
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn times_are_local() {
    let workspace = Workspace::empty();
    late(&workspace);
    let show = ["sessions", "show", "late"];
    assert!(printed(&workspace, "UTC0", &show).starts_with("── 2026-01-31 ──\n23:00:00 user"));
    assert!(printed(&workspace, "EET-2", &show).starts_with("── 2026-02-01 ──\n01:00:00 user"));
    let search = ["sessions", "search", "late"];
    assert!(printed(&workspace, "EET-2", &search).starts_with("late  2026-02-01 01:00  user"));
    let export = ["sessions", "export", "late", "--format", "markdown"];
    assert!(printed(&workspace, "EET-2", &export).contains("2026-02-01 01:00"));
    // A day begins at midnight in the person's time zone.
    let since = ["sessions", "search", "late", "--since", "2026-02-01", "--json"];
    assert_eq!(printed(&workspace, "UTC0", &since), "");
    assert!(printed(&workspace, "EET-2", &since).contains("\"timestamp\":1769900400000"));
    // The output for programs does not depend on the time zone.
    let json = ["sessions", "show", "late", "--json"];
    assert_eq!(printed(&workspace, "UTC0", &json), printed(&workspace, "EET-2", &json));
}

#[test]
fn bookkeeping_is_shown_only_when_asked_for() {
    let workspace = talked();
    let shown = workspace.exits(0, &["sessions", "show", "talk"]).stdout;
    assert!(shown.contains("· team task: Ship it") && shown.contains("  - two\n"), "{shown}");
    for noise in ["turn of", "session_header", "usage", "table stands"] {
        assert!(!shown.contains(noise), "{shown}");
    }
    let all = workspace.exits(0, &["sessions", "show", "talk", "--all"]).stdout;
    for noise in ["turn of max: queued", "turn of max: done", "session_header"] {
        assert!(all.contains(noise), "{all}");
    }
    let records = workspace.exits(0, &["sessions", "show", "talk", "--json"]).json();
    assert_eq!(records, workspace.entries());
}

#[test]
fn a_recalled_text_is_one_line_and_in_no_export_and_no_search() {
    let workspace = Workspace::empty();
    let recall =
        |id: &str, payload: &str| format!(r#"{{"id":"{id}","type":"recall","payload":{payload}}}"#);
    let log = [
        r#"{"id":"m1","type":"message","payload":{"role":"user","content":"look at the zebra"}}"#
            .to_owned(),
        recall("c1", r#"{"text":"one zebra\ntwo","sourceIds":["m1"],"replaces":true}"#),
        recall("c2", r#"{"text":"three zebras","sourceIds":["m1"],"member":"max"}"#),
        recall("c3", r#"{"text":"","sourceIds":[],"replaces":true}"#),
    ];
    let import = ["sessions", "import", "-", "--as", "work"];
    let output = workspace.tertulia_with(&import, log.join("\n").as_bytes());
    assert_eq!(output.code, Some(0), "{output:?}");
    let shown = workspace.exits(0, &["sessions", "show", "work"]).stdout;
    for line in [
        " · recalled: files as they are now (2 lines)  c1\n",
        " · recalled for max: files as they are now (1 line)  c2\n",
        " · recalled: nothing  c3\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert_eq!(shown.matches("zebra").count(), 1, "{shown}");
    let export = ["sessions", "export", "work", "--format", "markdown"];
    let exported = workspace.exits(0, &export).stdout;
    assert!(
        exported.contains("look at the zebra") && !exported.contains("one zebra"),
        "{exported}"
    );
    let found = workspace.exits(0, &["sessions", "search", "zebra*", "--json"]).stdout;
    assert!(found.lines().count() == 1 && found.contains("m1"), "{found}");
    workspace.exits(0, &["sessions", "redact", "work", "m1"]);
    let shown = workspace.exits(0, &["sessions", "show", "work"]).stdout;
    assert_eq!(shown.matches("[redacted recall by e-").count(), 2, "{shown}");
    let records = workspace.exits(0, &["sessions", "show", "work", "--json"]).stdout;
    assert!(!records.contains("zebra"), "{records}");
}

#[test]
fn messages_are_all_that_is_shown_on_request() {
    let workspace = talked();
    let shown = workspace.exits(0, &["sessions", "show", "talk", "--messages"]).stdout;
    assert!(shown.contains("hello") && shown.contains("Done."), "{shown}");
    assert!(!shown.contains('·'), "{shown}");
    let records = workspace.exits(0, &["sessions", "show", "talk", "--messages", "--json"]).json();
    assert_eq!(records.len(), 2);
    workspace.exits(2, &["sessions", "show", "talk", "--messages", "--all"]);
}

#[test]
fn the_newest_of_what_is_shown_are_counted() {
    let workspace = talked();
    for _ in 0..4 {
        workspace.exits(0, &["run", "again", "--session", "talk"]);
    }
    let shown =
        workspace.exits(0, &["sessions", "show", "talk", "--messages", "--tail", "3"]).stdout;
    assert_eq!(shown.matches(" max  e-").count(), 2, "{shown}");
    assert_eq!(shown.matches(" ann  e-").count(), 1, "{shown}");
    let shown =
        workspace.exits(0, &["sessions", "show", "talk", "--messages", "--tail", "99"]).stdout;
    assert_eq!(shown.matches("  e-").count(), 10, "{shown}");
    let shown = workspace.exits(0, &["sessions", "show", "talk", "--tail", "0"]).stdout;
    assert_eq!(shown, "");
}

#[test]
fn an_export_to_markdown_is_a_document_of_what_was_said() {
    let workspace = talked();
    workspace.exits(0, &["sessions", "rename", "talk", "Shipping"]);
    let output = ["sessions", "export", "talk", "--format", "markdown", "-o", "talk.md"];
    workspace.exits(0, &output);
    let document = std::fs::read_to_string(workspace.path("talk.md")).unwrap();
    assert!(document.starts_with("# Shipping\n\nSession `talk`, created 20"), "{document}");
    for piece in ["\n*Task: Ship it*\n", "\n## ann\n", "\n## max\n", "\nDone.\n\n- one\n- two\n"] {
        assert!(document.contains(piece), "{piece}: {document}");
    }
    assert!(!document.contains("queued"), "{document}");
    let hidden = workspace.entries().into_iter().find(|entry| entry["type"] == "message").unwrap();
    workspace.exits(0, &["sessions", "redact", "talk", hidden["id"].as_str().unwrap()]);
    let redacted =
        workspace.exits(0, &["sessions", "export", "talk", "--format", "markdown"]).stdout;
    assert!(redacted.contains("*[redacted message]*"), "{redacted}");
}

#[test]
fn an_export_to_html_is_one_page_that_loads_nothing() {
    let workspace = talked();
    workspace.exits(0, &["sessions", "rename", "talk", "Shipping <b>"]);
    let export = ["sessions", "export", "talk", "--format", "html", "-o", "talk.html"];
    workspace.exits(0, &export);
    let page = std::fs::read_to_string(workspace.path("talk.html")).unwrap();
    assert!(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"), "{page}");
    for piece in
        ["<title>Shipping &lt;b&gt;</title>", "Task: Ship it", "<bdi>ann</bdi>", "<li>one</li>"]
    {
        assert!(page.contains(piece), "{piece}: {page}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("queued"), "{page}");
}
