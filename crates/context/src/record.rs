//! What assemblers take and give, and snapshots, as JSON. Called by the doors; the shapes are part of
//! the contract.

use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use tertulia_session::ConversationMessage;
use tertulia_session::json::{FieldError, Object, RawValue, elements, whole_number};
use tertulia_session::record::ConversationMessageRecord;

use crate::manager::DEFAULT_MAX_BYTES;
use crate::{AssemblerInput, ContextKind, ContextMessage, ContextSnapshot, Prompt, SectionBytes};

/// Reads what an assembler takes. Fields that it does not know are passed over.
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

/// What an assembler takes, as JSON.
pub struct AssemblerInputRecord<'a>(pub &'a AssemblerInput<'a>);

/// A prompt and its numbers, as JSON.
pub struct PromptRecord<'a> {
    pub prompt: &'a Prompt<'a>,
    /// How much is told of it.
    pub detail: Detail,
}

/// How much is told of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Its size.
    Totals,
    /// The size of every section too.
    Sections,
}

struct SectionBytesRecord(SectionBytes);

struct ContextMessagesRecord<'a>(&'a [ContextMessage<'a>]);
struct ContextMessageRecord<'a>(&'a ContextMessage<'a>);

impl Serialize for AssemblerInputRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("contextMessages", &ContextMessagesRecord(&self.0.context_messages))?;
        map.serialize_entry("currentMessage", &self.0.current_message)?;
        map.serialize_entry("teamTask", &self.0.team_task)?;
        if let Some(text) = &self.0.system_instruction {
            map.serialize_entry("systemInstruction", text)?;
        }
        if let Some(text) = &self.0.instruction_file_text {
            map.serialize_entry("instructionFileText", text)?;
        }
        map.serialize_entry("maxBytes", &self.0.max_bytes)?;
        map.end()
    }
}

impl Serialize for ContextMessagesRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|one| list.serialize_element(&ContextMessageRecord(one)))?;
        list.end()
    }
}

impl Serialize for ContextMessageRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("from", &self.0.from)?;
        if let Some(to) = &self.0.to {
            map.serialize_entry("to", to)?;
        }
        map.serialize_entry("content", &self.0.content)?;
        map.end()
    }
}

impl Serialize for PromptRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_fields(&mut map)?;
        map.end()
    }
}

impl PromptRecord<'_> {
    /// Writes its fields into an object that may have others.
    pub fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("prompt", &self.prompt.to_text())?;
        if let Some(flag) = self.prompt.system_flag() {
            map.serialize_entry("systemFlag", &flag)?;
        }
        map.serialize_entry("status", self.prompt.status().as_str())?;
        map.serialize_entry("bytes", &self.prompt.bytes().total())?;
        map.serialize_entry("keptContext", &self.prompt.kept_context())?;
        map.serialize_entry("droppedContext", &self.prompt.dropped_context())?;
        match self.detail {
            Detail::Totals => Ok(()),
            Detail::Sections => {
                map.serialize_entry("sections", &SectionBytesRecord(self.prompt.bytes()))
            }
        }
    }
}

impl Serialize for SectionBytesRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("system", &self.0.system)?;
        map.serialize_entry("teamTask", &self.0.team_task)?;
        map.serialize_entry("context", &self.0.context)?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("separators", &self.0.separators)?;
        map.end()
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
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for message in self.0 {
            list.serialize_element(&ConversationMessageRecord(message))?;
        }
        list.end()
    }
}
