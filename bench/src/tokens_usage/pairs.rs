//! Reads a transcript of Claude Code as pairs of successive calls. Lines of one answer share its id; the user's
//! lines between two calls belong to the pair.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Deserializer, Value};
use tertulia_context::tokens::MessageCounter;
use tertulia_session::json::Json;
use tertulia_session::{Message, Part, PartKind, Speaker, SpeakerType, ToolCall, ToolResult};

/// The messages that were added between two calls, and their tokens.
pub(crate) struct Pair {
    pub(crate) answer: Message,
    pub(crate) reply: Message,
    /// The tokens of the second prompt minus those of the first.
    pub(crate) tokens: u64,
    /// Whether the answer has thinking.
    pub(crate) thinks: bool,
}

/// The number of skipped pairs, by reason.
#[derive(Debug, Default)]
pub(crate) struct Skipped(BTreeMap<&'static str, u32>);

/// A call that is being read.
struct Call {
    id: String,
    model: String,
    prompt_tokens: u64,
    answer: Vec<PartKind>,
    reply: Vec<PartKind>,
    /// The reason why it and the next call are not a pair.
    broken: Option<&'static str>,
}

impl Pair {
    pub(crate) fn count(&self, counter: &MessageCounter) -> u64 {
        let count = |message| counter.count_message(message).count.tokens;
        count(&self.answer) + count(&self.reply)
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<_> = self.0.iter().map(|(why, times)| format!("{times} {why}")).collect();
        f.write_str(&reasons.join(", "))
    }
}

/// Reads a transcript. Skips lines that are not JSON; a line may contain two records.
pub(crate) fn read(transcript: &str, skipped: &mut Skipped) -> Vec<Pair> {
    let mut calls: Vec<Call> = Vec::new();
    for line in transcript.lines() {
        let records = Deserializer::from_str(line).into_iter::<Value>();
        for record in records.map_while(Result::ok) {
            take(&record, &mut calls);
        }
    }
    let mut pairs = Vec::new();
    for index in 1..calls.len() {
        let next = (calls[index].prompt_tokens, calls[index].model.clone());
        let call = &mut calls[index - 1];
        match call.pair(&next) {
            Ok(pair) => pairs.push(pair),
            Err(why) => *skipped.0.entry(why).or_default() += 1,
        }
    }
    pairs
}

impl Call {
    fn pair(&mut self, (prompt_tokens, model): &(u64, String)) -> Result<Pair, &'static str> {
        if let Some(why) = self.broken {
            return Err(why);
        }
        if self.model != *model {
            return Err("another model");
        }
        let added = prompt_tokens.checked_sub(self.prompt_tokens).filter(|added| *added > 0);
        let tokens = added.ok_or("not longer than before")?;
        let thinks = self.answer.iter().any(|part| matches!(part, PartKind::Thinking(_)));
        let (answer, reply) = (std::mem::take(&mut self.answer), std::mem::take(&mut self.reply));
        Ok(Pair { answer: message(answer), reply: message(reply), tokens, thinks })
    }
}

fn message(parts: Vec<PartKind>) -> Message {
    let mut message = Message::said(Speaker::new("a", "A", SpeakerType::Ai), "");
    message.parts = parts.into_iter().map(Part::new).collect();
    message
}

fn take(record: &Value, calls: &mut Vec<Call>) {
    if record["isSidechain"] == true {
        return;
    }
    match (text(&record["type"]), text(&record["subtype"])) {
        ("assistant", _) => take_answer(&record["message"], calls),
        ("user", _) => {
            if let Some(call) = calls.last_mut() {
                call.add_reply(&record["message"]["content"]);
            }
        }
        ("system", "compact_boundary" | "microcompact_boundary") => break_off(calls, "compaction"),
        ("system", "api_error") => break_off(calls, "API error"),
        _ => {}
    }
}

fn take_answer(message: &Value, calls: &mut Vec<Call>) {
    if text(&message["model"]) == "<synthetic>" {
        return break_off(calls, "synthetic answer");
    }
    let id = text(&message["id"]);
    if calls.last().is_none_or(|call| call.id != id) {
        if calls.iter().any(|call| call.id == id) {
            return break_off(calls, "answers out of order");
        }
        calls.push(Call {
            id: id.to_owned(),
            model: text(&message["model"]).to_owned(),
            prompt_tokens: 0,
            answer: Vec::new(),
            reply: Vec::new(),
            broken: None,
        });
    }
    let Some(call) = calls.last_mut() else {
        return;
    };
    let usage = &message["usage"];
    let fields = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    call.prompt_tokens = fields.iter().filter_map(|field| usage[field].as_u64()).sum();
    for block in message["content"].as_array().into_iter().flatten() {
        call.answer.extend(answer_part(block));
    }
}

fn break_off(calls: &mut [Call], why: &'static str) {
    if let Some(call) = calls.last_mut() {
        call.broken = Some(why);
    }
}

impl Call {
    fn add_reply(&mut self, content: &Value) {
        if let Value::String(text) = content {
            self.reply.push(PartKind::Text(text.clone()));
        }
        for block in content.as_array().into_iter().flatten() {
            match text(&block["type"]) {
                "text" => self.reply.push(PartKind::Text(text(&block["text"]).to_owned())),
                "tool_result" if !has_image(block) => self.reply.extend(tool_result(block)),
                _ => self.broken = Some("image"),
            }
        }
    }
}

fn answer_part(block: &Value) -> Option<PartKind> {
    Some(match text(&block["type"]) {
        "text" => PartKind::Text(text(&block["text"]).to_owned()),
        "thinking" => PartKind::Thinking(text(&block["thinking"]).to_owned()),
        "tool_use" => PartKind::ToolCall(Box::new(ToolCall {
            tool_call_id: text(&block["id"]).into(),
            tool_name: text(&block["name"]).into(),
            arguments: Json::parse(&block["input"].to_string()).ok()?,
            raw_args_text: None,
        })),
        _ => return None,
    })
}

fn tool_result(block: &Value) -> Option<PartKind> {
    Some(PartKind::ToolResult(Box::new(ToolResult {
        tool_call_id: text(&block["tool_use_id"]).into(),
        is_error: block["is_error"] == true,
        content: Json::parse(&block["content"].to_string()).ok()?,
    })))
}

fn has_image(block: &Value) -> bool {
    let blocks = block["content"].as_array().into_iter().flatten();
    blocks.into_iter().any(|inner| text(&inner["type"]) != "text")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, tokens: u64, content: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","usage":{{"input_tokens":1,"cache_read_input_tokens":{tokens}}},"content":[{content}]}}}}"#
        )
    }

    #[test]
    fn lines_of_one_answer_are_one_call() {
        let said = r#"{"type":"text","text":"a"}"#;
        let user = r#"{"type":"user","message":{"content":"b"}}"#;
        let lines =
            [answer("1", 10, said), answer("1", 10, said), user.into(), answer("2", 25, said)];
        let pairs = read(&lines.join("\n"), &mut Skipped::default());
        assert_eq!(pairs.len(), 1);
        assert_eq!((pairs[0].tokens, pairs[0].answer.parts.len()), (15, 2));
        assert_eq!(pairs[0].reply.text(), "b");
    }

    #[test]
    fn a_compaction_ends_the_pair_and_is_reported() {
        let cut = r#"{"type":"system","subtype":"compact_boundary"}"#;
        let lines = [answer("1", 10, ""), cut.into(), answer("2", 25, ""), answer("3", 5, "")];
        let mut skipped = Skipped::default();
        assert!(read(&lines.join("\n"), &mut skipped).is_empty());
        assert_eq!(skipped.to_string(), "1 compaction, 1 not longer than before");
    }
}
