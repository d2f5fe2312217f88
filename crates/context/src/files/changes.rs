//! The changes that calls make to files, derived from the names of their arguments.

use tertulia_session::ToolCall;
use tertulia_session::json::{self, Object, RawValue};

/// A change of a file by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Shows lines from this number on. Without the number, only the result shows it.
    Read {
        path: Box<str>,
        first: Option<usize>,
        is_whole: bool,
    },
    Write {
        path: Box<str>,
        content: String,
    },
    Edit {
        path: Box<str>,
        edits: Vec<Edit>,
    },
    /// Changes the file in a way that is not understood.
    Unknown {
        path: Box<str>,
    },
    Run {
        command: String,
    },
}

/// The replacement of one text by another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether every occurrence is replaced.
    pub(super) all: bool,
    /// Whether the texts are whole lines, as in a patch.
    pub(super) is_lines: bool,
}

impl Change {
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Write { path, .. } | Self::Edit { path, .. } | Self::Unknown { path } => {
                Some(path)
            }
            Self::Read { .. } | Self::Run { .. } => None,
        }
    }
}

/// The arguments of a call by their meaning.
#[derive(Debug, Default)]
struct Arguments {
    path: Option<String>,
    old: Option<String>,
    new: Option<String>,
    all: bool,
    content: Option<String>,
    edits: Vec<Edit>,
    first: Option<usize>,
    has_limit: bool,
    /// Whether only the result contains the first line number.
    is_first_in_result: bool,
    command: Option<String>,
    patch: Option<String>,
    /// Whether the call only searches, or only shows what it would do.
    searches: bool,
    /// Whether the call changes the file in an unknown way.
    inserts: bool,
    /// Other files that it may change.
    others: Vec<String>,
}

/// Returns the changes that a call makes if it succeeds.
pub(super) fn changes(call: &ToolCall) -> Vec<Change> {
    let arguments = Arguments::read(call);
    if let Some(patch) = &arguments.patch {
        return patched(patch);
    }
    let command = arguments.command.as_deref().filter(|command| !command.trim().is_empty());
    let is_editor = command.is_some_and(|command| EDITOR.contains(&command));
    let path = arguments.path.as_deref().map(normalized_path).filter(|path| !path.is_empty());
    let Some(path) = path.filter(|_| command.is_none() || is_editor) else {
        return command.map(command_changes).unwrap_or_default();
    };
    let others =
        arguments.others.iter().map(|path| Change::Unknown { path: normalized_path(path).into() });
    let mut changes: Vec<Change> =
        others.filter(|_| !is_reader(&call.tool_name, command)).collect();
    let path = Box::from(path);
    let change = if arguments.inserts || has_edit_of_another(&arguments.edits) {
        Change::Unknown { path }
    } else if arguments.searches {
        return changes;
    } else if !arguments.edits.is_empty() {
        Change::Edit { path, edits: arguments.edits }
    } else if let Some(old) = arguments.old {
        let new = arguments.new.unwrap_or_default();
        Change::Edit { path, edits: vec![Edit { old, new, all: arguments.all, is_lines: false }] }
    } else if let Some(content) = arguments.content {
        Change::Write { path, content }
    } else if is_reader(&call.tool_name, command) {
        let is_whole =
            arguments.first.is_none() && !arguments.has_limit && !arguments.is_first_in_result;
        // Some tools of this name count from 0, but their result states which lines they show.
        let is_first_in_result =
            arguments.is_first_in_result || call.tool_name.eq_ignore_ascii_case("read_file");
        let first = arguments.first.filter(|_| !is_first_in_result).map(|first| first.max(1));
        Change::Read { path, first: first.or(is_whole.then_some(1)), is_whole }
    } else if is_editor || arguments.new.is_some() || is_writer(&call.tool_name) {
        Change::Unknown { path }
    } else {
        return changes;
    };
    changes.push(change);
    changes
}

/// The commands of editors: tools that have a `command` and a path but are not shells.
const EDITOR: [&str; 8] =
    ["view", "create", "str_replace", "insert", "undo_edit", "delete", "rename", "edit"];

/// Returns whether an edit may match text that another edit wrote. Tools differ in such a case.
fn has_edit_of_another(edits: &[Edit]) -> bool {
    let earlier = |at: usize| edits.iter().take(at);
    edits.iter().enumerate().any(|(at, edit)| earlier(at).any(|one| one.new.contains(&edit.old)))
}

impl Arguments {
    fn read(call: &ToolCall) -> Self {
        let mut all = Self::default();
        match &call.raw_args_text {
            Some(raw) => all.take_text("input", raw),
            None => {
                let object = Object::try_from(call.arguments.raw()).ok();
                for (name, value) in object.into_iter().flat_map(Object::into_fields) {
                    all.take(&name, value);
                }
            }
        }
        all
    }

    fn take(&mut self, name: &str, value: &RawValue) {
        let name = normalized_name(name);
        match &*name {
            _ if value.get() == "null" => {}
            "replaceall" | "allowmultiple" => self.all = is_true(value),
            "expectedreplacements" => self.all = json::words(value) != "1",
            "append" => self.inserts |= is_true(value),
            "dryrun" => self.searches |= is_true(value),
            "offset" | "startline" | "line" => self.first = self.number(value),
            "limit" | "endline" | "lines" | "head" => self.has_limit = true,
            "tail" => self.is_first_in_result = true,
            "viewrange" => {
                let ends = json::elements(value).unwrap_or_default();
                self.first = ends.first().and_then(|first| self.number(first));
                self.has_limit = true;
            }
            "edits" => {
                self.edits =
                    json::elements(value).unwrap_or_default().into_iter().map(edit).collect();
                self.inserts |= self.edits.is_empty();
            }
            "command" | "cmd" | "args" | "script" | "code" | "chars" => self.take_command(value),
            _ => {
                if let Ok(text) = json::text(value) {
                    self.take_text(&name, &text);
                }
            }
        }
    }

    /// Adds a command. A list is a program with its arguments, often a shell with a script as the last one.
    fn take_command(&mut self, value: &RawValue) {
        let words = json::elements(value).unwrap_or_default();
        let words: Vec<_> = words.into_iter().map(json::words).collect();
        let is_shell = words.first().is_some_and(|first| first.ends_with("sh"));
        let text = match words.as_slice() {
            [] => json::words(value).into_owned(),
            [_, .., last] if is_shell => last.clone().into_owned(),
            words => words.join(" "),
        };
        self.command = Some(match self.command.take() {
            Some(command) => format!("{command} {text}"),
            None => text,
        });
    }

    fn number(&mut self, value: &RawValue) -> Option<usize> {
        let number = json::words(value).parse().ok().filter(|number| *number <= NUMBER_MAX);
        self.is_first_in_result |= number.is_none();
        number
    }

    fn take_text(&mut self, name: &str, said: &str) {
        let text = || Some(said.to_owned());
        match name {
            "filepath" | "path" | "file" | "filename" | "absolutepath" | "targetfile"
            | "relativepath" | "notebookpath" => self.path = text(),
            "oldstring" | "oldstr" | "oldtext" => self.old = text(),
            "newstring" | "newstr" | "newtext" => self.new = text(),
            "content" | "contents" | "filetext" => self.content = text(),
            "inserttext" | "codeedit" | "diff" => self.inserts = true,
            "mode" => self.inserts |= ["a", "append"].contains(&said),
            "source" | "destination" | "oldpath" | "newpath" => self.others.extend(text()),
            "pattern" | "query" | "regex" | "glob" => self.searches = true,
            "input" | "patch" | "patchtext" => {
                self.patch = text().filter(|text| text.starts_with(PATCH))
            }
            _ => {}
        }
    }
}

const PATCH: &str = "*** Begin Patch";

/// The maximum line number. Larger ones are ignored.
pub(super) const NUMBER_MAX: usize = 1 << 30;

fn is_true(value: &RawValue) -> bool {
    json::words(value).eq_ignore_ascii_case("true")
}

fn edit(raw: &RawValue) -> Edit {
    let mut inner = Arguments::default();
    let object = Object::try_from(raw).ok();
    for (name, value) in object.into_iter().flat_map(Object::into_fields) {
        inner.take(&name, value);
    }
    Edit {
        old: inner.old.unwrap_or_default(),
        new: inner.new.unwrap_or_default(),
        all: inner.all,
        is_lines: false,
    }
}

/// Returns the name of an argument in one spelling: `filePath` and `file_path` are the same name.
fn normalized_name(name: &str) -> String {
    name.chars().filter(|one| *one != '_').map(|one| one.to_ascii_lowercase()).collect()
}

fn normalized_path(path: &str) -> &str {
    path.trim().trim_start_matches("./")
}

/// Returns whether a tool with only a path as its argument shows the file.
fn is_reader(tool: &str, command: Option<&str>) -> bool {
    let tool = tool.to_ascii_lowercase();
    command == Some("view")
        || command.is_none()
            && ["read", "view", "open", "cat"].iter().any(|word| tool.contains(word))
}

/// Returns whether a tool with a path changes the file, regardless of its other arguments.
fn is_writer(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    let words = ["edit", "write", "insert", "replace", "delete", "remove", "move", "rename"];
    words
        .iter()
        .chain(&["patch", "create", "undo", "append", "format"])
        .any(|word| tool.contains(word))
}

/// Returns the hunks of a patch as edits: kept and removed lines are replaced by kept and added lines.
fn patched(patch: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for line in patch.lines() {
        let path =
            |start: &str| line.strip_prefix(start).map(|path| Box::from(normalized_path(path)));
        if let Some(path) = path("*** Update File: ") {
            changes.push(Change::Edit { path, edits: Vec::new() });
        } else if let Some(path) = path("*** Add File: ") {
            changes.push(Change::Write { path, content: String::new() });
        } else if let Some(path) = path("*** Delete File: ") {
            changes.push(Change::Unknown { path });
        } else if let Some(path) = path("*** Move to: ") {
            let moved = changes.pop().and_then(|change| Some(Box::from(change.path()?)));
            changes.extend(moved.map(|path| Change::Unknown { path }));
            changes.push(Change::Unknown { path });
        } else {
            match changes.last_mut() {
                Some(Change::Edit { edits, .. }) => add_line(line, edits),
                Some(Change::Write { content, .. }) => {
                    if let Some(line) = line.strip_prefix('+') {
                        content.push_str(line);
                        content.push('\n');
                    }
                }
                _ => {}
            }
        }
    }
    changes
}

fn add_line(line: &str, edits: &mut Vec<Edit>) {
    if line.starts_with("@@") || edits.is_empty() {
        edits.push(Edit { is_lines: true, ..Edit::default() });
    }
    let Some(edit) = edits.last_mut() else { return };
    let (mark, text) = line.split_at_checked(1).unwrap_or(("", ""));
    if matches!(mark, " " | "-" | "") {
        edit.old.push_str(text);
        edit.old.push('\n');
    }
    if matches!(mark, " " | "+" | "") {
        edit.new.push_str(text);
        edit.new.push('\n');
    }
}

/// Returns the changes of a command: a command that shows one file is a read; any other may change files.
fn command_changes(command: &str) -> Vec<Change> {
    if let Some(patch) = command.find(PATCH).and_then(|at| command.get(at..)) {
        let mut changes = patched(patch);
        // The rest of the command after the patch.
        let rest = patch.find("*** End Patch").and_then(|at| patch.get(at..)).unwrap_or_default();
        let before = command.strip_suffix(patch).unwrap_or_default().replace("<<", "");
        changes.push(Change::Run { command: format!("{before}{rest}") });
        return changes;
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_plain = !command.contains(['|', '>', '<', ';', '&', '$', '`', '*', '\n', '\\'])
        && !command.contains(['{', '[', '?', '~']);
    let read = |path: &str, first, is_whole| {
        let path = path.trim_matches(['\'', '"']);
        let is_path = !path.is_empty() && !path.starts_with('-');
        let path = normalized_path(path).into();
        is_path.then_some(Change::Read { path, first: Some(first), is_whole })
    };
    match words.as_slice() {
        ["cat", path] if is_plain => read(path, 1, true).into_iter().collect(),
        ["sed", "-n", range, path] if is_plain => {
            let first = sed_first(range.trim_matches(['\'', '"']));
            first.and_then(|first| read(path, first, false)).into_iter().collect()
        }
        _ => vec![Change::Run { command: command.to_owned() }],
    }
}

/// Returns the first number of a range of lines such as `10,20p`.
fn sed_first(range: &str) -> Option<usize> {
    let range = range.strip_suffix('p')?;
    let (first, last) = range.split_once(',').unwrap_or((range, "1"));
    let last = last.strip_prefix('+').unwrap_or(last);
    let number = |text: &str| text.parse().ok().filter(|number| *number <= NUMBER_MAX);
    number(first).filter(|_| number(last).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tertulia_session::json::Json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
    fn of(tool: &str, arguments: Value) -> Vec<Change> {
        changes(&ToolCall {
            tool_call_id: "1".into(),
            tool_name: tool.into(),
            arguments: Json::parse(&arguments.to_string()).unwrap(),
            raw_args_text: None,
        })
    }

    fn read(first: Option<usize>, is_whole: bool) -> Vec<Change> {
        vec![Change::Read { path: "a.rs".into(), first, is_whole }]
    }

    fn edit(all: bool, is_lines: bool, old: &str, new: &str) -> Vec<Change> {
        let edit = Edit { old: old.into(), new: new.into(), all, is_lines };
        vec![Change::Edit { path: "a.rs".into(), edits: vec![edit] }]
    }

    fn unknown() -> Vec<Change> {
        vec![Change::Unknown { path: "a.rs".into() }]
    }

    #[test]
    fn the_tools_of_claude_code_are_understood() {
        let path = "a.rs";
        assert_eq!(of("Read", json!({ "file_path": path })), read(Some(1), true));
        let part = json!({ "file_path": path, "offset": 5, "limit": 2 });
        assert_eq!(of("Read", part), read(Some(5), false));
        let arguments =
            json!({ "file_path": path, "old_string": "a", "new_string": "b", "replace_all": true });
        assert_eq!(of("Edit", arguments), edit(true, false, "a", "b"));
        let content = Change::Write { path: path.into(), content: "x".into() };
        assert_eq!(of("Write", json!({ "file_path": path, "content": "x" })), [content]);
        let edits = json!([{ "old_string": "a", "new_string": "b" }]);
        let arguments = json!({ "file_path": path, "edits": edits });
        assert_eq!(of("MultiEdit", arguments), edit(false, false, "a", "b"));
        assert_eq!(of("Grep", json!({ "path": path, "pattern": "x" })), []);
    }

    #[test]
    fn the_tools_of_pi_and_opencode_are_understood() {
        let arguments = json!({ "path": "./a.rs", "oldText": "a", "newText": "b" });
        assert_eq!(of("edit", arguments), edit(false, false, "a", "b"));
        let arguments = json!({ "filePath": "a.rs", "oldString": "a", "newString": "b" });
        assert_eq!(of("edit", arguments), edit(false, false, "a", "b"));
    }

    #[test]
    fn the_editor_with_commands_is_understood() {
        let editor = |arguments| of("str_replace_based_edit_tool", arguments);
        assert_eq!(editor(json!({ "command": "view", "path": "a.rs" })), read(Some(1), true));
        let part = json!({ "command": "view", "path": "a.rs", "view_range": [7, 9] });
        assert_eq!(editor(part), read(Some(7), false));
        let change = json!({ "command": "str_replace", "path": "a.rs", "old_str": "a" });
        assert_eq!(editor(change), edit(false, false, "a", ""));
        let create = json!({ "command": "create", "path": "a.rs", "file_text": "x" });
        assert_eq!(editor(create), [Change::Write { path: "a.rs".into(), content: "x".into() }]);
        for name in ["insert_text", "new_str"] {
            let insert =
                json!({ "command": "insert", "path": "a.rs", "insert_line": 1, name: "x" });
            assert_eq!(editor(insert), unknown());
        }
        assert_eq!(editor(json!({ "command": "undo_edit", "path": "a.rs" })), unknown());
    }

    #[test]
    fn a_patch_is_understood_wherever_it_stands() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n a\n-b\n+c\n*** End Patch";
        let change = edit(false, true, "a\nb\n", "a\nc\n");
        assert_eq!(of("apply_patch", json!({ "input": patch })), change);
        let shell = json!({ "command": ["bash", "-lc", format!("apply_patch <<'X'\n{patch}\nX")] });
        assert_eq!(of("shell", shell).first(), change.first());
        assert_eq!(
            of("shell", json!({ "command": ["apply_patch", patch] })).first(),
            change.first()
        );
    }

    #[test]
    fn a_patch_that_adds_a_file_writes_its_lines_and_no_more() {
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+x\n*** End Patch";
        let write = Change::Write { path: "a.rs".into(), content: "x\n".into() };
        assert_eq!(of("apply_patch", json!({ "input": patch })), [write]);
    }

    #[test]
    fn of_a_file_that_a_patch_moves_nothing_is_known() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@\n-b\n+c";
        let moved = Change::Unknown { path: "b.rs".into() };
        assert_eq!(of("apply_patch", json!({ "input": patch })), [unknown(), vec![moved]].concat());
    }

    #[test]
    fn commands_that_show_a_file_read_it() {
        let shell = |command: &str| of("shell", json!({ "command": ["bash", "-lc", command] }));
        assert_eq!(shell("cat a.rs"), read(Some(1), true));
        assert_eq!(shell("cat 'a.rs'"), read(Some(1), true));
        assert_eq!(shell("sed -n '10,20p' a.rs"), read(Some(10), false));
        assert_eq!(shell("sed -n '10,20!p' a.rs"), []);
        let run = |command: &str| vec![Change::Run { command: command.into() }];
        assert_eq!(shell("cat a.rs b.rs"), run("cat a.rs b.rs"));
        let list = json!({ "command": ["sed", "-i", "s/a/b/", "a.rs"] });
        assert_eq!(of("shell", list), run("sed -i s/a/b/ a.rs"));
    }

    #[test]
    fn a_tool_that_writes_in_another_way_leaves_nothing_known() {
        let append = json!({ "path": "a.rs", "content": "x", "append": true });
        assert_eq!(of("write", append), unknown());
        assert_eq!(of("insert_at_line", json!({ "path": "a.rs", "text": "x" })), unknown());
        assert_eq!(of("edit", json!({ "path": "a.rs", "edits": "[]" })), unknown());
    }

    #[test]
    fn an_offset_that_is_no_line_number_leaves_it_to_the_result() {
        for offset in [json!(-5), json!(u64::MAX), json!("x")] {
            assert_eq!(of("read", json!({ "path": "a.rs", "offset": offset })), read(None, false));
        }
    }
}
