//! One choice of a chunk or of a whole completion, and its usage. [`super::Chat`] calls it. It reads the fields and
//! does not depend on the stream.

use crate::stream::error_class::{ErrorClass, TurnError};
use crate::stream::event::{Usage, ViolationKind, fresh_input};
use crate::stream::fields::{Field, Refusal, Value, read_fields, read_shape, values};
use crate::stream::turn::Turn;

use super::{Chat, endpoint_error};

const REFUSAL_BYTES_MAX: usize = 8 * 1024;

#[derive(Debug)]
pub(super) enum Finish {
    Stop,
    Failed(TurnError),
}

/// Shape of a chunk that contains a piece of the only answer. Nearly all chunks have it.
const PIECE: [Field<'_>; 5] = [
    Field::Value("object", 0),
    Field::Value("model", 1),
    Field::Value("usage", 2),
    Field::Value("error", 3),
    Field::Only("choices", &CHOICE),
];
const CHOICE: [Field<'_>; 5] = [
    Field::Value("index", 4),
    Field::Value("finish_reason", 5),
    Field::Value("error", 6),
    Field::Value("message", 7),
    Field::Object("delta", &DELTA),
];
const DELTA: [Field<'_>; 5] = values(&SAID, 8);
const SAID: [&str; 5] = ["content", "reasoning_content", "reasoning", "refusal", "tool_calls"];

pub(super) struct Chunk<'a> {
    pub(super) object: Value<'a>,
    pub(super) model: Value<'a>,
    pub(super) usage: Value<'a>,
    pub(super) error: Value<'a>,
    pub(super) choices: Choices<'a>,
}

/// The choices of a chunk.
pub(super) enum Choices<'a> {
    /// One choice, already parsed.
    One(Choice<'a>),
    Raw(Value<'a>),
}

impl<'a> Chunk<'a> {
    pub(super) fn parse(json: &'a str) -> Result<Self, Refusal> {
        if let Some(chunk) = Self::parse_piece(json) {
            return Ok(chunk);
        }
        const NAMES: [&str; 5] = ["object", "model", "choices", "usage", "error"];
        let [object, model, choices, usage, error] = read_fields(json, &NAMES)?;
        Ok(Self { object, model, usage, error, choices: Choices::Raw(choices) })
    }

    /// Parses a chunk in one pass, so that it is not parsed again for every level.
    fn parse_piece(json: &'a str) -> Option<Self> {
        let [object, model, usage, error, index, finish_reason, wrong, message, said @ ..] =
            read_shape::<13>(json, &PIECE)?;
        if message.is_some() || !said.iter().any(|said| said.is_some()) {
            return None;
        }
        let choice = Choice { index, said, finish_reason, error: wrong };
        Some(Self { object, model, usage, error, choices: Choices::One(choice) })
    }
}

pub(super) struct Choice<'a> {
    index: Value<'a>,
    /// The fields of [`SAID`], of a delta or of the whole message.
    said: [Value<'a>; 5],
    finish_reason: Value<'a>,
    error: Value<'a>,
}

impl<'a> Choice<'a> {
    pub(super) fn parse(choice: Value<'a>) -> Result<Self, Refusal> {
        const NAMES: [&str; 5] = ["index", "delta", "message", "finish_reason", "error"];
        let [index, delta, message, finish_reason, error] = choice.fields(&NAMES)?;
        let said = delta.or(message);
        let is_read = said.is_some() && !is_other(index);
        let said = if is_read { said.fields(&SAID)? } else { Default::default() };
        Ok(Self { index, said, finish_reason, error })
    }

    /// Reports the content of the choice. Only one answer was requested, so others are ignored.
    pub(super) fn report(self, chat: &mut Chat, turn: &mut Turn) -> Result<(), Refusal> {
        if is_other(self.index) {
            return Ok(());
        }
        let [content, reasoning_content, reasoning, refusal, calls] = self.said;
        if let Some(thinking) = reasoning_content.text().or_else(|| reasoning.text()) {
            turn.thinking(thinking);
        }
        if content.is_some() {
            read_content(content, chat, turn)?;
        }
        if let Some(refusal) = refusal.text() {
            let room = REFUSAL_BYTES_MAX.saturating_sub(chat.refusal.len());
            let kept = refusal.get(..refusal.floor_char_boundary(room)).unwrap_or_default();
            chat.refusal.push_str(kept);
        }
        if calls.is_some() {
            calls.each(|call| deny(call, turn))?;
        }
        let reason = self.finish_reason.plain().filter(|reason| !reason.is_empty());
        if let (Some(reason), None) = (reason, &chat.finish) {
            chat.finish = Some(finish(reason, self.error));
        }
        Ok(())
    }
}

/// Returns whether this is another answer than the requested one.
fn is_other(index: Value<'_>) -> bool {
    index.count().unwrap_or(0) > 0
}

fn read_content(content: Value<'_>, chat: &Chat, turn: &mut Turn) -> Result<(), Refusal> {
    if let Some(piece) = content.text() {
        return report_piece(piece, chat, turn);
    }
    content.each(|part| {
        let [kind, words, thinking] = part.fields(&["type", "text", "thinking"])?;
        match kind.plain() {
            Some("text") => report_piece(words.text_or_empty(), chat, turn),
            Some("thinking") if thinking.is_some() && thinking.text().is_none() => {
                thinking.each(|piece| {
                    let [words] = piece.fields(&["text"])?;
                    turn.thinking(words.text_or_empty());
                    Ok(())
                })
            }
            Some("thinking") => {
                turn.thinking(thinking.text_or_empty());
                Ok(())
            }
            _ => Ok(()),
        }
    })
}

fn report_piece(piece: String, chat: &Chat, turn: &mut Turn) -> Result<(), Refusal> {
    if !piece.is_empty() && chat.finish.is_some() {
        return Err(ViolationKind::AfterEnd.into());
    }
    turn.delta(piece);
    Ok(())
}

/// Denies a tool call, because nobody can run a tool here. Only the first piece of a call contains its name.
fn deny(call: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, function] = call.fields(&["id", "function"])?;
    if let Some(id) = id.word()
        && function.is_some()
    {
        let [name] = function.fields(&["name"])?;
        let reason = "no tools are offered to an endpoint";
        turn.tool_denied(&id, &name.text_or_empty(), Some(reason));
    }
    Ok(())
}

fn finish(reason: &str, error: Value<'_>) -> Finish {
    let (class, message) = match reason {
        "stop" => return Finish::Stop,
        "error" => {
            let said = error.source().map(|error| endpoint_error::from_json(error, None));
            let unsaid = || {
                TurnError::new(
                    ErrorClass::Network,
                    "the endpoint stopped before the answer was complete",
                )
            };
            return Finish::Failed(said.unwrap_or_else(unsaid));
        }
        "length" | "max_tokens" | "model_length" => {
            (ErrorClass::Limit, "the answer reached the model's maximum length")
        }
        "content_filter" => (ErrorClass::Refused, "the endpoint's filter stopped the answer"),
        "tool_calls" | "function_call" => {
            (ErrorClass::Setup, "the model called a tool, although none was offered")
        }
        "insufficient_system_resource" => (ErrorClass::Network, "the endpoint is overloaded"),
        other => {
            let message = format!("the answer ended for an unknown reason: {other}");
            return Finish::Failed(TurnError::new(ErrorClass::Crash, message));
        }
    };
    Finish::Failed(TurnError::new(class, message))
}

/// Returns the usage. Cached and written tokens are part of the prompt's count.
pub(super) fn usage(usage: Value<'_>) -> Option<Usage> {
    #[rustfmt::skip]
    const NAMES: [&str; 6] = [
        "prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details",
        "prompt_cache_hit_tokens", "cache_creation_input_tokens",
    ];
    let [prompt, written, of_prompt, of_written, hits, created] = usage.fields(&NAMES).ok()?;
    let cache_read = of_prompt.at(&["cached_tokens"]).count().or_else(|| hits.count());
    // Gateways to Claude use other names.
    let cache_write = ["cache_write_tokens", "cache_creation_tokens"];
    let cache_write = cache_write.iter().find_map(|name| of_prompt.at(&[*name]).count());
    let cache_write = cache_write.or_else(|| created.count());
    Some(Usage {
        input: fresh_input(prompt.count(), [cache_read, cache_write]),
        cache_read,
        cache_write,
        output: written.count(),
        thinking: of_written.at(&["reasoning_tokens"]).count(),
        ..Usage::default()
    })
}
