//! What an entry is. A closed set, and a place for types that this version does not know.

use super::payload::{
    BranchSummary, CompactionSummary, ContextCut, ModelChange, Purged, Redaction, RuntimeInit,
    SessionHeader, SessionSetting, Setting, SystemPromptOverride, TeamTask, ThinkingLevelChange,
    Usage,
};
use super::turn::{Turn, TurnEvent};
use crate::Message;
use crate::json::{Json, Kind};

/// What an entry is, with its payload, whose type says more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    SessionHeader(SessionHeader),
    Message(Message),
    ModelChange(ModelChange),
    ThinkingLevelChange(ThinkingLevelChange),
    RuntimeInit(RuntimeInit),
    SystemPromptOverride(SystemPromptOverride),
    TeamTask(TeamTask),
    CompactionSummary(Box<CompactionSummary>),
    ContextCut(ContextCut),
    BranchSummary(BranchSummary),
    Redaction(Redaction),
    Purged(Purged),
    Turn(Box<Turn>),
    TurnEvent(TurnEvent),
    SessionSetting(SessionSetting),
    Usage(Usage),
    /// Another program's own; `None` where there was no payload.
    Custom(Option<Json>),
    Other(OtherEntry),
}

/// An entry of a type that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEntry {
    pub type_name: Box<str>,
    /// The payload, byte for byte but for blanks between tokens; `None` where there was none.
    pub payload: Option<Json>,
}

impl EntryKind {
    /// The word in `type`.
    pub fn type_name(&self) -> &str {
        match self {
            Self::SessionHeader(_) => "session_header",
            Self::Message(_) => "message",
            Self::ModelChange(_) => "model_change",
            Self::ThinkingLevelChange(_) => "thinking_level_change",
            Self::RuntimeInit(_) => "runtime_init",
            Self::SystemPromptOverride(_) => "system_prompt_override",
            Self::TeamTask(_) => "team_task",
            Self::CompactionSummary(_) => "compaction_summary",
            Self::ContextCut(_) => "context_cut",
            Self::BranchSummary(_) => "branch_summary",
            Self::Redaction(_) => "redaction",
            Self::Purged(_) => "purged",
            Self::Turn(_) => "turn",
            // Version 1 had no types for these.
            Self::TurnEvent(TurnEvent { source: Some(_), .. })
            | Self::SessionSetting(SessionSetting { source: Some(_), .. })
            | Self::Custom(_) => "custom",
            Self::TurnEvent(_) => "turn_event",
            Self::SessionSetting(_) => "session_setting",
            Self::Usage(_) => "usage",
            Self::Other(other) => &other.type_name,
        }
    }

    /// Whether it may hold words that somebody said or wrote. Such an entry is stored with a salt.
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

    /// What it says about the session, if it does.
    pub fn setting(&self) -> Option<&Setting> {
        match self {
            Self::SessionSetting(setting) => Some(&setting.setting),
            _ => None,
        }
    }

    /// What the entry was before its bytes were purged, if they were: the word that always shows.
    pub fn shown_type_name(&self) -> &str {
        match self {
            Self::Purged(purged) => &purged.type_name,
            kind => kind.type_name(),
        }
    }
}
