//! A tool call for people: a title in one line, and the arguments as a command, a change of a file, or JSON. The
//! recognised names of arguments are those of common coding agents.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};

use super::clean::{clean, excerpt};

/// Maximum length of the title of a call.
const TITLE_CHARACTERS: usize = 100;
/// Names of arguments for the title. The first one that a call has is used.
const TITLES: [&str; 16] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "description",
    "title",
    "prompt",
    "task",
    "name",
    "action",
];
/// Pairs of arguments that contain a text before and after a change.
const CHANGES: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
];
/// Arguments that contain the text of a file, or a patch.
const TEXTS: [&str; 7] =
    ["content", "file_text", "newContent", "patch", "patchText", "input", "diff"];

/// A piece of preformatted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snippet {
    pub kind: SnippetKind,
    pub text: String,
}

/// The kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnippetKind {
    Text,
    Command,
    Diff,
    Json,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub id: Box<str>,
    pub name: String,
    /// Its most informative argument; empty if there is none.
    pub title: String,
    pub input: Vec<Snippet>,
}

impl Call {
    /// Reads a call. `raw` contains the arguments if they are not JSON.
    pub(super) fn new(id: &str, name: &str, arguments: &Json, raw: Option<&str>) -> Self {
        let mut call = Self {
            id: id.into(),
            name: excerpt(name, TITLE_CHARACTERS),
            title: String::new(),
            input: Vec::new(),
        };
        match (raw, Object::try_from(arguments.raw())) {
            (Some(raw), _) => call.text(raw),
            (None, Ok(object)) => call.object(object),
            (None, Err(_)) => match arguments.kind() {
                Kind::Null => {}
                _ => call.text(&json::words(arguments.raw())),
            },
        }
        call
    }

    fn text(&mut self, text: &str) {
        self.title = excerpt(text, TITLE_CHARACTERS);
        self.input.extend(Snippet::of_output(text));
    }

    fn object(&mut self, mut object: Object<'_>) {
        for (old, new) in CHANGES {
            let is_change = [old, new].iter().all(|name| object.names().any(|one| one == *name));
            if !is_change {
                continue;
            }
            if let (Some(old), Some(new)) = (words(object.take(old)), words(object.take(new))) {
                self.input.push(Snippet { kind: SnippetKind::Diff, text: change(&old, &new) });
            }
        }
        for name in TEXTS {
            let is_text = |raw: &&RawValue| Kind::from(*raw) == Kind::String;
            let text = object.take(name).filter(is_text).map(json::words);
            self.input.extend(text.as_deref().and_then(Snippet::of_output));
        }
        let mut others = Vec::new();
        let mut titles: [Option<String>; TITLES.len()] = [const { None }; TITLES.len()];
        for (name, value) in object.into_fields() {
            let place = TITLES.iter().position(|title| *title == name);
            match (place, words(Some(value))) {
                (Some(place), Some(text)) => {
                    if matches!(&*name, "command" | "cmd") {
                        let text = clean(&text).into_owned();
                        self.input.insert(0, Snippet { kind: SnippetKind::Command, text });
                    } else if text.contains('\n') || text.chars().count() > TITLE_CHARACTERS {
                        others.push((name.clone(), value));
                    }
                    if let Some(title) = titles.get_mut(place) {
                        *title = Some(text);
                    }
                }
                _ => others.push((name, value)),
            }
        }
        let mut titles = titles.into_iter().flatten();
        self.title =
            titles.next().map(|title| excerpt(&title, TITLE_CHARACTERS)).unwrap_or_default();
        // The title already contains the command.
        self.input.retain(|one| one.kind != SnippetKind::Command || one.text != self.title);
        // These are the short arguments that are not in the title.
        let details: Vec<String> = titles.map(|text| excerpt(&text, TITLE_CHARACTERS)).collect();
        if !details.is_empty() {
            let text = details.join("\n");
            self.input.push(Snippet { kind: SnippetKind::Text, text });
        }
        if !others.is_empty() {
            self.input.push(Snippet { kind: SnippetKind::Json, text: pretty(&others) });
        }
    }
}

impl Snippet {
    /// Returns a text with its kind; `None` if it is empty.
    pub(super) fn of_output(text: &str) -> Option<Self> {
        let text = clean(text).into_owned();
        let kind = if is_diff(&text) { SnippetKind::Diff } else { SnippetKind::Text };
        (!text.trim().is_empty()).then_some(Self { kind, text })
    }
}

/// Returns a text, or the texts of a list with spaces between them.
fn words(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?;
    match Kind::from(raw) {
        Kind::String => Some(json::words(raw).into_owned()),
        Kind::Array => {
            let words = json::elements(raw).ok()?;
            let are_texts = words.iter().all(|word| Kind::from(*word) == Kind::String);
            let words: Vec<_> = words.into_iter().map(json::words).collect();
            (are_texts && !words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    }
}

/// Returns the removed and added lines of a change, without equal lines at its start and end.
fn change(old: &str, new: &str) -> String {
    let (old, new) = (clean(old), clean(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest);
    let end = end.take_while(|(old, new)| old == new).count();
    let mut text = String::new();
    let mut push = |sign: char, lines: &[&str]| {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    };
    push(' ', old.get(..start).unwrap_or_default());
    push('-', old.get(start..old.len() - end).unwrap_or_default());
    push('+', new.get(start..new.len() - end).unwrap_or_default());
    push(' ', old.get(old.len() - end..).unwrap_or_default());
    text
}

/// Returns whether a text is a patch, in the format of `diff`, of `git` or of Codex.
fn is_diff(text: &str) -> bool {
    let start = text.trim_start();
    if ["diff --git ", "*** Begin Patch", "@@ -"].iter().any(|mark| start.starts_with(mark)) {
        return true;
    }
    let lines = text.lines().take(10);
    lines
        .clone()
        .zip(lines.skip(1))
        .any(|(old, new)| old.starts_with("--- ") && new.starts_with("+++ "))
}

/// Returns fields as JSON with line breaks.
fn pretty<N: AsRef<str>>(fields: &[(N, &RawValue)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            let value = serde_json::from_str::<serde_json::Value>(value.get());
            let value = value.and_then(|value| serde_json::to_string_pretty(&value));
            let value = value.unwrap_or_default().replace('\n', "\n  ");
            format!("  {}: {value}", Json::text(name.as_ref()).as_str())
        })
        .collect();
    clean(&format!("{{\n{}\n}}", fields.join(",\n"))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> Call {
        Call::new("1", "tool", &Json::parse(arguments).unwrap(), None)
    }

    fn shown(arguments: &str) -> String {
        let call = call(arguments);
        let input = call.input.iter().map(|snippet| format!("{:?}:{}", snippet.kind, snippet.text));
        format!("{} | {}", call.title, input.collect::<Vec<_>>().join(" | "))
    }

    #[test]
    fn a_command_is_its_title_and_a_command() {
        assert_eq!(shown(r#"{"command":"ls -l\ncd"}"#), "ls -l cd | Command:ls -l\ncd");
        assert_eq!(
            shown(r#"{"command":["ls","-l"],"timeout":5}"#),
            "ls -l | Json:{\n  \"timeout\": 5\n}"
        );
    }

    #[test]
    fn a_change_is_a_diff() {
        assert_eq!(
            shown(r#"{"file_path":"a.rs","old_string":"a\nb\nc","new_string":"a\nx\nc"}"#),
            "a.rs | Diff: a\n-b\n+x\n c\n"
        );
        assert_eq!(shown(r#"{"path":"a","old_str":"same","new_str":"same"}"#), "a | Diff: same\n");
    }

    #[test]
    fn a_patch_is_a_diff_and_a_file_is_text() {
        let patch = r#"{"input":"*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"}"#;
        assert!(shown(patch).starts_with(" | Diff:*** Begin"), "{}", shown(patch));
        assert_eq!(shown(r#"{"path":"a","content":"b"}"#), "a | Text:b");
        assert!(is_diff("--- a\n+++ b\n@@ -1 +1 @@\n") && !is_diff("---\n+++\n"));
    }

    #[test]
    fn other_arguments_are_json() {
        assert_eq!(
            shown(r#"{"a":{"b":[1]}}"#),
            " | Json:{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}"
        );
        assert_eq!(shown("null"), " | ");
        assert_eq!(shown(r#""words""#), "words | Text:words");
    }
}
