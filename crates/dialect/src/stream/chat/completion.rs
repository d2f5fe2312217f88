//! One choice of a chunk or of a whole completion, and what was used. Called by [`super::Chat`]; it knows
//! the fields, not the stream.

use serde_json::value::RawValue;

use crate::stream::class::{ErrorClass, TurnError};
use crate::stream::event::{DeniedTool, Scope, StreamEvent, Usage, ViolationKind};
use crate::stream::pick::{Refusal, count, each, pick, plain, text, word};
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

/// The fields of a choice.
pub(super) struct Choice<'a> {
    index: Option<&'a RawValue>,
    /// A piece, or the whole message.
    said: Option<&'a RawValue>,
    finish_reason: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> Choice<'a> {
    pub(super) fn of(choice: &'a RawValue) -> Result<Self, Refusal> {
        const NAMES: [&str; 5] = ["index", "delta", "message", "finish_reason", "error"];
        let [index, delta, message, finish_reason, error] = pick(choice, &NAMES)?.values();
        Ok(Self { index, said: delta.or(message), finish_reason, error })
    }

    /// Tells what the choice says. One answer was asked for; others are not read.
    pub(super) fn tell(
        self,
        chat: &mut Chat,
        turn: &mut Turn,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Refusal> {
        if count(self.index).unwrap_or(0) > 0 {
            return Ok(());
        }
        if let Some(said) = self.said {
            read_said(said, chat, turn, out)?;
        }
        let reason = plain(self.finish_reason).filter(|reason| !reason.is_empty());
        if let (Some(reason), None) = (reason, &chat.finish) {
            chat.finish = Some(finish(reason, self.error));
        }
        Ok(())
    }
}

fn read_said(
    said: &RawValue,
    chat: &mut Chat,
    turn: &mut Turn,
    out: &mut Vec<StreamEvent>,
) -> Result<(), Refusal> {
    const NAMES: [&str; 5] = ["content", "reasoning_content", "reasoning", "refusal", "tool_calls"];
    let [content, reasoning_content, reasoning, refusal, calls] = pick(said, &NAMES)?.values();
    if let Some(thinking) = text(reasoning_content).or_else(|| text(reasoning)) {
        Turn::thinking(thinking, out);
    }
    if let Some(content) = content {
        read_content(content, chat, turn, out)?;
    }
    if let Some(refusal) = text(refusal) {
        let room = REFUSAL_BYTES_MAX.saturating_sub(chat.refusal.len());
        chat.refusal.push_str(refusal.get(..refusal.floor_char_boundary(room)).unwrap_or_default());
    }
    match calls {
        Some(calls) => each(calls, |call| deny(call, turn, out)),
        None => Ok(()),
    }
}

/// A text, or a list of parts.
fn read_content(
    content: &RawValue,
    chat: &Chat,
    turn: &mut Turn,
    out: &mut Vec<StreamEvent>,
) -> Result<(), Refusal> {
    if let Some(piece) = text(Some(content)) {
        return tell_piece(piece, chat, turn, out);
    }
    each(content, |part| {
        let [kind, words, thinking] = pick(part, &["type", "text", "thinking"])?.values();
        match plain(kind) {
            Some("text") => tell_piece(text(words).unwrap_or_default(), chat, turn, out),
            Some("thinking") => match thinking {
                Some(list) if text(thinking).is_none() => each(list, |piece| {
                    let [words] = pick(piece, &["text"])?.values();
                    Turn::thinking(text(words).unwrap_or_default(), out);
                    Ok(())
                }),
                _ => {
                    Turn::thinking(text(thinking).unwrap_or_default(), out);
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    })
}

fn tell_piece(
    piece: String,
    chat: &Chat,
    turn: &mut Turn,
    out: &mut Vec<StreamEvent>,
) -> Result<(), Refusal> {
    if !piece.is_empty() && chat.finish.is_some() {
        return Err(ViolationKind::AfterEnd.into());
    }
    turn.delta(piece, out);
    Ok(())
}

/// Nobody is there to run a tool. Only the first piece of a call names it.
fn deny(call: &RawValue, turn: &mut Turn, out: &mut Vec<StreamEvent>) -> Result<(), Refusal> {
    let [id, function] = pick(call, &["id", "function"])?.values();
    let (Some(id), Some(function)) = (word(id), function) else { return Ok(()) };
    let [name] = pick(function, &["name"])?.values();
    let reason = Some("no tools are offered to an endpoint".into());
    turn.tool_denied(DeniedTool { id, name: word(name).unwrap_or_default(), reason }, out);
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
