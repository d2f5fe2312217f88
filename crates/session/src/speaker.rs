//! The speaker of a message. All messages of one speaker share it; it does not depend on teams or agents.

use crate::Fields;

/// The speaker of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The member's id. Never empty in a stored message.
    pub role_id: Box<str>,
    /// The name shown in prompts; the id if the source gave none.
    pub role_name: Box<str>,
    pub role_title: Option<Box<str>>,
    /// Human, AI or system; `None` if the source has no kind, which counts as "not an AI".
    pub kind: Option<SpeakerType>,
    pub unknown: Fields,
}

/// The kind of a speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeakerType {
    Human,
    Ai,
    System,
    /// A kind that this version does not know, kept as it was written.
    Other(Box<str>),
}

impl Speaker {
    /// Creates a speaker with a name and no title.
    pub fn new(id: impl Into<Box<str>>, name: impl Into<Box<str>>, kind: SpeakerType) -> Self {
        Self {
            role_id: id.into(),
            role_name: name.into(),
            role_title: None,
            kind: Some(kind),
            unknown: Fields::NONE,
        }
    }

    /// Returns whether it is known to be a person.
    pub fn is_human(&self) -> bool {
        self.kind == Some(SpeakerType::Human)
    }

    /// Returns whether it is known to be an agent.
    pub fn is_ai(&self) -> bool {
        self.kind == Some(SpeakerType::Ai)
    }
}

impl SpeakerType {
    /// Returns the word in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Human => "human",
            Self::Ai => "ai",
            Self::System => "system",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for SpeakerType {
    fn from(word: &str) -> Self {
        match word {
            "human" => Self::Human,
            "ai" => Self::Ai,
            "system" => Self::System,
            other => Self::Other(other.into()),
        }
    }
}
