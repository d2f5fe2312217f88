//! The method that counts: messages and tools as a model would be told of them.

use serde::Serialize;
use tertulia_context::tokens::{MessageCounter, TokenCount, Tokenizer, ToolSpec};
use tertulia_session::json::{
    FieldError, Json, Object, Problem, RawValue, boolean, elements, text,
};
use tertulia_session::record::read_entry_message;

use super::Params;
use crate::rpc::error::RpcError;
use crate::rpc::protocol::to_json;

#[derive(Serialize)]
struct Tokens {
    tokens: u64,
}

pub(super) fn estimate_tokens(params: &mut Params<'_>) -> Result<String, RpcError> {
    let raw = params.object.need("messages", "a list of messages, [] for none")?;
    let messages = each(raw, read_entry_message).map_err(|error| error.within("messages"))?;
    let tools = |raw| each(raw, read_tool_spec);
    let tools = params.object.take_with("toolSpecs", tools)?.unwrap_or_default();
    let tokenizer = params.object.take_with("tokenizer", read_tokenizer)?.unwrap_or_default();
    let counter = MessageCounter::new(tokenizer);
    let messages = messages.iter().map(|message| counter.count_message(message).count);
    let count = messages.sum::<TokenCount>() + counter.count_tools(&tools);
    Ok(to_json(&Tokens { tokens: count.tokens }))
}

fn each<T>(
    raw: &RawValue,
    read: impl Fn(&RawValue) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let read = |(index, raw)| read(raw).map_err(|error| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

fn read_tool_spec(raw: &RawValue) -> Result<ToolSpec, FieldError> {
    let mut object = Object::of(raw)?;
    Ok(ToolSpec {
        name: object.need_text("name")?.into(),
        description: object.take_text("description")?.map(Into::into),
        parameter_schema: Json::of(object.need("parameterSchema", "a JSON Schema")?),
        strict: object.take_with("strict", boolean)?,
    })
}

fn read_tokenizer(raw: &RawValue) -> Result<Tokenizer, FieldError> {
    let got = text(raw)?;
    let allowed = "o200k, cl100k, gemma, claude or bytes";
    Tokenizer::parse(&got).ok_or_else(|| FieldError::new(Problem::NotOneOf { allowed, got }))
}
