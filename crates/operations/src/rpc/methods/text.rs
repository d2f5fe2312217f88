//! The methods that need no conversation: texts in, texts out.

use serde::Serialize;
use tertulia_context::{AgentType, Strip};
use tertulia_session::json::{self, FieldError, Kind, Problem, RawValue};
use tertulia_session::record::read_addressees;

use super::Params;
use crate::rpc::error::RpcError;
use crate::rpc::protocol::to_json;

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

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

pub(super) fn strip_all_markers(params: &mut Params<'_>) -> Result<String, RpcError> {
    let text = params.object.need_text("text")?;
    let strip = params.object.take_with("mode", read_strip)?.unwrap_or(Strip::COMPACT);
    let stripped = tertulia_context::strip_markers(&text, strip).text;
    Ok(to_json(&Text { text: &stripped }))
}

pub(super) fn parse_markers(params: &mut Params<'_>) -> Result<String, RpcError> {
    let markers = tertulia_context::parse_markers(&params.object.need_text("text")?);
    let next = markers.next.iter();
    let record = MarkersRecord {
        next: next
            .map(|next| NextRecord { name: &next.name, intent: next.intent.as_str() })
            .collect(),
        drop: &markers.drop,
        from: markers.from.as_deref(),
        team_task: markers.team_task.as_deref(),
        clean_text: &markers.clean_text,
    };
    Ok(to_json(&record))
}

pub(super) fn normalize_agent_type(params: &mut Params<'_>) -> Result<String, RpcError> {
    #[derive(Serialize)]
    struct Type<'a> {
        r#type: &'a str,
    }
    let normalized = AgentType::named(&params.object.need_text("type")?);
    Ok(to_json(&Type { r#type: normalized.as_str() }))
}

pub(super) fn truncate_to_bytes(params: &mut Params<'_>) -> Result<String, RpcError> {
    let text = params.object.need_text("text")?;
    let raw = params.object.need("maxBytes", "a number of bytes")?;
    let bytes_max = byte_limit(raw).map_err(|error| error.within("maxBytes"))?;
    Ok(to_json(&Text { text: tertulia_context::truncate_to_bytes(&text, bytes_max) }))
}

pub(super) fn format_addressees(params: &mut Params<'_>) -> Result<String, RpcError> {
    let addressees = params.object.take_with("addressees", read_addressees)?;
    Ok(to_json(&Text { text: &tertulia_context::format_addressees(addressees.as_deref()) }))
}

/// How markers are taken out, by the name of the whitespace mode.
pub(super) fn read_strip(raw: &RawValue) -> Result<Strip, FieldError> {
    match json::text(raw)?.as_str() {
        "compact" => Ok(Strip::COMPACT),
        "preserve" => Ok(Strip::Preserve),
        other => Err(FieldError::new(Problem::NotOneOf {
            allowed: "\"compact\" or \"preserve\"",
            got: other.chars().take(40).collect(),
        })),
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
