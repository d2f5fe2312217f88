//! The methods that work on a conversation, and those that need none: they convert and count texts and messages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroUsize;

use serde::Serialize;
use tertulia_context::record::{
    Detail, MessagesRecord, PromptRecord, SnapshotRecord, read_assembler_input,
};
use tertulia_context::tokens::{MessageCounter, TokenCount};
use tertulia_context::{
    AddMessageError, AgentType, ContextManagerOptions, ContextRequest, ContextSnapshot, Strip,
};
use tertulia_session::json::{
    FieldError, Kind, Object, Problem, RawValue, boolean, each, text, whole_number,
};
use tertulia_session::record::{
    ConversationMessageRecord, MessageError, read_addressees, read_entry_message, read_message,
};

use super::{Answer, Params, count, named};
use crate::model_context::{not_one_of, read_tool_spec, read_word};
use crate::rpc::RpcServer;
use crate::to_json;

impl RpcServer {
    pub(super) fn create_conversation(&mut self, params: &mut Params<'_>) -> Answer {
        let object = &mut params.object;
        let mut options = ContextManagerOptions::default();
        if let Some(size) = object.take_with("contextWindowSize", count)? {
            options.context_window_size = size;
        }
        if let Some(windows) = object.take_with("memberWindows", member_windows)? {
            options.member_windows = windows;
        }
        if let Some(max_bytes) = object.take_with("maxBytes", whole_number)? {
            options.max_bytes = max_bytes;
        }
        if let Some(strip) = object.take_with("whitespace", read_strip)? {
            options.strip = strip;
        }
        let messages_max = object.take_with("maxMessages", at_least_one)?;
        self.conversations.create(&params.conversation, options, messages_max);
        Ok(named("conversation", &params.conversation))
    }

    pub(super) fn add_message(&mut self, params: &mut Params<'_>) -> Answer {
        let manager = self.conversations.get(&params.conversation)?;
        let raw = params.object.take("message").ok_or(AddMessageError::from(MessageError::Null))?;
        let message = read_message(raw).map_err(AddMessageError::from)?;
        let added = manager.add_message(message)?;
        Ok(to_json(&ConversationMessageRecord(&added)))
    }

    pub(super) fn get_messages(&mut self, params: &mut Params<'_>) -> Answer {
        let messages = self.conversations.get(&params.conversation)?.get_messages();
        Ok(named("messages", MessagesRecord(&messages)))
    }

    pub(super) fn get_latest_message(&mut self, params: &mut Params<'_>) -> Answer {
        let latest = self.conversations.get(&params.conversation)?.get_latest_message();
        Ok(to_json(&latest.map(|message| ConversationMessageRecord(message))))
    }

    pub(super) fn set_team_task(&mut self, params: &mut Params<'_>) -> Answer {
        let manager = self.conversations.get(&params.conversation)?;
        let raw = params.object.need("task", "a string, or null for none")?;
        if Kind::from(raw) == Kind::Null {
            manager.clear_team_task();
        } else {
            manager.set_team_task(text(raw).map_err(|error| error.within("task"))?);
        }
        Ok(named("task", manager.get_team_task()))
    }

    pub(super) fn get_team_task(&mut self, params: &mut Params<'_>) -> Answer {
        let task = self.conversations.get(&params.conversation)?.get_team_task();
        Ok(named("task", task))
    }

    pub(super) fn get_context_for_agent(&mut self, params: &mut Params<'_>) -> Answer {
        let manager = self.conversations.get(&params.conversation)?;
        let agent_id = params.object.need_text("agentId")?;
        let agent_type = params.object.need_text("agentType")?;
        let mut options = params.object.take_with("options", read_options)?.unwrap_or_default();
        params.passed_over.append(&mut options.passed_over);
        let request = ContextRequest {
            window_size: options.window_size,
            system_instruction: options.system_instruction.as_deref(),
            instruction_file_text: options.instruction_file_text.as_deref(),
        };
        let input = manager.get_context_for_agent(&agent_id, &agent_type, &request);
        Ok(to_json(&input))
    }

    pub(super) fn assemble_prompt(&mut self, params: &mut Params<'_>) -> Answer {
        let manager = self.conversations.get(&params.conversation)?;
        let agent_type = params.object.need_text("agentType")?;
        let raw = params.object.need("input", "an AssemblerInput")?;
        let input = read_assembler_input(raw).map_err(|error| error.within("input"))?;
        let detail = match params.object.take_with("explain", boolean)? {
            Some(true) => Detail::Sections,
            Some(false) | None => Detail::Totals,
        };
        let prompt = manager.plan_prompt(&agent_type, &input);
        Ok(to_json(&PromptRecord::new(&prompt, detail)))
    }

    pub(super) fn clear(&mut self, params: &mut Params<'_>) -> Answer {
        self.conversations.get(&params.conversation)?.clear();
        Ok("{}".to_owned())
    }

    pub(super) fn export_snapshot(&mut self, params: &mut Params<'_>) -> Answer {
        let now = (self.now_millis)();
        let snapshot = self.conversations.get(&params.conversation)?.export_snapshot(now);
        Ok(to_json(&SnapshotRecord(&snapshot)))
    }

    pub(super) fn import_snapshot(&mut self, params: &mut Params<'_>) -> Answer {
        let manager = self.conversations.get(&params.conversation)?;
        let snapshot = match params.object.take("snapshot") {
            Some(raw) => ContextSnapshot::read(raw)?,
            None => ContextSnapshot::parse("null")?,
        };
        manager.import_snapshot(snapshot)?;
        Ok(named("messageCount", manager.messages().len()))
    }
}

#[derive(Default)]
struct Options {
    window_size: Option<usize>,
    system_instruction: Option<String>,
    instruction_file_text: Option<String>,
    passed_over: Vec<String>,
}

fn read_options(raw: &RawValue) -> Result<Options, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(Options {
        window_size: object.take_with("windowSizeOverride", count)?,
        system_instruction: object.take_text("systemInstruction")?,
        instruction_file_text: object.take_text("instructionFileText")?,
        passed_over: object.names().map(|name| format!("options.{name}")).collect(),
    })
}

fn member_windows(raw: &RawValue) -> Result<HashMap<String, usize>, FieldError> {
    let read = |(name, raw): (Cow<'_, str>, &RawValue)| match count(raw) {
        Ok(size) => Ok((name.into_owned(), size)),
        Err(error) => Err(error.within(&name)),
    };
    Object::try_from(raw)?.into_fields().map(read).collect()
}

fn at_least_one(raw: &RawValue) -> Result<NonZeroUsize, FieldError> {
    let too_small = || FieldError::new(Problem::TooSmall { min: 1, got: 0 });
    NonZeroUsize::new(count(raw)?).ok_or_else(too_small)
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

pub(super) fn strip_all_markers(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
    let text = params.object.need_text("text")?;
    let strip = params.object.take_with("mode", read_strip)?.unwrap_or(Strip::COMPACT);
    Ok(named("text", &tertulia_context::strip_markers(&text, strip).text))
}

pub(super) fn parse_markers(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
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

pub(super) fn normalize_agent_type(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
    let normalized = AgentType::named(&params.object.need_text("type")?);
    Ok(named("type", normalized.as_str()))
}

pub(super) fn truncate_to_bytes(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
    let text = params.object.need_text("text")?;
    let raw = params.object.need("maxBytes", "a number of bytes")?;
    let bytes_max = byte_limit(raw).map_err(|error| error.within("maxBytes"))?;
    Ok(named("text", tertulia_context::truncate_to_bytes(&text, bytes_max)))
}

pub(super) fn format_addressees(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
    let addressees = params.object.take_with("addressees", read_addressees)?;
    Ok(named("text", tertulia_context::format_addressees(addressees.as_deref())))
}

pub(super) fn estimate_tokens(_: &mut RpcServer, params: &mut Params<'_>) -> Answer {
    let raw = params.object.need("messages", "a list of messages, [] for none")?;
    let messages: Result<Vec<_>, _> = each(raw, read_entry_message);
    let messages = messages.map_err(|error| error.within("messages"))?;
    let tools = |raw| each::<_, Vec<_>>(raw, read_tool_spec);
    let tools = params.object.take_with("toolSpecs", tools)?.unwrap_or_default();
    let tokenizer = params.object.take_with("tokenizer", read_word)?.unwrap_or_default();
    let counter = MessageCounter::new(tokenizer);
    let messages = messages.iter().map(|message| counter.count_message(message).count);
    let count = messages.sum::<TokenCount>() + counter.count_tools(&tools);
    Ok(named("tokens", count.tokens))
}

fn read_strip(raw: &RawValue) -> Result<Strip, FieldError> {
    match text(raw)?.as_str() {
        "compact" => Ok(Strip::COMPACT),
        "preserve" => Ok(Strip::Preserve),
        other => Err(not_one_of("\"compact\" or \"preserve\"", other)),
    }
}

/// Reads a limit in bytes. Any number is valid: nothing fits into a negative limit, and fractions of a byte are
/// ignored.
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
