//! Makes a prompt inert. Claude Code and Gemini CLI replace `@path` in a prompt by what is in the file, and run a prompt
//! that begins with `/` as one of their own commands; so do agents of the Agent Client Protocol. What members say to each
//! other must do neither. A backslash in front stops both: `\@notes.md`, `\/compact`. What a path may begin with differs
//! between the programs, so nothing is guessed: an `@` stays only where none of them can read on, or where [`Mentions`]
//! found that it may. The rules of the programs stand in the tests.

use std::borrow::Cow;

use super::headed;
use super::mentions::Mentions;
use crate::agents::{AgentDefinition, SystemText};
use crate::{AgentSpec, TurnRequest};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It expands `@` at the start of a word, so `ann@example.org` stays as it is.
    Claude,
    /// It expands `@` anywhere, in an address too, and looks for files that are named alike.
    Gemini,
    /// An agent of the Agent Client Protocol: files are parts of their own there, so `@` is text. One that
    /// begins with `/` or, for Gemini CLI, with `$` is a command.
    Acp,
    /// It runs a prompt that begins with `/` as a command, and takes `@` for text.
    Commands,
    Plain,
}

/// One change that makes a prompt inert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A backslash goes in front of the byte at this place.
    Escape(usize),
    /// The `@` at this place is left out.
    DropSign(usize),
}

impl Edit {
    /// The byte that it concerns.
    pub fn at(self) -> usize {
        match self {
            Self::Escape(at) | Self::DropSign(at) => at,
        }
    }
}

pub(crate) fn edits(text: &str, reader: Reader, mentions: &Mentions) -> Vec<Edit> {
    let command = command_at(text, reader).map(Edit::Escape);
    let signs = text.match_indices('@').map(|(at, _)| at);
    let risky = signs.filter(|at| is_mention(text, *at, reader) && !mentions.keeps(*at));
    let signs = risky.map(|at| match mentions.drops(at) {
        true => Edit::DropSign(at),
        false => Edit::Escape(at),
    });
    // The command is before every mention: what stands in front of it is blank.
    command.into_iter().chain(signs).collect()
}

/// The text with these changes.
pub fn apply<'t>(text: &'t str, edits: &[Edit]) -> Cow<'t, str> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + edits.len());
    let mut from = 0;
    for edit in edits {
        safe.push_str(text.get(from..edit.at()).unwrap_or_default());
        from = match edit {
            Edit::Escape(at) => {
                safe.push('\\');
                *at
            }
            Edit::DropSign(at) => at + 1,
        };
    }
    safe.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(safe)
}

/// Where a command begins. The programs trim the text before they look, and each takes other letters for
/// blank than we do: all that cannot be seen is passed over.
fn command_at(text: &str, reader: Reader) -> Option<usize> {
    let is_blank =
        |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\u{feff}';
    let first = text.trim_start_matches(is_blank);
    let is_command = match reader {
        Reader::Claude | Reader::Gemini | Reader::Commands => first.starts_with('/'),
        Reader::Acp => first.starts_with(['/', '$']),
        Reader::Plain => false,
    };
    is_command.then_some(text.len() - first.len())
}

pub(super) fn is_mention(text: &str, at: usize, reader: Reader) -> bool {
    let (before, after) = text.split_at(at);
    let previous = before.chars().next_back();
    let Some(next) = after.chars().nth(1) else { return false };
    // Other blanks, brackets and commas are the beginning of a path in one program or the other.
    let goes_on = !matches!(next, ' ' | '\t' | '\r' | '\n');
    let is_free = match (reader, previous) {
        (Reader::Acp | Reader::Commands | Reader::Plain, _) | (_, Some('\\')) => false,
        (Reader::Claude, Some(previous)) => !previous.is_alphanumeric() && previous != '_',
        (Reader::Claude, None) | (Reader::Gemini, _) => true,
    };
    goes_on && is_free
}

/// The text that the agent gets on its standard input, or as its prompt.
pub fn sent_prompt(spec: &AgentSpec, request: &TurnRequest<'_>) -> String {
    let prompt = request.prompt;
    let text = match spec.kind.definition().system_text {
        SystemText::Separate => prompt.to_owned(),
        SystemText::InFront => headed(request.system, prompt),
        SystemText::Instructions => {
            match request.system.filter(|system| !system.trim().is_empty()) {
                Some(system) => {
                    format!("<instructions>\n{}\n</instructions>\n\n{prompt}", system.trim_end())
                }
                None => prompt.to_owned(),
            }
        }
    };
    let mentions = request.mentions.behind(text.len() - prompt.len());
    apply(&text, &edits(&text, reader_of(spec), &mentions)).into_owned()
}

/// What is changed in a prompt that has no system text in front of it.
pub fn prompt_edits(spec: &AgentSpec, prompt: &str, mentions: &Mentions) -> Vec<Edit> {
    edits(prompt, reader_of(spec), mentions)
}

/// Who reads the prompt. An adapter for the Agent Client Protocol may hand it to a program that interprets it; it
/// may be started by another program (`npx …/claude-agent-acp`).
pub(crate) fn reader_of(spec: &AgentSpec) -> Reader {
    let reader = spec.kind.definition().reader;
    if reader != Reader::Acp {
        return reader;
    }
    let adapters = spec.program.iter().chain(&spec.args).filter_map(|word| {
        let cli = AgentDefinition::of_adapter(word)?.cli.as_ref()?;
        cli.adapter.map(|(_, reader)| reader)
    });
    adapters.into_iter().find(|adapter| *adapter != reader).unwrap_or(reader)
}

#[cfg(test)]
mod tests;
