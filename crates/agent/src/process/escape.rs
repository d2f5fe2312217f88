//! Escapes a prompt so that the agent's program does not interpret it. Claude Code and Gemini CLI replace `@path` by
//! the content of the file, and run a prompt that begins with `/` as a command. Agents of the Agent Client Protocol
//! run commands too. Messages between members must cause neither. A backslash before the character prevents both:
//! `\@notes.md`, `\/compact`. The programs differ in how a path may begin. So an `@` stays unescaped only where none
//! of them can read a path, or where [`Mentions`] allows it. The tests contain the rules of the programs.

use std::borrow::Cow;

use super::mentions::Mentions;
use super::with_system_text;
use crate::agents::{AgentDefinition, SystemText};
use crate::{AgentSpec, TurnRequest};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptSyntax {
    /// Expands `@` at the start of a word, so `ann@example.org` does not change.
    Claude,
    /// Expands `@` anywhere, even in an address, and searches for files with similar names.
    Gemini,
    /// An agent of the Agent Client Protocol: files are separate parts there, so `@` is text. A
    /// prompt that begins with `/` or, for Gemini CLI, with `$` is a command.
    Acp,
    /// Runs a prompt that begins with `/` as a command, and reads `@` as text.
    Commands,
    Plain,
}

/// One change to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Inserts a backslash before the byte at this offset.
    Escape(usize),
    /// Removes the `@` at this offset.
    DropSign(usize),
}

impl Edit {
    /// Returns the offset of the byte.
    pub fn at(self) -> usize {
        match self {
            Self::Escape(at) | Self::DropSign(at) => at,
        }
    }
}

pub(crate) fn edits(text: &str, syntax: PromptSyntax, mentions: &Mentions) -> Vec<Edit> {
    let command = command_at(text, syntax).map(Edit::Escape);
    let signs = text.match_indices('@').map(|(at, _)| at);
    let risky = signs.filter(|at| is_mention(text, *at, syntax) && !mentions.keeps(*at));
    let signs = risky.map(|at| match mentions.drops(at) {
        true => Edit::DropSign(at),
        false => Edit::Escape(at),
    });
    // The command comes first, because only spaces can precede it.
    command.into_iter().chain(signs).collect()
}

/// Returns the text with these changes applied.
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

/// Returns the offset of a command. The programs trim the text first, and each has its own definition of a space.
/// Therefore all invisible characters are skipped.
fn command_at(text: &str, syntax: PromptSyntax) -> Option<usize> {
    let is_space =
        |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\u{feff}';
    let first = text.trim_start_matches(is_space);
    let is_command = match syntax {
        PromptSyntax::Claude | PromptSyntax::Gemini | PromptSyntax::Commands => {
            first.starts_with('/')
        }
        PromptSyntax::Acp => first.starts_with(['/', '$']),
        PromptSyntax::Plain => false,
    };
    is_command.then_some(text.len() - first.len())
}

pub(super) fn is_mention(text: &str, at: usize, syntax: PromptSyntax) -> bool {
    let (before, after) = text.split_at(at);
    let previous = before.chars().next_back();
    let Some(next) = after.chars().nth(1) else { return false };
    // In one of the programs, other spaces, brackets and commas can begin a path.
    let goes_on = !matches!(next, ' ' | '\t' | '\r' | '\n');
    let is_free = match (syntax, previous) {
        (PromptSyntax::Acp | PromptSyntax::Commands | PromptSyntax::Plain, _) | (_, Some('\\')) => {
            false
        }
        (PromptSyntax::Claude, Some(previous)) => !previous.is_alphanumeric() && previous != '_',
        (PromptSyntax::Claude, None) | (PromptSyntax::Gemini, _) => true,
    };
    goes_on && is_free
}

/// Returns the text that the agent gets on its standard input, or as its prompt.
pub fn sent_prompt(spec: &AgentSpec, request: &TurnRequest<'_>) -> String {
    let prompt = request.prompt;
    // A session that is continued contains the system text.
    let system = request.system.filter(|_| request.memory.head().is_none());
    let text = match spec.kind.definition().system_text {
        SystemText::Separate => prompt.to_owned(),
        SystemText::InFront => with_system_text(system, prompt),
        SystemText::Instructions => match system.filter(|system| !system.trim().is_empty()) {
            Some(system) => {
                format!("<instructions>\n{}\n</instructions>\n\n{prompt}", system.trim_end())
            }
            None => prompt.to_owned(),
        },
    };
    let mentions = request.mentions.shifted_by(text.len() - prompt.len());
    apply(&text, &edits(&text, prompt_syntax(spec), &mentions)).into_owned()
}

/// Returns the changes to a prompt without a system text in front.
pub fn prompt_edits(spec: &AgentSpec, prompt: &str, mentions: &Mentions) -> Vec<Edit> {
    edits(prompt, prompt_syntax(spec), mentions)
}

/// Returns the syntax that applies to the prompt. An adapter for the Agent Client Protocol may pass the prompt to a
/// program that interprets it. The adapter itself may be started by another program (`npx …/claude-agent-acp`).
pub(crate) fn prompt_syntax(spec: &AgentSpec) -> PromptSyntax {
    let syntax = spec.kind.definition().prompt_syntax;
    if syntax != PromptSyntax::Acp {
        return syntax;
    }
    let adapters = spec.program.iter().chain(&spec.args).filter_map(|word| {
        let cli = AgentDefinition::for_adapter(word)?.cli.as_ref()?;
        cli.adapter.map(|(_, syntax)| syntax)
    });
    adapters.into_iter().find(|adapter| *adapter != syntax).unwrap_or(syntax)
}

#[cfg(test)]
mod tests;
