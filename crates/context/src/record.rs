//! The input and output of assemblers, and snapshots, as JSON. The forms are part of the contract.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tertulia_session::ConversationMessage;
use tertulia_session::json::{FieldError, Object, RawValue, elements, whole_number};
use tertulia_session::record::ConversationMessageRecord;

use crate::manager::DEFAULT_MAX_BYTES;
use crate::{
    AssemblerInput, AssemblerOutput, ContextKind, ContextMessage, ContextSnapshot, Prompt,
    PromptStatus, SectionBytes,
};

/// Reads the input of an assembler. Unknown fields are skipped.
pub fn read_assembler_input(raw: &RawValue) -> Result<AssemblerInput<'static>, FieldError> {
    let mut object = Object::try_from(raw)?;
    let context = object.need("contextMessages", "a list of {from, to?, content}, [] for none")?;
    let context_messages =
        read_context_messages(context).map_err(|error| error.within("contextMessages"))?;
    Ok(AssemblerInput {
        context_messages,
        current_message: Cow::Owned(object.need_text("currentMessage")?),
        team_task: object.take_text("teamTask")?.map(Cow::Owned),
        system_instruction: object.take_text("systemInstruction")?.map(Cow::Owned),
        instruction_file_text: object.take_text("instructionFileText")?.map(Cow::Owned),
        max_bytes: object.take_with("maxBytes", whole_number)?.unwrap_or(DEFAULT_MAX_BYTES),
    })
}

fn read_context_messages(raw: &RawValue) -> Result<Vec<ContextMessage<'static>>, FieldError> {
    let read = |(index, raw)| read_context_message(raw).map_err(|error| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

fn read_context_message(raw: &RawValue) -> Result<ContextMessage<'static>, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(ContextMessage {
        from: Cow::Owned(object.need_text("from")?),
        to: object.take_text("to")?.map(Cow::Owned),
        content: Cow::Owned(object.need_text("content")?),
        kind: ContextKind::Text,
    })
}

/// A prompt and its numbers, as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptRecord {
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_flag: Option<String>,
    pub status: PromptStatus,
    /// The bytes that count against the budget.
    pub bytes: usize,
    pub kept_context: usize,
    pub dropped_context: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<SectionBytes>,
}

/// The level of detail in the record of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Totals,
    Sections,
}

impl PromptRecord {
    /// Returns the record of a planned prompt.
    pub fn new(prompt: &Prompt<'_>, detail: Detail) -> Self {
        let AssemblerOutput { prompt, system_flag, status, bytes, kept_context, dropped_context } =
            prompt.output();
        let sections = (detail == Detail::Sections).then_some(bytes);
        let bytes = bytes.total();
        Self { prompt, system_flag, status, bytes, kept_context, dropped_context, sections }
    }
}

/// A snapshot as JSON.
pub struct SnapshotRecord<'a>(pub &'a ContextSnapshot);

/// A list of messages as JSON.
pub struct MessagesRecord<'a>(pub &'a [Arc<ConversationMessage>]);

impl Serialize for SnapshotRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("messages", &MessagesRecord(&self.0.messages))?;
        map.serialize_entry("teamTask", &self.0.team_task)?;
        if let Some(timestamp) = &self.0.timestamp {
            map.serialize_entry("timestamp", timestamp)?;
        }
        map.serialize_entry("version", &1)?;
        self.0.unknown.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl Serialize for MessagesRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|message| ConversationMessageRecord(message)))
    }
}
