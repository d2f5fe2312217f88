//! The method that counts: messages and tools as a model would be told of them.

use serde::Serialize;
use tertulia_context::tokens::{MessageCounter, TokenCount};
use tertulia_session::record::read_entry_message;

use super::Params;
use crate::model_context::{each, read_tokenizer, read_tool_spec};
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
