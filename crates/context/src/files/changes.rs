//! What calls do to files, told by the names of their arguments, and what results show of them.

use tertulia_session::ToolCall;
use tertulia_session::json::{self, Object, RawValue};

/// What a call does to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Shows lines, from a number on.
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

/// A text takes the place of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    /// Wherever the other is.
    pub(super) all: bool,
}

/// Which files a command may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Nothing,
    /// Those that it names.
    Named,
    All,
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

/// The arguments of a call by what they mean.
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
    command: Option<String>,
    patch: Option<String>,
    /// Whether it looks for something.
    searches: bool,
    inserts: bool,
}

/// Returns what a call does, once it succeeds.
pub(super) fn changes(call: &ToolCall) -> Vec<Change> {
    let arguments = Arguments::of(call);
    if let Some(patch) = &arguments.patch {
        return patched(patch);
    }
    let Some(path) = arguments.path.as_deref().map(normal).filter(|path| !path.is_empty()) else {
        let command = arguments.command.filter(|command| !command.trim().is_empty());
        return command.map(command_changes).unwrap_or_default();
    };
    let path = Box::from(path);
    let change = if arguments.inserts {
        Change::Unknown { path }
    } else if !arguments.edits.is_empty() {
        Change::Edit { path, edits: arguments.edits }
    } else if let Some(old) = arguments.old {
        let edit = Edit { old, new: arguments.new.unwrap_or_default(), all: arguments.all };
        Change::Edit { path, edits: vec![edit] }
    } else if let Some(content) = arguments.content {
        Change::Write { path, content }
    } else if arguments.searches || !is_reader(&call.tool_name, arguments.command.as_deref()) {
        return Vec::new();
    } else {
        let is_whole = arguments.first.is_none() && !arguments.has_limit;
        Change::Read { path, first: arguments.first, is_whole }
    };
    vec![change]
}

impl Arguments {
    fn of(call: &ToolCall) -> Self {
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
        let name = bare(name);
        match &*name {
            "replaceall" => self.all = value.get() == "true",
            "offset" | "startline" | "line" => self.first = value.get().parse().ok(),
            "limit" | "endline" | "lines" => self.has_limit = true,
            "viewrange" => {
                let ends = json::elements(value).unwrap_or_default();
                self.first = ends.first().and_then(|first| first.get().parse().ok());
                self.has_limit = true;
            }
            "edits" => {
                self.edits =
                    json::elements(value).unwrap_or_default().into_iter().map(edit).collect()
            }
            "command" | "cmd" => {
                // A list is a program with its arguments, often a shell with a script as the last one.
                let words = json::elements(value).unwrap_or_default();
                self.command = Some(
                    words
                        .last()
                        .map_or_else(|| json::words(value), |last| json::words(last))
                        .into_owned(),
                );
            }
            _ => {
                if let Ok(text) = json::text(value) {
                    self.take_text(&name, &text);
                }
            }
        }
    }

    fn take_text(&mut self, name: &str, text: &str) {
        let text = || Some(text.to_owned());
        match name {
            "filepath" | "path" | "file" | "filename" | "absolutepath" | "targetfile" => {
                self.path = text()
            }
            "oldstring" | "oldstr" | "oldtext" => self.old = text(),
            "newstring" | "newstr" | "newtext" => self.new = text(),
            "content" | "contents" | "filetext" => self.content = text(),
            "inserttext" | "codeedit" | "diff" => self.inserts = true,
            "pattern" | "query" | "regex" | "glob" => self.searches = true,
            "input" | "patch" | "patchtext" => {
                self.patch = text().filter(|text| text.starts_with(PATCH))
            }
            _ => {}
        }
    }
}

const PATCH: &str = "*** Begin Patch";

fn edit(raw: &RawValue) -> Edit {
    let mut inner = Arguments::default();
    let object = Object::try_from(raw).ok();
    for (name, value) in object.into_iter().flat_map(Object::into_fields) {
        inner.take(&name, value);
    }
    Edit { old: inner.old.unwrap_or_default(), new: inner.new.unwrap_or_default(), all: inner.all }
}

/// `filePath` and `file_path` are one name.
fn bare(name: &str) -> String {
    name.chars().filter(|one| *one != '_').map(|one| one.to_ascii_lowercase()).collect()
}

fn normal(path: &str) -> &str {
    path.trim().trim_start_matches("./")
}

/// Whether a tool with a path and nothing else shows the file.
fn is_reader(tool: &str, command: Option<&str>) -> bool {
    let tool = tool.to_ascii_lowercase();
    command == Some("view")
        || command.is_none()
            && ["read", "view", "open", "cat"].iter().any(|word| tool.contains(word))
}

/// The hunks of a patch as edits: what is kept and taken away by what is kept and added.
fn patched(patch: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for line in patch.lines() {
        let path = |start: &str| line.strip_prefix(start).map(|path| Box::from(normal(path)));
        if let Some(path) = path("*** Update File: ") {
            changes.push(Change::Edit { path, edits: Vec::new() });
        } else if let Some(path) = path("*** Add File: ") {
            changes.push(Change::Write { path, content: String::new() });
        } else if let Some(path) = path("*** Delete File: ").or_else(|| path("*** Move to: ")) {
            changes.push(Change::Unknown { path });
        } else {
            match changes.last_mut() {
                Some(Change::Edit { edits, .. }) => add_line(line, edits),
                Some(Change::Write { content, .. }) => {
                    content.push_str(line.strip_prefix('+').unwrap_or_default());
                    content.push('\n');
                }
                _ => {}
            }
        }
    }
    changes
}

fn add_line(line: &str, edits: &mut Vec<Edit>) {
    if line.starts_with("@@") || edits.is_empty() {
        edits.push(Edit::default());
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

/// A command that shows one file is a read; any other may change files.
fn command_changes(command: String) -> Vec<Change> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_plain = !command.contains(['|', '>', '<', ';', '&', '$', '`', '*', '\n', '\\']);
    let read =
        |path: &str, first, is_whole| Change::Read { path: normal(path).into(), first, is_whole };
    match words.as_slice() {
        ["cat", path] if is_plain => vec![read(path, Some(1), true)],
        ["sed", "-n", range, path] if is_plain => {
            let range = range.trim_matches(['\'', '"']).strip_suffix('p');
            let first = range.and_then(|range| range.split(',').next()?.parse().ok());
            first.map(|first| read(path, Some(first), false)).into_iter().collect()
        }
        _ => vec![Change::Run { command }],
    }
}

/// Commands of git that bring other texts into files.
#[rustfmt::skip]
const GIT_WRITERS: [&str; 12] = [
    "am", "apply", "checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "restore", "revert", "stash", "switch",
];

/// What a command has that changes the files it names.
#[rustfmt::skip]
const WRITERS: [&str; 20] = [
    "sed -i", "sed -E -i", "perl -i", "perl -pi", ">", "tee ", "mv ", "cp ", "rm ", "patch ", "truncate ", "python", "node ",
    "ruby ", " -w ", "--write", "--fix", "black ", "rustfmt ", "git mv",
];

pub(super) fn reach(command: &str) -> Reach {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let is_git = word == "git" || word.ends_with("/git");
        if is_git
            && words.clone().take(3).any(|word| GIT_WRITERS.contains(&word))
            && !command.contains("checkout -b")
        {
            return Reach::All;
        }
    }
    match WRITERS.iter().any(|writer| command.contains(writer)) {
        true => Reach::Named,
        false => Reach::Nothing,
    }
}

/// Tells whether a result that is not marked as an error says that nothing was done.
pub(super) fn tells_error(result: &str) -> bool {
    let start = result.trim_start();
    [
        "<tool_use_error>",
        "Error",
        "error:",
        "Failed",
        "Could not",
        "File does not exist",
        "No changes",
    ]
    .iter()
    .any(|words| start.starts_with(words))
}

/// Returns the lines that a read shows and the number of the first one, unless it shows none.
pub(super) fn shown_lines(result: &str, first: Option<usize>) -> Option<(usize, Vec<&str>)> {
    if result.split('\n').next().and_then(numbered).is_some() {
        return numbered_lines(result);
    }
    let text = result.strip_suffix('\n').unwrap_or(result);
    // Notes of the tool stand at the end, in brackets.
    let text = match text.rsplit_once("\n\n") {
        Some((text, note)) if note.starts_with(['[', '(', '<']) => text,
        _ => text,
    };
    let is_note = text.starts_with('<') || text.is_empty();
    (!is_note).then(|| (first.unwrap_or(1).max(1), text.split('\n').collect()))
}

/// Returns lines that stand behind their numbers, as far as they follow each other.
pub(super) fn numbered_lines(result: &str) -> Option<(usize, Vec<&str>)> {
    let mut lines = result.split('\n').map(numbered).skip_while(Option::is_none).take(1_000_000);
    let (first, text) = lines.next()??;
    let mut texts = vec![text];
    for (number, text) in lines.map_while(|line| line) {
        if number != first + texts.len() {
            break;
        }
        texts.push(text);
    }
    Some((first, texts))
}

/// `   12→text`, `00012| text` or, as `cat -n` writes it, a tab behind the number.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let bare = line.trim_start_matches(' ');
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = bare.split_at_checked(digits)?;
    let is_column = line.len() - rest.len() == 6;
    let tabbed = || rest.strip_prefix('\t').filter(|_| is_column);
    let text = rest.strip_prefix('→').or_else(|| rest.strip_prefix("| ")).or_else(tabbed)?;
    Some((number.parse().ok().filter(|number| *number > 0)?, text))
}
