//! What assemblers take and give, as JSON. Called by the doors; the shapes are part of the contract.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use tertulia_session::json::{FieldError, Object, RawValue, elements, whole_number};

use crate::manager::DEFAULT_MAX_BYTES;
use crate::{AssemblerInput, AssemblerOutput, ContextMessage, SectionBytes};

/// Reads what an assembler takes. Fields that it does not know are passed over.
pub fn read_assembler_input(raw: &RawValue) -> Result<AssemblerInput<'static>, FieldError> {
    let mut object = Object::of(raw)?;
    let context = object.take("contextMessages").ok_or_else(|| {
        FieldError::missing("contextMessages", "a list of {from, to?, content}, [] for none")
    })?;
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
    let mut object = Object::of(raw)?;
    Ok(ContextMessage {
        from: Cow::Owned(object.need_text("from")?),
        to: object.take_text("to")?.map(Cow::Owned),
        content: Cow::Owned(object.need_text("content")?),
    })
}

/// What an assembler takes, as JSON.
pub struct AssemblerInputRecord<'a>(pub &'a AssemblerInput<'a>);

/// What an assembler gives, as JSON.
pub struct AssemblerOutputRecord<'a>(pub &'a AssemblerOutput);

/// The sizes of sections, as JSON.
pub struct SectionBytesRecord(pub SectionBytes);

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

impl Serialize for AssemblerOutputRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("prompt", &self.0.prompt)?;
        if let Some(flag) = &self.0.system_flag {
            map.serialize_entry("systemFlag", flag)?;
        }
        map.serialize_entry("status", self.0.status.as_str())?;
        map.serialize_entry("bytes", &self.0.bytes.total())?;
        map.serialize_entry("keptContext", &self.0.kept_context)?;
        map.serialize_entry("droppedContext", &self.0.dropped_context)?;
        map.serialize_entry("sections", &SectionBytesRecord(self.0.bytes))?;
        map.end()
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
