//! The effects of tool calls, derived only from the names of their arguments: files that were written, commands that
//! were run, to-do lists. Contains no names of tools of any agent. Called by [`super::gather`].

use super::read::{Answer, Call, Field};

/// Arguments that name a file.
#[rustfmt::skip]
const PATHS: [&str; 12] = [
    "path", "file_path", "filepath", "notebook_path", "filename", "file", "uri", "target_file",
    "relative_path", "absolute_path", "file_name", "destination",
];

/// Arguments that contain text to write into a file.
#[rustfmt::skip]
const WRITTEN: [&str; 16] = [
    "content", "contents", "new_string", "old_string", "new_str", "old_str", "file_text", "edits",
    "diff", "patch", "new_source", "insert_text", "code_edit", "replacement", "new_text", "text",
];

/// Arguments that contain a command.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "commands"];

/// Arguments that contain a task, next to its status.
const STEPS: [&str; 7] = ["content", "step", "title", "task", "subject", "text", "description"];

/// Commands that only read.
#[rustfmt::skip]
const READ_ONLY_COMMANDS: [&str; 22] = [
    "awk", "cat", "cd", "echo", "env", "file", "find", "git diff", "git log", "git show",
    "git status", "grep", "head", "jq", "ls", "pwd", "rg", "sed -n", "sleep", "tail", "wc",
    "which",
];

/// Lines of patches that name a file.
const PATCHED: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action<'a> {
    Wrote(&'a str),
    Ran(&'a str),
    /// A task that is still open.
    Open(&'a str),
    /// A task of a list that was done.
    Closed(&'a str),
}

pub(super) fn actions<'a>(call: &'a Call<'_>) -> Vec<Action<'a>> {
    let mut actions = Vec::new();
    let text = |names: &[&str]| {
        let named = |field: &&'a Field<'_>| is_one_of(&field.name, names);
        call.fields.iter().find(named).map(|field| field.text.as_ref())
    };
    if let Some(path) = text(&PATHS)
        && text(&WRITTEN).is_some()
    {
        actions.push(Action::Wrote(path));
    }
    if let Some(command) = text(&COMMANDS).filter(|command| !command.trim().is_empty()) {
        actions.push(Action::Ran(command.trim()));
    }
    for (at, field) in call.fields.iter().enumerate() {
        if field.text.starts_with("*** Begin Patch") {
            actions.extend(field.text.lines().filter_map(patched).map(Action::Wrote));
        } else if field.name == "status" {
            actions.extend(step(call, at, field));
        }
    }
    actions
}

fn patched(line: &str) -> Option<&str> {
    PATCHED.iter().find_map(|start| line.strip_prefix(start)).map(str::trim)
}

/// Returns the task whose status this field is. The task is near by, in the same object.
fn step<'a>(call: &'a Call<'_>, at: usize, status: &Field<'_>) -> Option<Action<'a>> {
    let near = call.fields.iter().skip(at.saturating_sub(NEAR)).take(2 * NEAR);
    let mut near = near.filter(|field| field.object == status.object);
    let text = near.find(|field| is_one_of(&field.name, &STEPS)).map(|field| field.text.trim())?;
    match status.text.as_ref() {
        "pending" | "in_progress" | "todo" | "open" | "inProgress" => Some(Action::Open(text)),
        "completed" | "done" | "cancelled" => Some(Action::Closed(text)),
        _ => None,
    }
}

/// The largest distance, in fields, between the text of a task and its status.
const NEAR: usize = 8;

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| {
        let mut letters = name.bytes().filter(|byte| *byte != b'_');
        let mut known = known.bytes().filter(|byte| *byte != b'_');
        // `filePath` and `file_path` are the same name.
        known.all(|byte| letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&byte)))
            && letters.next().is_none()
    })
}

pub(super) fn is_read_only(command: &str) -> bool {
    READ_ONLY_COMMANDS.iter().any(|start| {
        command
            .strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n']))
    })
}

/// Returns the lines of a result that describe a failure: the first one and the most informative one.
pub(super) fn failures<'a>(
    answer: &'a Answer<'_>,
    by_command: bool,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = || answer.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_asked = answer.is_error || by_command;
    // A line that says more than "failed" is preferred.
    let mut failures = lines().filter(|line| super::cues::states_failure(line)).take(LINES_MAX);
    let first = failures.next().filter(|_| is_asked);
    let informative =
        first.into_iter().chain(failures).find(|line| line.len() >= INFORMATIVE_BYTES_MIN);
    let informative = informative.or(first);
    let stated = || lines().find(|line| !is_exit_code(line)).or_else(|| lines().next());
    let stated = stated().filter(|line| answer.is_error && Some(*line) != informative);
    informative.into_iter().chain(stated)
}

/// The minimum length of an informative line. A shorter one shows that something failed, but not what.
const INFORMATIVE_BYTES_MIN: usize = 12;

fn is_exit_code(line: &str) -> bool {
    line.len() <= 14 && line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("exit code"))
}

/// The number of lines about a failure that are compared to find the most informative one.
const LINES_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::read;
    use tertulia_session::json::Json;
    use tertulia_session::{EntryId, Message, Part, PartKind, Role, ToolCall};

    #[track_caller]
    fn check(arguments: &str, expected: &[Action<'_>]) {
        let call = PartKind::ToolCall(Box::new(ToolCall {
            tool_call_id: "c".into(),
            tool_name: "t".into(),
            arguments: Json::parse(arguments).unwrap(),
            raw_args_text: None,
        }));
        let message = Message::with_role(Role::Assistant, [Part::new(call)].into_iter().collect());
        let entry = EntryId::from("e");
        let covered = [super::super::Covered { entry: &entry, message: &message }];
        let reading = read::read(&covered);
        assert_eq!(actions(&reading.calls[0]), expected, "{arguments}");
    }

    #[test]
    fn a_path_with_a_content_was_written() {
        check(r#"{"filePath":"a.rs","newString":"x"}"#, &[Action::Wrote("a.rs")]);
        check(r#"{"path":"a.rs","limit":3}"#, &[]);
        check(
            r#"{"input":"*** Begin Patch\n*** Update File: a.rs\n+x"}"#,
            &[Action::Wrote("a.rs")],
        );
    }

    #[test]
    fn a_command_was_run() {
        check(r#"{"command":"go test ./...","timeout":5}"#, &[Action::Ran("go test ./...")]);
    }

    #[test]
    fn a_list_of_things_to_do_has_open_and_closed_ones() {
        check(
            r#"{"todos":[{"content":"one","status":"completed"},{"status":"pending","content":"two"}]}"#,
            &[Action::Closed("one"), Action::Open("two")],
        );
    }

    #[test]
    fn commands_that_only_read_are_no_work() {
        assert!(is_read_only("git log -3") && is_read_only("ls"));
        assert!(!is_read_only("lsof") && !is_read_only("git push"));
    }
}
