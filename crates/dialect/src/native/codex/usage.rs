//! Usage. Two kinds of records contain the same numbers, each with the total of the session. A number is counted only
//! once, when the total changes.

use tertulia_session::json::{self, Object, RawValue};
use tertulia_session::{EntryKind, Usage};

use super::{Item, Parent, Reader, non_message};
use crate::native::{NativeFormat, ProblemKind};

/// The total of the session so far.
#[derive(Debug, Default)]
pub(super) struct Counter {
    total: Option<Tokens>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tokens {
    input: u64,
    cached: Option<u64>,
    cache_write: Option<u64>,
    output: u64,
}

impl Tokens {
    fn read(raw: &RawValue) -> Option<Self> {
        let mut fields = Object::try_from(raw).ok()?;
        let mut number = |name| fields.take(name).and_then(|raw| json::whole_number(raw).ok());
        Some(Self {
            input: number("input_tokens")?,
            cached: number("cached_input_tokens"),
            cache_write: number("cache_write_input_tokens"),
            output: number("output_tokens")?,
        })
    }
}

impl Reader {
    /// Reads `{info: {last_token_usage, total_token_usage}}`.
    pub(super) fn token_count(&mut self, mut event: Object<'_>) -> Item {
        let item = non_message(Some("event_msg/token_count"));
        let Some(info) = event.take_some("info") else { return item };
        let Ok(mut info) = Object::try_from(info) else { return with_field_problem(item) };
        let last = info.take_some("last_token_usage").and_then(Tokens::read);
        let total = info.take_some("total_token_usage").and_then(Tokens::read);
        match last {
            Some(last) => self.usage(item, last, total),
            None => with_field_problem(item),
        }
    }

    /// Reads `{usage, thread_token_usage}`.
    pub(super) fn usage_record(&mut self, mut record: Object<'_>) -> Item {
        let item = non_message(Some("token_usage_record"));
        let last = record.take_some("usage").and_then(Tokens::read);
        let total = record.take_some("thread_token_usage").and_then(Tokens::read);
        match last {
            Some(last) => self.usage(item, last, total),
            None => with_field_problem(item),
        }
    }

    fn usage(&mut self, item: Item, last: Tokens, total: Option<Tokens>) -> Item {
        if total.is_some() && total == self.counter.total {
            return item;
        }
        self.counter.total = total.or(self.counter.total);
        if last.input == 0 && last.output == 0 {
            // This is the size of a session that another program wrote, and not usage.
            return item;
        }
        let usage = Usage {
            member: NativeFormat::Codex.as_str().into(),
            model: self.model.clone(),
            input_tokens: last.input,
            cached_tokens: last.cached,
            output_tokens: last.output,
            cache_write_tokens: last.cache_write,
            agent: Some(NativeFormat::Codex.as_str().into()),
            ..Usage::default()
        };
        Item { parent: Parent::Previous, more: vec![EntryKind::Usage(usage)], ..item }
    }
}

fn with_field_problem(item: Item) -> Item {
    item.with_problem(ProblemKind::Field { field: "payload.info" })
}
