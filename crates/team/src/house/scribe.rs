//! The scribe: a summary of the session so far, from what was said and nothing else.

use std::borrow::Cow;

use tertulia_context::compact::{Covered, SummaryTask, extract, has_points, short_id};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::{Message, Part, PartKind};

use tertulia_agent::agents::AgentDefinition;

use super::Answer;

use crate::message::kept_ranges;

/// The scribe, as a team file names it.
pub const SCRIBE: &AgentDefinition =
    &AgentDefinition::built_in("scribe", "writes a summary of this conversation", &[]);

const TOKENS_MAX: u64 = 2_000;
/// So long they may be however little was said.
const TOKENS_MIN: u64 = 400;
/// They have so many hundredths of what was said at most, names included: minutes as long as the talk help nobody.
const SHARE: u64 = 70;
/// The section that a model looks things up in. People read minutes, and a list of names tells them nothing.
const NAMES: &str = "## Names";
/// About so many bytes are a token.
const TOKEN_BYTES: u64 = 4;

const NOTHING: &str = "Nothing was decided yet.";
const WHAT_FOR: &str = "I summarise this session; ask me again when more was said.";
/// The same for a team without agents.
const NO_AGENTS: &str = "There is no agent in this team who could answer. Add one to the team file; `tertulia \
    doctor` shows which are installed on this machine.";
/// The same where there is no team file.
const NO_FILE: &str = "There is no agent in this team who could answer. `tertulia init` creates a team file \
    with the agents installed on this machine; `tertulia doctor` shows which are installed.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colleagues {
    Agents,
    /// Nobody, and the team has a file.
    NoAgents,
    /// Nobody, and there is no team file.
    NoFile,
}

/// What is said where nothing was decided. `asked`: the requests, if there are others than the one for a summary.
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

/// Summarises these messages, oldest first, the one that asks for it aside. `is_alone`: that one is all there is.
pub(crate) fn write_minutes(
    said: &[Covered<'_>],
    is_alone: bool,
    colleagues: Colleagues,
) -> Answer {
    // Markers are for the router, and minutes that hold one would route.
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
    let minutes = without_names(&extract(&task));
    if minutes.trim().is_empty() {
        return Answer::plain(nothing_decided(None, colleagues));
    }
    // A line names the entry that it is from. One that does not may be from any of them.
    let is_cited =
        |line: &str| line.is_empty() || line.starts_with("## ") || line.starts_with("- [");
    let all_cited = minutes.lines().all(is_cited);
    let is_source =
        |one: &&Covered<'_>| !all_cited || minutes.contains(&format!("[{}]", short_id(one.entry)));
    let sources = said.iter().filter(is_source).map(|one| (None, one.entry.clone())).collect();
    let text = match has_points {
        true => super::quiet(&minutes),
        false => nothing_decided(Some(&super::quiet(&minutes)), colleagues),
    };
    Answer { text, sources }
}

/// The minutes without the list of names. Every line of a section is one line, so a heading is one.
fn without_names(minutes: &str) -> String {
    let mut is_names = false;
    let kept = minutes.split_inclusive('\n').filter(|line| {
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

/// A message without what it says to the router. Whatever else it holds stays.
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
