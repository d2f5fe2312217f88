//! The usage of an answer. Every record of an answer contains it, and the figures grow until the last record. So each
//! record adds only the increase, and the sum equals the figures of the last record.

use tertulia_session::json::{self, Json, Object, RawValue};
use tertulia_session::{Usage, Usd};

use crate::native::NativeFormat;

/// The usage of an answer that was reported so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
}

impl Counted {
    /// Returns the increase in the usage of a record; `None` if there is none.
    pub(super) fn next(
        &mut self,
        raw: &RawValue,
        cost: Option<&RawValue>,
        format: NativeFormat,
        model: Option<&str>,
    ) -> Option<Usage> {
        let mut usage = Object::try_from(raw).ok()?;
        let mut tokens = |name| {
            usage.take_some(name).and_then(|raw| json::whole_number(raw).ok()).unwrap_or_default()
        };
        let cached = tokens("cache_read_input_tokens");
        let written = tokens("cache_creation_input_tokens");
        let input = tokens("input_tokens").saturating_add(cached).saturating_add(written);
        let now = Self { input, cached, written, output: tokens("output_tokens") };
        let before = std::mem::replace(self, now);
        let more = |now: u64, before: u64| now.saturating_sub(before);
        let added = Self {
            input: more(now.input, before.input),
            cached: more(now.cached, before.cached),
            written: more(now.written, before.written),
            output: more(now.output, before.output),
        };
        (added != Self::default()).then(|| Usage {
            member: format.as_str().into(),
            model: model.map(Into::into),
            input_tokens: added.input,
            cached_tokens: Some(added.cached),
            cache_write_tokens: Some(added.written),
            output_tokens: added.output,
            cost_usd: cost.and_then(|raw| Usd::from_json(Json::from(raw))),
            agent: Some(NativeFormat::Claude.as_str().into()),
            ..Usage::default()
        })
    }
}
