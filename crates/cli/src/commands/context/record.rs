//! A prompt and its verdicts as JSON, for programs that ask why.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tertulia_context::record::PromptRecord;
use tertulia_context::{DropReason, Fate, Section};

/// The answer of `tertulia context --json`.
#[derive(Serialize)]
pub(super) struct ContextRecord<'a> {
    #[serde(flatten)]
    pub(super) prompt: PromptRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdicts: Option<Vec<VerdictRecord<'a>>>,
}

/// What became of a message.
pub(super) struct VerdictRecord<'a> {
    pub(super) id: &'a dyn Display,
    pub(super) fate: &'a Fate,
}

impl Serialize for VerdictRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id.to_string())?;
        let fate = self.fate;
        // The word for a dropped message is its reason.
        let word = match fate {
            Fate::Dropped { reason } => reason.as_str(),
            fate => fate.as_str(),
        };
        map.serialize_entry("verdict", word)?;
        match fate {
            Fate::InPrompt { section, bytes } => {
                let section = match section {
                    Section::Context => "context",
                    Section::Message => "message",
                };
                map.serialize_entry("section", section)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Fate::Truncated { kept_bytes, bytes } => {
                map.serialize_entry("keptBytes", kept_bytes)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Fate::Dropped { reason: DropReason::OutsideWindow { behind } } => {
                map.serialize_entry("behind", behind)?;
            }
            Fate::Dropped { reason: DropReason::Duplicate { of } } => {
                map.serialize_entry("of", &of.to_string())?;
            }
            Fate::Dropped { reason: DropReason::OverBudget { bytes } } => {
                map.serialize_entry("bytes", bytes)?;
            }
            _ => {}
        }
        map.end()
    }
}
