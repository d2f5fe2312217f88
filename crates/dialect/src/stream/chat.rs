//! Chat Completions as an endpoint streams them: server-sent events with one chunk of a completion each.
//! [`super::StreamParser`] calls it line by line. A body that is not a stream is kept and parsed at its end, because
//! some endpoints answer with one whole completion or with an error.

mod completion;
mod endpoint_error;
mod request;

pub use request::{BodyError, chat_request};

use super::error_class::{ErrorClass, TurnError};
use super::event::{StreamEvent, Unparsed, Usage};
use super::turn::Turn;
use super::{LineKind, Reading};
use completion::{Choice, Choices, Chunk, Finish};

pub(super) use endpoint_error::from_reply;

/// Maximum size of the body that is kept if it is not a stream. No genuine completion is longer.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Chat {
    /// Whether an event has arrived, so that the body is a stream.
    is_stream: bool,
    is_started: bool,
    /// The lines before any event.
    body: String,
    is_body_cut: bool,
    /// Whether the next data is an error, as `event: error` announced.
    is_error_next: bool,
    /// Whether a line was too long to be read, so that the text has a gap.
    pub(super) has_gap: bool,
    finish: Option<Finish>,
    refusal: String,
    /// The last usage. Some endpoints report it with every chunk, and only the last one is passed on.
    usage: Option<Usage>,
}

impl Chat {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        let line = line.trim_end_matches('\r');
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if let Some(data) = line.strip_prefix("data:") {
            self.begin_stream(turn);
            return self.read_data(data.trim_ascii(), turn);
        }
        if let Some(name) = line.strip_prefix("event:") {
            self.begin_stream(turn);
            self.is_error_next = name.trim_ascii() == "error";
            return Ok(LineKind::Ignored);
        }
        if [":", "id:", "retry:"].iter().any(|field| line.starts_with(field)) {
            self.begin_stream(turn);
            return Ok(LineKind::Ignored);
        }
        if !self.is_stream {
            self.keep_body(line);
            return Ok(LineKind::Ignored);
        }
        // A failing gateway sends its error without an event.
        self.read_data(line.trim_ascii(), turn)
    }

    /// Returns whether the endpoint has sent a finish reason. After it, only usage may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Ends the stream. `connection_error` is the error of the connection, if any.
    pub(super) fn finish(&mut self, connection_error: &str, turn: &mut Turn) {
        if turn.end.is_some() {
            return;
        }
        if !self.is_stream && !self.body.is_empty() {
            self.read_body(turn);
        } else if self.finish.is_some() {
            self.conclude(turn);
        } else {
            self.report_usage(turn);
            let mut message = match (self.is_stream, self.has_gap) {
                (_, true) => {
                    "the answer is incomplete, because a line of it was too long to be read"
                }
                (true, _) => "the stream ended early",
                (false, _) => "the endpoint sent no answer",
            }
            .to_owned();
            if !connection_error.is_empty() {
                message.push_str(": ");
                message.push_str(connection_error);
            }
            turn.give_up(TurnError::new(ErrorClass::Network, message));
        }
    }

    /// Begins the stream. Reports the lines before the first event in one warning.
    fn begin_stream(&mut self, turn: &mut Turn) {
        self.is_stream = true;
        let noise = std::mem::take(&mut self.body);
        if !noise.is_empty() {
            let message = format!("before the stream: {}", endpoint_error::beginning(&noise));
            turn.events.push(StreamEvent::Warning { class: None, message: message.into() });
        }
    }

    fn keep_body(&mut self, line: &str) {
        if self.is_body_cut || self.body.len() + line.len() >= BODY_BYTES_MAX {
            self.is_body_cut = true;
            return;
        }
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn read_data(&mut self, data: &str, turn: &mut Turn) -> Reading {
        let is_error = std::mem::take(&mut self.is_error_next);
        if data == "[DONE]" {
            if turn.end.is_some() {
                return Ok(LineKind::Ignored);
            }
            self.conclude(turn);
            return Ok(LineKind::Known);
        }
        if data.is_empty() {
            return Ok(LineKind::Ignored);
        }
        turn.admit(None)?;
        self.read_object(data, is_error, turn)
    }

    fn read_object(&mut self, json: &str, is_error: bool, turn: &mut Turn) -> Reading {
        let Chunk { object, model, usage, error, choices } = Chunk::parse(json)?;
        let usage = completion::usage(usage);
        let is_counted = usage.is_some();
        self.usage = usage.or(self.usage);
        if is_error || error.is_some() || object.is("error") {
            self.report_usage(turn);
            turn.fail(endpoint_error::from_json(json, None));
            return Ok(LineKind::Known);
        }
        // Filter results and usage arrive in chunks without a choice.
        if matches!(&choices, Choices::Raw(list) if list.source().is_none_or(is_empty_list)) {
            return Ok(if is_counted { LineKind::Known } else { LineKind::Ignored });
        }
        if !self.is_started {
            self.is_started = true;
            let model = model.word().filter(|model| !model.is_empty());
            turn.start(None, model)?;
        }
        match choices {
            Choices::One(choice) => choice.report(self, turn)?,
            Choices::Raw(list) => list.each(|choice| Choice::parse(choice)?.report(self, turn))?,
        }
        Ok(LineKind::Known)
    }

    fn read_body(&mut self, turn: &mut Turn) {
        let body = std::mem::take(&mut self.body);
        let body = body.trim();
        if self.is_body_cut || self.has_gap {
            let message =
                "the endpoint answered without a stream, and the answer is longer than the limit";
            return turn.give_up(TurnError::new(ErrorClass::Limit, message));
        }
        let reading = match body.starts_with(['{', '[']) {
            true => self.read_object(endpoint_error::first(body), false, turn),
            false => Err(Unparsed::NotJson.into()),
        };
        if turn.end.is_some() {
            return;
        }
        if reading == Ok(LineKind::Known) && self.is_started {
            self.conclude(turn);
        } else {
            turn.give_up(endpoint_error::from_body(body));
        }
    }

    /// Ends the turn, after `[DONE]` or at the end of the stream.
    fn conclude(&mut self, turn: &mut Turn) {
        turn.end_text();
        self.report_usage(turn);
        if self.has_gap {
            let message = "a line of the answer was too long to be read";
            return turn.give_up(TurnError::new(ErrorClass::Limit, message));
        }
        match self.finish.take().unwrap_or(Finish::Stop) {
            Finish::Failed(error) => turn.fail(error),
            Finish::Stop if self.refusal.is_empty() => turn.succeed_with_pieces(false),
            Finish::Stop => {
                let refusal = std::mem::take(&mut self.refusal);
                turn.fail(TurnError::new(ErrorClass::Refused, refusal));
            }
        }
    }

    fn report_usage(&mut self, turn: &mut Turn) {
        if let Some(usage) = self.usage.take() {
            turn.usage(usage);
        }
    }
}

fn is_empty_list(json: &str) -> bool {
    json.strip_prefix('[').is_some_and(|rest| rest.trim_start() == "]")
}
