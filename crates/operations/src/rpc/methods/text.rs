//! The methods that need no conversation: texts and messages in, texts and counts out.

use serde::Serialize;
use tertulia_context::tokens::{MessageCounter, TokenCount};
use tertulia_context::{AgentType, Strip};
use tertulia_session::json::{self, FieldError, Kind, RawValue};
use tertulia_session::record::{read_addressees, read_entry_message};

use super::{Answer, Params, named};
use crate::model_context::{each, not_one_of, read_tool_spec, read_word};
use crate::to_json;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MarkersRecord<'a> {
    next: Vec<NextRecord<'a>>,
    drop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_task: Option<&'a str>,
    clean_text: &'a str,
}

#[derive(Serialize)]
struct NextRecord<'a> {
    name: &'a str,
    intent: &'static str,
}

pub(super) fn strip_all_markers(params: &mut Params<'_>) -> Answer {
    let text = params.object.need_text("text")?;
    let strip = params.object.take_with("mode", read_strip)?.unwrap_or(Strip::COMPACT);
    Ok(named("text", &tertulia_context::strip_markers(&text, strip).text))
}

pub(super) fn parse_markers(params: &mut Params<'_>) -> Answer {
    let markers = tertulia_context::parse_markers(&params.object.need_text("text")?);
    let next = markers.next.iter();
    let next = next.map(|next| NextRecord { name: &next.name, intent: next.intent.as_str() });
    let record = MarkersRecord {
        next: next.collect(),
        drop: &markers.drop,
        from: markers.from.as_deref(),
        team_task: markers.team_task.as_deref(),
        clean_text: &markers.clean_text,
    };
    Ok(to_json(&record))
}

pub(super) fn normalize_agent_type(params: &mut Params<'_>) -> Answer {
    let normalized = AgentType::named(&params.object.need_text("type")?);
    Ok(named("type", normalized.as_str()))
}

pub(super) fn truncate_to_bytes(params: &mut Params<'_>) -> Answer {
    let text = params.object.need_text("text")?;
    let raw = params.object.need("maxBytes", "a number of bytes")?;
    let bytes_max = byte_limit(raw).map_err(|error| error.within("maxBytes"))?;
    Ok(named("text", tertulia_context::truncate_to_bytes(&text, bytes_max)))
}

pub(super) fn format_addressees(params: &mut Params<'_>) -> Answer {
    let addressees = params.object.take_with("addressees", read_addressees)?;
    Ok(named("text", tertulia_context::format_addressees(addressees.as_deref())))
}

/// Counts messages and tools as a model would be told of them.
pub(super) fn estimate_tokens(params: &mut Params<'_>) -> Answer {
    let raw = params.object.need("messages", "a list of messages, [] for none")?;
    let messages = each(raw, read_entry_message).map_err(|error| error.within("messages"))?;
    let tools = |raw| each(raw, read_tool_spec);
    let tools = params.object.take_with("toolSpecs", tools)?.unwrap_or_default();
    let tokenizer = params.object.take_with("tokenizer", read_word)?.unwrap_or_default();
    let counter = MessageCounter::new(tokenizer);
    let messages = messages.iter().map(|message| counter.count_message(message).count);
    let count = messages.sum::<TokenCount>() + counter.count_tools(&tools);
    Ok(named("tokens", count.tokens))
}

/// How markers are taken out, by the name of the whitespace mode.
pub(super) fn read_strip(raw: &RawValue) -> Result<Strip, FieldError> {
    match json::text(raw)?.as_str() {
        "compact" => Ok(Strip::COMPACT),
        "preserve" => Ok(Strip::Preserve),
        other => Err(not_one_of("\"compact\" or \"preserve\"", other)),
    }
}

/// Any number is a limit here: nothing fits into a negative one, and a fraction of a byte is none.
fn byte_limit(raw: &RawValue) -> Result<usize, FieldError> {
    if Kind::from(raw) != Kind::Number {
        return Err(FieldError::wrong_kind("a number of bytes", raw));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast rounds towards zero and saturates, which is what is wanted"
    )]
    let limit = raw.get().parse::<f64>().map_or(0, |bytes| bytes as usize);
    Ok(limit)
}
