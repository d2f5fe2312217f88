//! What an entry is. A closed set, and a place for types that this version does not know.

use super::payload::{
    BranchSummary, CompactionSummary, ContextCut, ModelChange, Purged, Redaction, RuntimeInit,
    SessionHeader, SystemPromptOverride, TeamTask, ThinkingLevelChange, Usage,
};
use super::setting::{SessionSetting, Setting};
use super::turn::{Turn, TurnEvent};
use crate::Message;
use crate::json::{Json, Kind};

/// What an entry is, with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The first entry of a log.
    SessionHeader(SessionHeader),
    /// Somebody said something.
    Message(Message),
    /// Another model answers from here on.
    ModelChange(ModelChange),
    /// The model thinks more or less from here on.
    ThinkingLevelChange(ThinkingLevelChange),
    /// What a run found around it, such as the folder and the system.
    RuntimeInit(RuntimeInit),
    /// Another system prompt from here on.
    SystemPromptOverride(SystemPromptOverride),
    /// The team's task was set or taken away.
    TeamTask(TeamTask),
    /// A text that stands for a range of entries.
    CompactionSummary(Box<CompactionSummary>),
    /// Tool outputs were elided, or entries dropped, without a summary.
    ContextCut(ContextCut),
    /// Where a branch came from, and what was said there.
    BranchSummary(BranchSummary),
    /// The text of another entry is to be seen no more.
    Redaction(Redaction),
    /// What is left of an entry whose bytes a redaction took away.
    Purged(Purged),
    /// A member's turn changed its state.
    Turn(Box<Turn>),
    /// Something happened during a turn and is no message.
    TurnEvent(TurnEvent),
    /// Something about the session holds from here on.
    SessionSetting(SessionSetting),
    /// What an answer cost.
    Usage(Usage),
    /// Another program's own; `None` where there was no payload.
    Custom(Option<Json>),
    /// A type that this version does not know.
    Other(OtherEntry),
}

/// An entry of a type that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEntry {
    /// The word in `type`.
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
