//! The output of `tertulia context --explain`: the size of each section, and the outcome of every message. A table
//! for people, JSON for programs.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tertulia_chat::terminal::{counted, excerpt, grouped};
use tertulia_context::record::PromptRecord;
use tertulia_context::{
    AgentType, DropReason, Explanation, Outcome, Prompt, PromptStatus, Section, SectionBytes,
};
use tertulia_operations::names::short;
use tertulia_operations::session_file::name_of;
use tertulia_session::Message;

use crate::commands::drawing::{Paint, bar, padded, share};

const NAME_COLUMNS: usize = 16;
const EXCERPT_COLUMNS: usize = 36;

/// The stream and colours of a table.
pub(in crate::commands) struct Sheet<'a> {
    pub(in crate::commands) out: &'a mut dyn Write,
    pub(in crate::commands) paint: &'a Paint,
}

/// Writes the table of a snapshot.
pub(super) fn write(
    to: &mut Sheet<'_>,
    budget: u64,
    prompt: &Prompt<'_>,
    explanation: &Explanation<'_>,
) -> io::Result<()> {
    let agent = shown_type(explanation.assembler().agent_type());
    let is_apart = prompt.flag_bytes() > 0;
    write_sizes(to, agent, Some(budget), prompt.status(), (prompt.bytes(), is_apart))?;
    write_messages(to, explanation)
}

pub(super) fn shown_type(agent: &AgentType) -> &str {
    match agent {
        AgentType::Other(_) => "plain text",
        known => known.as_str(),
    }
}

/// Writes the total size and the size of each section. `is_apart`: the system text is not part of the prompt.
pub(super) fn write_sizes(
    Sheet { out, paint }: &mut Sheet<'_>,
    title: &str,
    budget: Option<u64>,
    status: PromptStatus,
    (bytes, is_apart): (SectionBytes, bool),
) -> io::Result<()> {
    let total = bytes.total();
    let status = match status {
        PromptStatus::Fits => paint.good("everything fits"),
        PromptStatus::ContextTrimmed => paint.warning("older messages left out"),
        PromptStatus::MessageTruncated => paint.bad("the newest message is cut"),
        PromptStatus::MessageDropped => paint.bad("the newest message does not fit"),
        PromptStatus::OverBudget => {
            paint.bad("system text and team task alone are over the budget")
        }
    };
    let of = budget.map(|budget| format!(" of {}", grouped(budget))).unwrap_or_default();
    writeln!(out, "{}  {}{of} bytes  {status}\n", paint.strong(title), grouped(total as u64))?;
    let rows = [
        (if is_apart { "system (apart)" } else { "system" }, bytes.system),
        ("team task", bytes.team_task),
        ("context", bytes.context),
        ("message", bytes.message),
        ("blank lines", bytes.separators),
    ];
    writeln!(out, "{}", paint.faint(&format!("{:<14} {:>12}", "section", "bytes")))?;
    for (name, size) in rows {
        let bar = bar(size, total);
        writeln!(out, "{name:<14} {:>12}  {:>5}  {bar}", grouped(size as u64), share(size, total))?;
    }
    writeln!(out)
}

fn write_messages(to: &mut Sheet<'_>, explanation: &Explanation<'_>) -> io::Result<()> {
    let mut verdicts = explanation.verdicts().peekable();
    if verdicts.peek().is_none() {
        return writeln!(to.out, "No messages in this conversation.");
    }
    write_titles(to)?;
    while let Some(verdict) = verdicts.next() {
        // A conversation can be long, so one line represents all messages before the window.
        if let Outcome::Dropped { reason: DropReason::OutsideWindow { behind } } = verdict.outcome {
            let first = shown_id(&verdict.entry.id, 24);
            let last = (behind > 1).then(|| verdicts.by_ref().nth(behind - 2)).flatten();
            let ids = match last {
                Some(last) => format!("{first} … {}", shown_id(&last.entry.id, 24)),
                None => first,
            };
            let messages = counted(behind as u64, "message", "messages");
            let line = format!("{ids}  {messages} before the window");
            writeln!(to.out, "{}", to.paint.faint(&line))?;
        } else {
            write_row(to, (&verdict.entry.id, &verdict.entry.message), &verdict.outcome)?;
        }
    }
    Ok(())
}

pub(super) fn write_titles(to: &mut Sheet<'_>) -> io::Result<()> {
    let titles = format!(
        "{:<10} {} {} {:>12}  outcome",
        "message",
        padded("from", NAME_COLUMNS),
        padded("text", EXCERPT_COLUMNS),
        "bytes"
    );
    writeln!(to.out, "{}", to.paint.faint(&titles))
}

pub(super) fn write_row(
    Sheet { out, paint }: &mut Sheet<'_>,
    (id, message): (&dyn Display, &Message),
    outcome: &Outcome,
) -> io::Result<()> {
    let from = name_of(message);
    let (bytes, became) = match outcome {
        Outcome::Kept => (None, paint.good("sent as it is")),
        Outcome::InPrompt { section: Section::Context, bytes } => {
            (Some(*bytes), paint.good("in the context"))
        }
        Outcome::InPrompt { section: Section::Message, bytes } => {
            (Some(*bytes), paint.good("the message to answer"))
        }
        Outcome::Truncated { kept_bytes, bytes } => {
            let left_out = grouped((bytes - kept_bytes) as u64);
            (Some(*kept_bytes), paint.bad(&format!("cut: {left_out} bytes over the budget")))
        }
        Outcome::Dropped { reason: DropReason::OverBudget { bytes } } => {
            (Some(*bytes), paint.warning("left out: over the budget"))
        }
        Outcome::Dropped { reason: DropReason::Duplicate { of } } => {
            (None, paint.warning(&format!("left out: same as {}", shown_id(of, 24))))
        }
        Outcome::Dropped { reason: DropReason::Empty } => {
            (None, paint.warning("left out: empty without markers"))
        }
        outcome => (None, paint.faint(outcome.as_str())),
    };
    writeln!(
        out,
        "{} {} {} {:>12}  {became}",
        padded(&shown_id(id, 10), 10),
        padded(&excerpt(from, NAME_COLUMNS), NAME_COLUMNS),
        padded(&excerpt(&message.text(), EXCERPT_COLUMNS), EXCERPT_COLUMNS),
        bytes.map_or_else(|| "–".to_owned(), |bytes| grouped(bytes as u64)),
    )
}

/// Returns an ID in the short form that can be typed, or the beginning of a foreign ID.
fn shown_id(id: &dyn Display, columns: usize) -> String {
    excerpt(&short(&id.to_string()), columns)
}

/// The output of `tertulia context --json`.
#[derive(Serialize)]
pub(super) struct ContextRecord<'a> {
    #[serde(flatten)]
    pub(super) prompt: PromptRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdicts: Option<Vec<VerdictRecord<'a>>>,
}

pub(super) struct VerdictRecord<'a> {
    pub(super) id: &'a dyn Display,
    pub(super) outcome: &'a Outcome,
}

impl Serialize for VerdictRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id.to_string())?;
        let outcome = self.outcome;
        // For a dropped message, the word is the reason.
        let word = match outcome {
            Outcome::Dropped { reason } => reason.as_str(),
            outcome => outcome.as_str(),
        };
        map.serialize_entry("verdict", word)?;
        match outcome {
            Outcome::InPrompt { section, bytes } => {
                let section = match section {
                    Section::Context => "context",
                    Section::Message => "message",
                };
                map.serialize_entry("section", section)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Outcome::Truncated { kept_bytes, bytes } => {
                map.serialize_entry("keptBytes", kept_bytes)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Outcome::Dropped { reason: DropReason::OutsideWindow { behind } } => {
                map.serialize_entry("behind", behind)?;
            }
            Outcome::Dropped { reason: DropReason::Duplicate { of } } => {
                map.serialize_entry("of", &of.to_string())?;
            }
            Outcome::Dropped { reason: DropReason::OverBudget { bytes } } => {
                map.serialize_entry("bytes", bytes)?;
            }
            _ => {}
        }
        map.end()
    }
}
