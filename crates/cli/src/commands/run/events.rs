//! The output of `run --json`: one event per line, each with a `type`. docs/scripting.md lists them.

use std::io;

use serde::Serialize;
use tertulia_chat::DisplayNames;
use tertulia_session::EntryId;
use tertulia_session::json::Json;
use tertulia_session::record::EntryRecord;
use tertulia_store::SessionId;
use tertulia_team::{
    AskResult, EventSink, PauseReason, PermissionRequest, Question, SessionEvent, StopReason,
};

use super::result::AskRecord;
use super::{Ended, RunOutput, Work};
use crate::Streams;
use crate::commands::sessions::write_record;
use crate::error::{CliError, Result};

pub(super) struct JsonLines<'a, 's> {
    streams: &'a mut Streams<'s>,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum EventRecord<'a> {
    Session { session_id: &'a str, is_new: bool },
    Stored { entry: EntryRecord<'a> },
    Fed { turn: &'a EntryId, member: &'a str },
    Text { turn: &'a EntryId, member: &'a str, text: &'a str },
    TextEnd { turn: &'a EntryId, member: &'a str },
    TextWithdrawn { turn: &'a EntryId, member: &'a str },
    Note { text: String, entries: Vec<&'a EntryId> },
    Asked { question: QuestionRecord<'a> },
    Permission { member: &'a str, request: RequestRecord<'a> },
    Rested,
    Ask(AskRecord<'a>),
    End(EndRecord<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndRecord<'a> {
    pause: PauseRecord<'a>,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "why", rename_all = "camelCase")]
enum PauseRecord<'a> {
    Rested,
    Asked { question: QuestionRecord<'a> },
    PermissionNeeded { member: &'a str, title: &'a str },
    Elsewhere,
    Closed,
    Interrupted,
    // The run did not reach a pause.
    Failed,
}

#[derive(Serialize)]
struct QuestionRecord<'a> {
    to: Option<&'a str>,
    why: &'static str,
    text: String,
    entries: Vec<&'a EntryId>,
}

#[derive(Serialize)]
struct RequestRecord<'a> {
    title: &'a str,
    tool: Option<&'a str>,
    input: Option<&'a Json>,
    choices: Vec<ChoiceRecord<'a>>,
}

#[derive(Serialize)]
struct ChoiceRecord<'a> {
    id: &'a str,
    name: &'a str,
    allows: bool,
}

impl<'a, 's> JsonLines<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>) -> Self {
        Self { streams, failed: None }
    }

    /// Writes and flushes a line, because the reader waits for it.
    fn write(&mut self, record: &EventRecord<'_>) {
        if self.failed.is_some() {
            return;
        }
        let written = write_record(self.streams, record);
        self.failed = written.and_then(|()| self.streams.stdout.flush()).err();
    }
}

impl EventSink for JsonLines<'_, '_> {
    fn on_event(&mut self, event: SessionEvent) {
        self.write(&EventRecord::from(&event));
    }
}

impl RunOutput for JsonLines<'_, '_> {
    fn remark(&mut self, _: &str) {}

    fn opened(&mut self, session: &SessionId, is_new: bool) {
        self.write(&EventRecord::Session { session_id: session.as_str(), is_new });
    }

    fn note(&mut self, text: &str, entry: &EntryId) {
        self.write(&EventRecord::Note { text: text.to_owned(), entries: vec![entry] });
    }

    fn drive(&mut self, work: Work<'_>) -> Result<StopReason> {
        work(self)
    }

    fn result(&mut self, result: &AskResult, _: &DisplayNames) {
        let total = result.total();
        self.write(&EventRecord::Ask(AskRecord::new(result, &total)));
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

/// Writes the last event: the outcome, with the exit code and the error.
pub(super) fn write_end(ended: &Result<Ended>, streams: &mut Streams<'_>) -> Result {
    let (pause, error) = match ended {
        // Standard output is closed.
        Err(CliError::ReaderDone | CliError::Output(_)) => return Ok(()),
        Err(error) => (PauseRecord::Failed, Some(error)),
        Ok(Ended { is_interrupted: true, outcome, .. }) => {
            (PauseRecord::Interrupted, outcome.as_ref().err())
        }
        Ok(Ended { pause, outcome, .. }) => (PauseRecord::new(pause), outcome.as_ref().err()),
    };
    let exit_code = error.map_or(0, CliError::code);
    let error = error.map(ToString::to_string);
    write_last(EndRecord { pause, exit_code, error }, streams).map_err(CliError::output)
}

/// Writes the only event of a run with wrong arguments.
pub(crate) fn write_wrong_usage(error: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    let (pause, exit_code, error) = (PauseRecord::Failed, 2, Some(error.to_owned()));
    write_last(EndRecord { pause, exit_code, error }, streams)
}

fn write_last(end: EndRecord<'_>, streams: &mut Streams<'_>) -> io::Result<()> {
    write_record(streams, &EventRecord::End(end))?;
    streams.stdout.flush()
}

impl<'a> From<&'a SessionEvent> for EventRecord<'a> {
    fn from(event: &'a SessionEvent) -> Self {
        match event {
            SessionEvent::Stored(entry) => Self::Stored { entry: EntryRecord::new(entry) },
            SessionEvent::Fed { turn, member } => Self::Fed { turn, member },
            SessionEvent::Text { turn, member, text } => Self::Text { turn, member, text },
            SessionEvent::TextEnd { turn, member } => Self::TextEnd { turn, member },
            SessionEvent::TextWithdrawn { turn, member } => Self::TextWithdrawn { turn, member },
            SessionEvent::Note(note) => Self::Note { text: note.to_string(), entries: note.ids() },
            SessionEvent::Asked(question) => {
                Self::Asked { question: QuestionRecord::new(question) }
            }
            SessionEvent::Refused(error) => {
                Self::Note { text: error.to_string(), entries: Vec::new() }
            }
            SessionEvent::Permission { member, request, .. } => {
                Self::Permission { member, request: RequestRecord::new(request) }
            }
            SessionEvent::Rested => Self::Rested,
        }
    }
}

impl<'a> PauseRecord<'a> {
    fn new(pause: &'a StopReason) -> Self {
        match pause {
            StopReason::Rested => Self::Rested,
            StopReason::Asked(question) => Self::Asked { question: QuestionRecord::new(question) },
            StopReason::PermissionNeeded { member, title } => {
                Self::PermissionNeeded { member, title }
            }
            StopReason::Elsewhere => Self::Elsewhere,
            StopReason::Closed => Self::Closed,
        }
    }
}

impl<'a> QuestionRecord<'a> {
    fn new(question: &'a Question) -> Self {
        let Question { to, why } = question;
        let word = match why {
            PauseReason::Answer { .. } => "answer",
            PauseReason::LoopGuard { .. } => "loopGuard",
            PauseReason::PairLoop { .. } => "pairLoop",
            PauseReason::Spending { .. } => "spending",
            PauseReason::Unresolved { .. } => "unresolved",
            PauseReason::NobodyToAnswer { .. } => "nobodyToAnswer",
            PauseReason::WhoSpeaks { .. } => "whoSpeaks",
            PauseReason::Failed { .. } => "failed",
            PauseReason::Limited { .. } => "limited",
            PauseReason::LimitedAfterTools { .. } => "limitedAfterTools",
            PauseReason::Cancelled { .. } => "cancelled",
            PauseReason::Resumed { .. } | PauseReason::ResumedSeveral { .. } => "resumed",
            PauseReason::Paused { .. } => "paused",
        };
        Self { to: to.as_deref(), why: word, text: why.to_string(), entries: why.ids() }
    }
}

impl<'a> RequestRecord<'a> {
    fn new(request: &'a PermissionRequest) -> Self {
        let choices = request.choices.iter().map(|choice| ChoiceRecord {
            id: &choice.id,
            name: &choice.name,
            allows: choice.allows,
        });
        Self {
            title: &request.title,
            tool: request.tool.as_deref(),
            input: request.input.as_ref(),
            choices: choices.collect(),
        }
    }
}
