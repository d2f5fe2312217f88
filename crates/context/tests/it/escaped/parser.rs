//! Parses an escaped prompt, knowing only one rule: lines at the left margin are the program's, all others are
//! content. Calls no code of the crate.

/// The content that a reader finds in a prompt.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parsed {
    pub(super) system: String,
    pub(super) task: String,
    pub(super) items: Vec<Item>,
    /// The sender and the text after the name.
    pub(super) sender: Option<(String, String)>,
    pub(super) message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) label: Label,
    pub(super) content: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Label {
    /// `to` is `None` if the format does not show it, and empty for everybody.
    Speech {
        from: String,
        note: String,
        to: Option<Vec<String>>,
    },
    Summary(usize),
    Recalled {
        entry: String,
        from: String,
        note: String,
    },
    Titled(String),
}

/// All characters that may break a line.
pub(super) const BREAKS: [char; 10] =
    ['\n', '\u{b}', '\u{c}', '\r', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Returns the positions of lines that are neither empty nor indented.
pub(super) fn margins(text: &str) -> Vec<usize> {
    let after = text.char_indices().filter(|(_, letter)| BREAKS.contains(letter));
    let starts = [0].into_iter().chain(after.map(|(at, letter)| at + letter.len_utf8()));
    let is_margin = |at: &usize| {
        !text[*at..].is_empty()
            && !text[*at..].starts_with(BREAKS)
            && !text[*at..].starts_with("  ")
    };
    starts.filter(is_margin).collect()
}

/// Parses a prompt. The error is a line that the program did not write.
pub(super) fn parse(prompt: &str) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    let starts = margins(prompt);
    if starts.first().is_some_and(|first| *first > 0) {
        return Err("a prompt begins at the left margin".to_owned());
    }
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied();
        let chunk = &prompt[*start..end.unwrap_or(prompt.len())];
        // The separator before the next line of the program.
        let separator = match end.map(|end| prompt[end..].starts_with("- ")) {
            None => "",
            Some(true) => "\n",
            Some(false) => "\n\n",
        };
        let chunk = chunk.strip_suffix(separator).ok_or_else(|| chunk.to_owned())?;
        take(&mut parsed, chunk).ok_or_else(|| chunk.to_owned())?;
    }
    Ok(parsed)
}

fn take(parsed: &mut Parsed, chunk: &str) -> Option<()> {
    if let Some(item) = chunk.strip_prefix("- ") {
        let (label, content) = label(item)?;
        parsed.items.push(Item { label, content: unindented(content) });
        return Some(());
    }
    let (header, body) = chunk.split_once('\n').unwrap_or((chunk, ""));
    let body = unindented(&format!("\n{body}"))[1..].to_owned();
    match header {
        "[SYSTEM]" | "Instructions:" => parsed.system = body,
        "[TEAM_TASK]" | "Team Task:" => parsed.task = body,
        "[CONTEXT]" | "Conversation so far:" => return body.is_empty().then_some(()),
        "[MESSAGE]" | "Your task:" => parsed.message = body,
        header => {
            let bracketed = header.strip_prefix("[MESSAGE from ").and_then(|s| s.strip_suffix(']'));
            let worded = header.strip_prefix("Your task, from ").and_then(|s| s.strip_suffix(':'));
            let (name, note) = name(bracketed.or(worded)?)?;
            parsed.sender = Some((name, note.to_owned()));
            parsed.message = body;
        }
    }
    Some(())
}

/// Returns a text without the indents that were added to it.
fn unindented(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BREAKS) {
        let end = at + rest[at..].chars().next().map_or(0, char::len_utf8);
        plain.push_str(&rest[..end]);
        rest = rest[end..].strip_prefix("  ").unwrap_or(&rest[end..]);
    }
    plain + rest
}

/// Parses the label of an item; returns it with the content.
fn label(item: &str) -> Option<(Label, &str)> {
    if let Some(rest) = item.strip_prefix("[summary of ") {
        let (count, rest) = rest.split_once(' ')?;
        let (word, content) = rest.split_once("]: ")?;
        let count: usize = count.parse().ok()?;
        return (word == if count == 1 { "message" } else { "messages" })
            .then_some((Label::Summary(count), content));
    }
    if let Some(rest) = item.strip_prefix("[recalled ") {
        let (entry, rest) = if rest.starts_with('"') {
            name(rest)?
        } else {
            let end = rest.find(' ')?;
            (rest[..end].to_owned(), &rest[end..])
        };
        let (from, rest) = name(rest.strip_prefix(" from ")?)?;
        let (note, content) = rest.split_once("]: ")?;
        return Some((Label::Recalled { entry, from, note: note.to_owned() }, content));
    }
    if let Some(rest) = item.strip_prefix("[answer ") {
        let (title, content) = rest.split_once("]: ")?;
        return Some((Label::Titled(format!("answer {title}")), content));
    }
    let (from, rest) = name(item)?;
    let (note, rest) = match rest.starts_with(" (") {
        true => rest.split_at(rest.find(')')? + 1),
        false => ("", rest),
    };
    let (to, content) = match rest.strip_prefix(" -> ") {
        None => (None, rest.strip_prefix(": ")?),
        Some(rest) => match rest.strip_prefix("all: ") {
            Some(content) => (Some(Vec::new()), content),
            None => names(rest).map(|(names, content)| (Some(names), content))?,
        },
    };
    Some((Label::Speech { from, note: note.to_owned(), to }, content))
}

/// Parses names with commas between them, up to a colon.
fn names(text: &str) -> Option<(Vec<String>, &str)> {
    let (first, mut rest) = name(text)?;
    let mut names = vec![first];
    while let Some(more) = rest.strip_prefix(", ") {
        let (next, behind) = name(more)?;
        names.push(next);
        rest = behind;
    }
    Some((names, rest.strip_prefix(": ")?))
}

/// Parses a name; returns it with the text after it.
fn name(text: &str) -> Option<(String, &str)> {
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = values.next()?.ok()?;
        return Some((name, &text[values.byte_offset()..]));
    }
    let ends = [" (", " -> ", ": ", ", ", "]"];
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let is_plain = end > 0 && !text[..end].contains(['"', ':', '[', ']', '(', ')', '>', ',', '@']);
    is_plain.then(|| (text[..end].to_owned(), &text[end..]))
}
