//! The kinds of entries: a closed set, and a variant for types that this version does not know.

use serde::ser::SerializeMap;

use super::payload::{
    BranchSummary, CompactionSummary, ContextCut, ModelChange, NativeRecord, NativeSession, Purged,
    Recall, Redaction, RuntimeInit, SessionHeader, SessionSetting, Setting, SystemPromptOverride,
    TeamTask, ThinkingLevelChange, Usage,
};
use super::turn::{Turn, TurnEvent};
use crate::Message;
use crate::json::{FieldError, Json, Kind, RawValue};
use crate::record::field::Payload;

/// Defines the enum of the types whose payload is an object. Each has a variant, a payload and the word in `type`.
macro_rules! entry_kinds {
    ($($variant:ident($payload:ty) = $word:literal,)+) => {
        /// The kind of an entry, with its payload.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum EntryKind {
            $($variant($payload),)+
            /// An entry of another program; `None` if there was no payload.
            Custom(Option<Json>),
            Other(OtherEntry),
        }

        impl EntryKind {
            /// Returns the word in `type`.
            pub fn type_name(&self) -> &str {
                match self {
                    // Version 1 had no types for these entries.
                    Self::TurnEvent(TurnEvent { source: Some(_), .. })
                    | Self::SessionSetting(SessionSetting { source: Some(_), .. })
                    | Self::Custom(_) => "custom",
                    Self::Other(other) => &other.type_name,
                    $(Self::$variant(_) => $word,)+
                }
            }

            /// Returns the reader for the payload of this type; `None` for a type with an arbitrary
            /// payload.
            pub(crate) fn reader(type_name: &str) -> Option<PayloadReader> {
                let read: PayloadReader = match type_name {
                    $($word => |raw| Payload::read(raw).map(Self::$variant),)+
                    _ => return None,
                };
                Some(read)
            }

            /// Writes the fields of the payload, if it is an object.
            pub(crate) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(payload) => payload.write(map),)+
                    Self::Custom(_) | Self::Other(_) => Ok(()),
                }
            }
        }
    };
}

type PayloadReader = fn(&RawValue) -> Result<EntryKind, FieldError>;

entry_kinds! {
    SessionHeader(SessionHeader) = "session_header",
    Message(Message) = "message",
    ModelChange(ModelChange) = "model_change",
    ThinkingLevelChange(ThinkingLevelChange) = "thinking_level_change",
    RuntimeInit(RuntimeInit) = "runtime_init",
    SystemPromptOverride(SystemPromptOverride) = "system_prompt_override",
    TeamTask(TeamTask) = "team_task",
    CompactionSummary(Box<CompactionSummary>) = "compaction_summary",
    ContextCut(ContextCut) = "context_cut",
    BranchSummary(BranchSummary) = "branch_summary",
    Recall(Box<Recall>) = "recall",
    Redaction(Redaction) = "redaction",
    Purged(Purged) = "purged",
    Turn(Box<Turn>) = "turn",
    TurnEvent(TurnEvent) = "turn_event",
    SessionSetting(SessionSetting) = "session_setting",
    NativeRecord(NativeRecord) = "native_record",
    NativeSession(Box<NativeSession>) = "native_session",
    Usage(Usage) = "usage",
}

/// An entry of a type that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEntry {
    pub type_name: Box<str>,
    /// The payload, unchanged except for whitespace between tokens; `None` if there was none.
    pub payload: Option<Json>,
}

impl EntryKind {
    /// Returns whether it may contain text that somebody wrote. Such an entry is stored with a salt.
    pub fn holds_text(&self) -> bool {
        match self {
            Self::SessionHeader(header) => !header.unknown.is_empty(),
            Self::Turn(turn) => {
                let is_open =
                    turn.cause_source.as_ref().is_some_and(|cause| cause.kind() == Kind::Object);
                turn.prompt_recipe.is_some() || !turn.unknown.is_empty() || is_open
            }
            Self::Redaction(redaction) => {
                redaction.reason.is_some() || !redaction.unknown.is_empty()
            }
            Self::ContextCut(_) | Self::Usage(_) | Self::Purged(_) => false,
            _ => true,
        }
    }

    /// Returns the session setting, if it is one.
    pub fn setting(&self) -> Option<&Setting> {
        match self {
            Self::SessionSetting(setting) => Some(&setting.setting),
            _ => None,
        }
    }

    /// Returns the type, or the original type of a purged entry.
    pub fn shown_type_name(&self) -> &str {
        match self {
            Self::Purged(purged) => &purged.type_name,
            kind => kind.type_name(),
        }
    }
}
