//! Errors of building a context. Each has a sentence with the location and the fix for people, and the same data as
//! fields for programs.

use serde::ser::{Serialize, SerializeMap, Serializer};
use tertulia_context::builder::{ContextError, FloorItem, FloorPart, InvalidInput};
use tertulia_session::EntryId;
use tertulia_session::json::FieldError;
use tertulia_session::record::EntryReadError;

/// An error of building a context.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    #[error(transparent)]
    Field(#[from] FieldError),
    /// `index` is the position of the entry in the list, starting at 0.
    #[error("sessionEntries[{index}]: {cause}")]
    Entry {
        index: usize,
        #[source]
        cause: EntryReadError,
    },
    #[error(transparent)]
    Context(#[from] ContextError),
}

impl BuildError {
    /// Returns the name of the error, which is the same on every interface.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Field(_) | Self::Entry { .. } => "ContextInvalidInput",
            Self::Context(error) => error.code(),
        }
    }

    pub(super) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Context(ContextError::field(field, problem))
    }

    /// Writes the data of the error besides its code.
    pub fn write_data<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("category", "context")?;
        map.serialize_entry("retryable", &false)?;
        match self {
            Self::Field(error) => write_location(map, None, Some(&error.path)),
            Self::Entry { index, cause } => {
                let nameless = format!("sessionEntries[{index}]");
                let (entry, field) = location_in_entry(cause, &nameless);
                write_location(map, entry, Some(&field))
            }
            Self::Context(ContextError::InvalidInput(InvalidInput { entry, field, .. })) => {
                write_location(map, entry.as_ref(), field.as_deref())
            }
            Self::Context(ContextError::Overflow(overflow)) => {
                map.serialize_entry("floor", &overflow.floor)?;
                map.serialize_entry("limit", &overflow.limit)?;
                let biggest: Vec<_> = overflow.biggest.iter().map(FloorRecord).collect();
                map.serialize_entry("biggest", &biggest)
            }
            Self::Context(ContextError::CompactionFailed { reason }) => {
                map.serialize_entry("reason", reason)
            }
            Self::Context(_) => Ok(()),
        }
    }
}

fn location_in_entry<'a>(
    error: &'a EntryReadError,
    nameless: &str,
) -> (Option<&'a EntryId>, String) {
    match error {
        EntryReadError::Nameless(cause) => (None, cause.clone().within(nameless).path),
        EntryReadError::Field { entry, cause } => (Some(entry), cause.path.clone()),
        EntryReadError::Version { entry, .. } => (Some(entry), "payload.version".to_owned()),
        _ => (None, nameless.to_owned()),
    }
}

fn write_location<M: SerializeMap>(
    map: &mut M,
    entry: Option<&EntryId>,
    field: Option<&str>,
) -> Result<(), M::Error> {
    if let Some(entry) = entry {
        map.serialize_entry("entry", entry.as_str())?;
    }
    match field {
        None | Some("") => Ok(()),
        Some(field) => map.serialize_entry("field", field),
    }
}

struct FloorRecord<'a>(&'a FloorItem);

impl Serialize for FloorRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        match &self.0.what {
            FloorPart::SystemPrompt => map.serialize_entry("part", "systemPrompt")?,
            FloorPart::Tools => map.serialize_entry("part", "toolSpecs")?,
            FloorPart::RuntimeHints => map.serialize_entry("part", "runtimeHints")?,
            FloorPart::Entry(id) => map.serialize_entry("entry", id.as_str())?,
        }
        map.serialize_entry("tokens", &self.0.tokens)?;
        map.end()
    }
}
