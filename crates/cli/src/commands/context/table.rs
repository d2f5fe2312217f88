//! The table of `tertulia context --explain`: how large each section is, what became of every
//! message, and why.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;

use tertulia_chat::terminal::{excerpt, grouped};
use tertulia_context::{
    AgentType, DropReason, Explanation, Fate, Prompt, PromptStatus, Section, SectionBytes, Verdict,
};
use tertulia_operations::names::short;
use tertulia_operations::session_file::name_of;
use tertulia_session::{ConversationMessage, Message};

use crate::commands::drawing::{Paint, bar, padded, share};

type MessageVerdict<'m> = Verdict<&'m Arc<ConversationMessage>>;

const NAME_COLUMNS: usize = 16;
const EXCERPT_COLUMNS: usize = 36;

/// Writes the table of a snapshot.
pub(super) fn write(
    out: &mut dyn Write,
    budget: u64,
    prompt: &Prompt<'_>,
    explanation: &Explanation<'_>,
    paint: &Paint,
) -> io::Result<()> {
    let agent = shown_type(explanation.assembler().agent_type());
    write_head(out, agent, Some(budget), prompt.status(), prompt.bytes().total(), paint)?;
    write_sections(out, prompt.bytes(), prompt.flag_bytes() > 0, paint)?;
    write_messages(out, explanation, paint)
}

/// The name of an agent's format.
pub(super) fn shown_type(agent: &AgentType) -> &str {
    match agent {
        AgentType::Other(_) => "plain text",
        known => known.as_str(),
    }
}

/// Writes whose prompt it is, how large it is and what that means.
pub(super) fn write_head(
    out: &mut dyn Write,
    title: &str,
    budget: Option<u64>,
    status: PromptStatus,
    total: usize,
    paint: &Paint,
) -> io::Result<()> {
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
    writeln!(out, "{}  {}{of} bytes  {status}\n", paint.strong(title), grouped(total as u64))
}

/// Writes how large each section is. `is_apart`: the system text is no part of the prompt.
pub(super) fn write_sections(
    out: &mut dyn Write,
    bytes: SectionBytes,
    is_apart: bool,
    paint: &Paint,
) -> io::Result<()> {
    let total = bytes.total();
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

fn write_messages(
    out: &mut dyn Write,
    explanation: &Explanation<'_>,
    paint: &Paint,
) -> io::Result<()> {
    let mut verdicts = explanation.verdicts().peekable();
    if verdicts.peek().is_none() {
        return writeln!(out, "No messages in this conversation.");
    }
    write_titles(out, paint)?;
    while let Some(verdict) = verdicts.next() {
        // A conversation may be long: what lies before the window is one line.
        if let Fate::Dropped { reason: DropReason::OutsideWindow { behind } } = verdict.fate {
            let mut last = &verdict;
            let next;
            if behind > 1 {
                next = verdicts.by_ref().nth(behind - 2);
                last = next.as_ref().unwrap_or(&verdict);
            }
            write_outside(out, &verdict, last, behind, paint)?;
        } else {
            write_row(out, (&verdict.entry.id, &verdict.entry.message), &verdict.fate, paint)?;
        }
    }
    Ok(())
}

/// Writes what the columns of messages are.
pub(super) fn write_titles(out: &mut dyn Write, paint: &Paint) -> io::Result<()> {
    let titles = format!(
        "{:<10} {} {} {:>12}  became",
        "message",
        padded("from", NAME_COLUMNS),
        padded("begins", EXCERPT_COLUMNS),
        "bytes"
    );
    writeln!(out, "{}", paint.faint(&titles))
}

fn write_outside(
    out: &mut dyn Write,
    first: &MessageVerdict<'_>,
    last: &MessageVerdict<'_>,
    count: usize,
    paint: &Paint,
) -> io::Result<()> {
    let ids = if count == 1 {
        shown_id(&first.entry.id, 24)
    } else {
        let [first, last] = [first, last].map(|one| shown_id(&one.entry.id, 24));
        format!("{first} … {last}")
    };
    let noun = if count == 1 { "message" } else { "messages" };
    let line = format!("{ids}  {} {noun} before the window", grouped(count as u64));
    writeln!(out, "{}", paint.faint(&line))
}

/// Writes what became of a message.
pub(super) fn write_row(
    out: &mut dyn Write,
    (id, message): (&dyn Display, &Message),
    fate: &Fate,
    paint: &Paint,
) -> io::Result<()> {
    let from = name_of(message);
    let (bytes, became) = match fate {
        Fate::Kept => (None, paint.good("sent as it is")),
        Fate::InPrompt { section: Section::Context, bytes } => {
            (Some(*bytes), paint.good("in the context"))
        }
        Fate::InPrompt { section: Section::Message, bytes } => {
            (Some(*bytes), paint.good("the message to answer"))
        }
        Fate::Truncated { kept_bytes, bytes } => {
            let left_out = grouped((bytes - kept_bytes) as u64);
            (Some(*kept_bytes), paint.bad(&format!("cut: {left_out} bytes over the budget")))
        }
        Fate::Dropped { reason: DropReason::OverBudget { bytes } } => {
            (Some(*bytes), paint.warning("left out: over the budget"))
        }
        Fate::Dropped { reason: DropReason::Duplicate { of } } => {
            (None, paint.warning(&format!("left out: same as {}", shown_id(of, 24))))
        }
        Fate::Dropped { reason: DropReason::Empty } => {
            (None, paint.warning("left out: empty without markers"))
        }
        fate => (None, paint.faint(fate.as_str())),
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

/// An id in the short form that can be typed back; of one that others made, the beginning.
fn shown_id(id: &dyn Display, columns: usize) -> String {
    excerpt(&short(&id.to_string()), columns)
}
