//! The scribe: summarises the session so far, from its messages alone.

use std::borrow::Cow;

use tertulia_context::compact::{Covered, SummaryTask, extract, has_points, short_id};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::{Message, Part, PartKind};

use tertulia_agent::agents::AgentDefinition;

use super::Answer;

use crate::message::kept_ranges;

/// Definition of the scribe for team files.
pub const SCRIBE: &AgentDefinition =
    &AgentDefinition::built_in("scribe", "writes a summary of this conversation", &[]);

const TOKENS_MAX: u64 = 2_000;
/// Minimum token limit of a summary. It applies to short sessions.
const TOKENS_MIN: u64 = 400;
/// Maximum size as a percentage of the messages, names included. A summary as long as the conversation is useless.
const SHARE: u64 = 70;
/// The section of names, which is only useful to a model.
const NAMES: &str = "## Names";
/// Approximate number of bytes per token.
const TOKEN_BYTES: u64 = 4;

const NOTHING: &str = "Nothing was decided yet.";
const WHAT_FOR: &str = "I summarise this session; ask me again when there are more messages.";
/// Hint for a team without agents.
const NO_AGENTS: &str = "No agent in this team can answer. Add an agent to the team file; \
    `tertulia doctor` shows which are installed on this machine.";
/// Hint if there is no team file.
const NO_FILE: &str = "No agent in this team can answer. `tertulia init` creates a team file \
    with the agents installed on this machine; `tertulia doctor` shows which are installed.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colleagues {
    Agents,
    /// No agents, and the team has a file.
    NoAgents,
    /// No agents, and there is no team file.
    NoFile,
}

/// Returns the answer for a session without decisions. `asked` contains the requests, if there are others than the
/// one for a summary.
fn nothing_decided(asked: Option<&str>, colleagues: Colleagues) -> String {
    let hint = match colleagues {
        Colleagues::Agents => WHAT_FOR,
        Colleagues::NoAgents => NO_AGENTS,
        Colleagues::NoFile => NO_FILE,
    };
    match asked {
        Some(asked) => format!("{NOTHING}\n\n{}\n\n{hint}", asked.trim_end()),
        None => format!("{NOTHING} {hint}"),
    }
}

/// Summarises these messages, oldest first. They do not include the request itself. `is_alone`: the request is the
/// only message of the session.
pub(crate) fn summarise(said: &[Covered<'_>], is_alone: bool, colleagues: Colleagues) -> Answer {
    // A marker in the summary would address members.
    let clean: Vec<Cow<'_, Message>> =
        said.iter().map(|one| without_markers(one.message)).collect();
    let covered: Vec<Covered<'_>> = said
        .iter()
        .zip(&clean)
        .map(|(one, message)| Covered { entry: one.entry, message })
        .collect();
    let has_points = has_points(&covered);
    if is_alone && !has_points {
        return Answer::plain(nothing_decided(None, colleagues));
    }
    let tokenizer = Tokenizer::Claude;
    let task = SummaryTask {
        previous: None,
        covered: &covered,
        max_tokens: tokens_for(&clean),
        tokenizer: &tokenizer,
    };
    let summary = without_names(&extract(&task));
    if summary.trim().is_empty() {
        return Answer::plain(nothing_decided(None, colleagues));
    }
    // Lines with a source name it in brackets. A line without one may come from any entry.
    let is_cited =
        |line: &str| line.is_empty() || line.starts_with("## ") || line.starts_with("- [");
    let all_cited = summary.lines().all(is_cited);
    let is_source =
        |one: &&Covered<'_>| !all_cited || summary.contains(&format!("[{}]", short_id(one.entry)));
    let sources = said.iter().filter(is_source).map(|one| (None, one.entry.clone())).collect();
    let text = match has_points {
        true => super::quiet(&summary),
        false => nothing_decided(Some(&super::quiet(&summary)), colleagues),
    };
    Answer { text, sources }
}

/// Removes the section of names. Every item has only one line, so a line that looks like a heading is one.
fn without_names(summary: &str) -> String {
    let mut is_names = false;
    let kept = summary.split_inclusive('\n').filter(|line| {
        if line.starts_with("## ") {
            is_names = line.trim_end() == NAMES;
        }
        !is_names
    });
    kept.collect()
}

fn tokens_for(said: &[Cow<'_, Message>]) -> u64 {
    let bytes: u64 = said.iter().map(|message| message.text().len() as u64).sum();
    (bytes / TOKEN_BYTES * SHARE / 100).clamp(TOKENS_MIN, TOKENS_MAX)
}

fn without(text: &str) -> String {
    kept_ranges(text).into_iter().filter_map(|range| text.get(range)).collect()
}

/// Removes the markers from a message, and nothing else.
pub(crate) fn without_markers(message: &Message) -> Cow<'_, Message> {
    let is_clean = |part: &Part| match &part.kind {
        PartKind::Text(text) => without(text).len() == text.len(),
        _ => true,
    };
    if message.parts.iter().all(is_clean) {
        return Cow::Borrowed(message);
    }
    let clean = |part: &Part| match &part.kind {
        PartKind::Text(text) => Part::text(without(text)),
        _ => part.clone(),
    };
    let parts = message.parts.iter().map(clean).collect();
    Cow::Owned(Message { parts, ..message.clone() })
}
