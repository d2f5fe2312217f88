//! Codex's `exec --json`. Called by [`super::StreamParser`] line by line. Only the first event names the
//! run, and texts come whole.

mod item;

use item::Item;
use serde_json::value::RawValue;

use super::class::TurnError;
use super::event::{Scope, Unparsed, Usage, ViolationKind};
use super::pick::{count, message as message_of, pick, pick_line, plain, text, word};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Codex {
    is_turn_started: bool,
}

impl Codex {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        if let Some((item, is_completed)) = Item::of_line(line) {
            turn.admit(None)?;
            turn.need_start()?;
            return item.tell(is_completed, turn);
        }
        const NAMES: [&str; 6] = ["type", "thread_id", "item", "message", "error", "usage"];
        let [kind, thread_id, item, message, error, usage] = pick_line(line, &NAMES)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        if kind == "thread.started" {
            turn.start(word(thread_id), None)?;
            return Ok(Fate::Known);
        }
        turn.admit(None)?;
        match kind {
            "turn.started" => {
                turn.need_start()?;
                if std::mem::replace(&mut self.is_turn_started, true) {
                    return Err(ViolationKind::SecondStart.into());
                }
            }
            "item.started" | "item.completed" => {
                turn.need_start()?;
                let item = item.ok_or(Unparsed::WrongShape)?;
                return Item::of(item)?.tell(kind == "item.completed", turn);
            }
            "turn.completed" => {
                turn.need_start()?;
                tell_usage(usage, turn);
                turn.succeed_with_last_text();
            }
            "turn.failed" => {
                turn.need_start()?;
                match message_of(error) {
                    Some(message) => turn.fail(TurnError::said(message)),
                    None => turn.fail_as_warned("turn.failed without a message"),
                }
            }
            // Reconnecting, or what `turn.failed` will say again.
            "error" => turn.warn(text(message).unwrap_or_default()),
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }
}

/// The whole thread's. What was read from a cache is part of what was read.
fn tell_usage(usage: Option<&RawValue>, turn: &mut Turn) {
    const NAMES: [&str; 5] = [
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    ];
    let Some(Ok(picked)) = usage.map(|usage| pick(usage, &NAMES)) else { return };
    let [input, cache_read, cache_write, output, thinking] = picked.values();
    let cache_read = count(cache_read);
    let usage = Usage {
        input: count(input).map(|input| input.saturating_sub(cache_read.unwrap_or(0))),
        cache_read,
        cache_write: count(cache_write),
        output: count(output),
        thinking: count(thinking),
        scope: Scope::Session,
    };
    turn.usage(usage);
}
