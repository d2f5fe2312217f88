//! Entries for people: the day, the time, who, and what was said. Every text passes through
//! [`tertulia_chat::terminal`], so nothing that an agent wrote can steer the terminal.

use std::io::{self, Write};

use tertulia_chat::terminal::{excerpt, visible};
use tertulia_chat::{Figures, narrate};
use tertulia_operations::names::short;
use tertulia_operations::session_file::name_of;
use tertulia_session::{
    Entry, EntryKind, Message, Part, PartKind, Timestamp, TurnActivity, Usage, json,
};
use tertulia_store::StoredEntry;
use tertulia_team::is_partial;

use crate::clock::LocalTime;
use crate::commands::drawing::Paint;

const NAME_COLUMNS: usize = 40;
const ID_COLUMNS: usize = 80;
/// How much is shown of what is no text: calls, results, thinking, settings.
const LINE_COLUMNS: usize = 88;

/// Writes entries; remembers the day that was named last.
pub(super) struct Transcript {
    paint: Paint,
    local: LocalTime,
    day: String,
}

impl Transcript {
    pub(super) fn new(paint: Paint, local: LocalTime) -> Self {
        Self { paint, local, day: String::new() }
    }

    pub(super) fn write(&mut self, out: &mut dyn Write, stored: &StoredEntry) -> io::Result<()> {
        let entry = &stored.entry;
        let (day, time) = self.local.day_and_time(moment(stored));
        if day != self.day {
            writeln!(out, "{}", self.paint.faint(&format!("── {day} ──")))?;
            self.day = day;
        }
        let time = self.paint.faint(&time);
        let id = self.paint.faint(&excerpt(&short(entry.id.as_str()), ID_COLUMNS));
        let EntryKind::Message(message) = &entry.kind else {
            return writeln!(out, "{time} {}  {id}", self.said(entry));
        };
        let name = self.paint.strong(&excerpt(name_of(message), NAME_COLUMNS));
        let cut = if is_partial(entry) { " (cut off)" } else { "" };
        writeln!(out, "{time} {name}{cut}  {id}")?;
        self.write_parts(out, message)
    }

    fn write_parts(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        for part in &message.parts {
            if let Some(text) = part.as_text() {
                for line in visible(text).trim_end_matches('\n').split('\n') {
                    writeln!(out, "  {line}")?;
                }
            } else {
                writeln!(out, "  {}", self.paint.faint(&excerpt(&in_words(part), LINE_COLUMNS)))?;
            }
        }
        Ok(())
    }

    /// What an entry that is no message says, on one line.
    fn said(&self, entry: &Entry) -> String {
        let said = match &entry.kind {
            EntryKind::Purged(purged) => {
                format!("[redacted {} by {}]", purged.type_name, purged.by)
            }
            EntryKind::Redaction(redaction) => match &redaction.reason {
                Some(reason) => format!("· redaction of {}: {reason}", redaction.target_id),
                None => format!("· redaction of {}", redaction.target_id),
            },
            EntryKind::TeamTask(task) => format!("· {}", narrate::team_task(task.task.as_deref())),
            EntryKind::CompactionSummary(summary) => format!("· summary: {}", summary.summary),
            EntryKind::BranchSummary(branch) => {
                let from = entry.parent_id.as_ref().map_or("", |parent| parent.as_str());
                let (session, left) = (&branch.source_session_id, &branch.source_entry_id);
                format!("· branch from {from} (left {session} at {left})")
            }
            EntryKind::SystemPromptOverride(prompt) => {
                format!("· system prompt: {}", prompt.system_prompt)
            }
            EntryKind::ModelChange(change) => format!("· model: {}", change.model),
            EntryKind::Turn(turn) => format!("· turn of {}: {}", turn.member, turn.state.as_str()),
            EntryKind::Usage(usage) => usage_in_words(usage),
            EntryKind::TurnEvent(event) => match &event.activity {
                // That is no failure of the agent's.
                TurnActivity::Failed { class, .. } if **class == *"cancelled" => {
                    format!("· {}: ended, since its turn was cancelled", event.member)
                }
                activity => format!("· {}", narrate::note(&event.member, activity)),
            },
            EntryKind::SessionSetting(setting) => format!("· {}", setting.setting),
            kind => format!("· {}", kind.type_name()),
        };
        let line = excerpt(&short(&said), LINE_COLUMNS);
        match entry.kind {
            EntryKind::Purged(_) => self.paint.warning(&line),
            _ => line,
        }
    }
}

fn usage_in_words(usage: &Usage) -> String {
    let mut figures = Figures::default();
    figures.add(usage);
    let told = figures.told().unwrap_or_else(|| "no tokens reported".to_owned());
    format!("· usage of {}: {told}", usage.member)
}

/// When it happened, or where nobody said, when it was stored.
pub(super) fn moment(stored: &StoredEntry) -> &Timestamp {
    let said = match &stored.entry.kind {
        EntryKind::Message(message) => message.timestamp.as_ref(),
        _ => None,
    };
    stored.entry.timestamp.as_ref().or(said).unwrap_or(&stored.stored_at)
}

/// A part that is no text.
pub(super) fn in_words(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) => text.clone(),
        PartKind::Thinking(text) => format!("(thinks) {text}"),
        PartKind::ToolCall(call) => format!("→ {} {}", call.tool_name, call.arguments.as_str()),
        PartKind::ToolResult(result) => {
            let words = json::words(result.content.raw());
            if result.is_error { format!("← failed: {words}") } else { format!("← {words}") }
        }
        PartKind::Image(image) => format!("[picture {}]", image.mime_type),
        PartKind::FileRef(file) => format!("[file {}]", file.path),
        PartKind::Other(other) => format!("[{}]", other.kind),
    }
}
