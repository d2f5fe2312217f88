//! One choice of a chunk or of a whole completion, and what was used. Called by [`super::Chat`]; it knows
//! the fields, not the stream.

use serde_json::value::RawValue;

use crate::stream::class::{ErrorClass, TurnError};
use crate::stream::event::{DeniedTool, Scope, Usage, ViolationKind};
use crate::stream::pick::{Refusal, count, each, pick, pick_line, plain, text, word};
use crate::stream::shape::{Field, shaped};
use crate::stream::turn::Turn;

use super::{Chat, complaint};

/// How much of a refusal is kept.
const REFUSAL_BYTES_MAX: usize = 8 * 1024;

/// How the endpoint says that the answer ended.
#[derive(Debug)]
pub(super) enum Finish {
    Stop,
    Failed(TurnError),
}

/// A chunk that holds a piece of the one answer, as nearly all of them do.
const PIECE: [Field; 5] = [
    Field::Value("object", 0),
    Field::Value("model", 1),
    Field::Value("usage", 2),
    Field::Value("error", 3),
    Field::Only(
        "choices",
        &[
            Field::Value("index", 4),
            Field::Value("finish_reason", 5),
            Field::Value("error", 6),
            Field::Value("message", 7),
            Field::Object(
                "delta",
                &[
                    Field::Value("content", 8),
                    Field::Value("reasoning_content", 9),
                    Field::Value("reasoning", 10),
                    Field::Value("refusal", 11),
                    Field::Value("tool_calls", 12),
                ],
            ),
        ],
    ),
];

/// The fields of a chunk.
pub(super) struct Chunk<'a> {
    pub(super) object: Option<&'a RawValue>,
    pub(super) model: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) choices: Choices<'a>,
}

/// What a chunk holds of answers.
pub(super) enum Choices<'a> {
    /// One choice, read already.
    One(Choice<'a>),
    /// A list, or nothing.
    Raw(Option<&'a RawValue>),
}

impl<'a> Chunk<'a> {
    pub(super) fn of(json: &'a str) -> Result<Self, Refusal> {
        if let Some(chunk) = Self::of_piece(json) {
            return Ok(chunk);
        }
        const NAMES: [&str; 5] = ["object", "model", "choices", "usage", "error"];
        let [object, model, choices, usage, error] = pick_line(json, &NAMES)?.values();
        Ok(Self { object, model, usage, error, choices: Choices::Raw(choices) })
    }

    /// In one pass: what a chunk says is not read again for every level.
    fn of_piece(json: &'a str) -> Option<Self> {
        let [object, model, usage, error, index, finish_reason, wrong, message, said @ ..] =
            shaped::<13>(json, &PIECE)?;
        let [content, reasoning_content, reasoning, refusal, calls] = said;
        if message.is_some() || said.iter().all(Option::is_none) {
            return None;
        }
        let said = Some(Said { content, reasoning_content, reasoning, refusal, calls });
        let choice = Choice { index, said, finish_reason, error: wrong };
        Some(Self { object, model, usage, error, choices: Choices::One(choice) })
    }
}

/// The fields of a choice.
pub(super) struct Choice<'a> {
    index: Option<&'a RawValue>,
    /// A piece, or the whole message.
    said: Option<Said<'a>>,
    finish_reason: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> Choice<'a> {
    pub(super) fn of(choice: &'a RawValue) -> Result<Self, Refusal> {
        const NAMES: [&str; 5] = ["index", "delta", "message", "finish_reason", "error"];
        let [index, delta, message, finish_reason, error] = pick(choice, &NAMES)?.values();
        let said = match delta.or(message) {
            Some(said) if !is_other(index) => Some(Said::of(said)?),
            _ => None,
        };
        Ok(Self { index, said, finish_reason, error })
    }

    /// Tells what the choice says. One answer was asked for; others are not read.
    pub(super) fn tell(self, chat: &mut Chat, turn: &mut Turn) -> Result<(), Refusal> {
        if is_other(self.index) {
            return Ok(());
        }
        if let Some(said) = self.said {
            said.tell(chat, turn)?;
        }
        let reason = plain(self.finish_reason).filter(|reason| !reason.is_empty());
        if let (Some(reason), None) = (reason, &chat.finish) {
            chat.finish = Some(finish(reason, self.error));
        }
        Ok(())
    }
}

/// One answer was asked for; this is another.
fn is_other(index: Option<&RawValue>) -> bool {
    count(index).unwrap_or(0) > 0
}

/// The fields of what was said.
struct Said<'a> {
    content: Option<&'a RawValue>,
    reasoning_content: Option<&'a RawValue>,
    reasoning: Option<&'a RawValue>,
    refusal: Option<&'a RawValue>,
    calls: Option<&'a RawValue>,
}

impl<'a> Said<'a> {
    fn of(said: &'a RawValue) -> Result<Self, Refusal> {
        const NAMES: [&str; 5] =
            ["content", "reasoning_content", "reasoning", "refusal", "tool_calls"];
        let [content, reasoning_content, reasoning, refusal, calls] = pick(said, &NAMES)?.values();
        Ok(Self { content, reasoning_content, reasoning, refusal, calls })
    }

    fn tell(self, chat: &mut Chat, turn: &mut Turn) -> Result<(), Refusal> {
        if let Some(thinking) = text(self.reasoning_content).or_else(|| text(self.reasoning)) {
            turn.thinking(thinking);
        }
        if let Some(content) = self.content {
            read_content(content, chat, turn)?;
        }
        if let Some(refusal) = text(self.refusal) {
            let room = REFUSAL_BYTES_MAX.saturating_sub(chat.refusal.len());
            let kept = refusal.get(..refusal.floor_char_boundary(room)).unwrap_or_default();
            chat.refusal.push_str(kept);
        }
        match self.calls {
            Some(calls) => each(calls, |call| deny(call, turn)),
            None => Ok(()),
        }
    }
}

/// A text, or a list of parts.
fn read_content(content: &RawValue, chat: &Chat, turn: &mut Turn) -> Result<(), Refusal> {
    if let Some(piece) = text(Some(content)) {
        return tell_piece(piece, chat, turn);
    }
    each(content, |part| {
        let [kind, words, thinking] = pick(part, &["type", "text", "thinking"])?.values();
        match plain(kind) {
            Some("text") => tell_piece(text(words).unwrap_or_default(), chat, turn),
            Some("thinking") => match thinking {
                Some(list) if text(thinking).is_none() => each(list, |piece| {
                    let [words] = pick(piece, &["text"])?.values();
                    turn.thinking(text(words).unwrap_or_default());
                    Ok(())
                }),
                _ => {
                    turn.thinking(text(thinking).unwrap_or_default());
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    })
}

fn tell_piece(piece: String, chat: &Chat, turn: &mut Turn) -> Result<(), Refusal> {
    if !piece.is_empty() && chat.finish.is_some() {
        return Err(ViolationKind::AfterEnd.into());
    }
    turn.delta(piece);
    Ok(())
}

/// Nobody is there to run a tool. Only the first piece of a call names it.
fn deny(call: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, function] = pick(call, &["id", "function"])?.values();
    let (Some(id), Some(function)) = (word(id), function) else { return Ok(()) };
    let [name] = pick(function, &["name"])?.values();
    let reason = Some("no tools are offered to an endpoint".into());
    turn.tool_denied(DeniedTool { id, name: word(name).unwrap_or_default(), reason });
    Ok(())
}

fn finish(reason: &str, error: Option<&RawValue>) -> Finish {
    let (class, message) = match reason {
        "stop" => return Finish::Stop,
        "error" => {
            let said = error.map(|error| complaint::of_json(error.get(), None));
            let unsaid = || TurnError::new(ErrorClass::Network, "the endpoint gave the answer up");
            return Finish::Failed(said.unwrap_or_else(unsaid));
        }
        "length" | "max_tokens" | "model_length" => {
            (ErrorClass::Limit, "the answer was cut at the length that the model may write")
        }
        "content_filter" => (ErrorClass::Refused, "the endpoint's filter stopped the answer"),
        "tool_calls" | "function_call" => {
            (ErrorClass::Setup, "the model called a tool, and an endpoint is offered none")
        }
        "insufficient_system_resource" => (ErrorClass::Network, "the endpoint is overloaded"),
        other => {
            let message = format!("the answer ended for a reason that is not known: {other}");
            return Finish::Failed(TurnError::new(ErrorClass::Crash, message));
        }
    };
    Finish::Failed(TurnError::new(class, message))
}

/// What was used. What was read from a cache is part of the prompt's count.
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    const NAMES: [&str; 5] = [
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
        "prompt_cache_hit_tokens",
    ];
    let [prompt, written, of_prompt, of_written, cache_hits] = pick(raw, &NAMES).ok()?.values();
    let detail =
        |details: Option<&RawValue>, name| count(pick(details?, &[name]).ok()?.values()[0]);
    let cache_read = detail(of_prompt, "cached_tokens").or_else(|| count(cache_hits));
    Some(Usage {
        input: count(prompt).map(|prompt| prompt.saturating_sub(cache_read.unwrap_or(0))),
        cache_read,
        cache_write: None,
        output: count(written),
        thinking: detail(of_written, "reasoning_tokens"),
        scope: Scope::Turn,
    })
}
