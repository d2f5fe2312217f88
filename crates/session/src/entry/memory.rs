//! The memory of an agent that keeps its own session from turn to turn: what a turn began from, why it could not
//! continue the session of the turn before, and why the provider's cache did not help.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::{FieldError, Json, Object, RawValue};
use crate::record::field::{Payload, Value, kinds, payloads};
use crate::word_enum::words;
use crate::{EntryId, TurnState};

words! {
    /// Whether an agent continues its own session.
    pub enum MemoryMode: "native, fresh or apart" {
        /// The agent keeps its own session and gets only what is new.
        Native = "native",
        /// The agent begins without a memory and gets the whole prompt.
        Fresh = "fresh",
        /// The agent gets the whole prompt and has no memory in this turn. Its own session stays as it is, and the next
        /// turn continues it.
        Apart = "apart",
    }
}

words! {
    /// Why the earlier part of a conversation was not in the cache of the provider.
    pub enum CacheMiss: "system, tools, model, history, expiry, vendor_compaction or unknown" {
        /// The system text was changed.
        System = "system",
        /// The program, its arguments or its permissions were changed, and so perhaps its tools.
        Tools = "tools",
        /// Another model answered.
        Model = "model",
        /// The conversation does not continue the one before.
        History = "history",
        /// The last turn is longer ago than the provider keeps its cache.
        Expiry = "expiry",
        /// The agent had shortened its own session.
        VendorCompaction = "vendor_compaction",
        Unknown = "unknown",
    }
}

payloads! {
    /// The memory of an agent when its turn began.
    pub struct TurnMemory {
        pub mode: MemoryMode = "mode",
        /// The newest entry that the agent's own session already covered. Absent if the turn began a new one.
        pub delivered: Option<EntryId> = "deliveredId",
        /// For a turn that began a new session: the oldest message that it contains word for word.
        pub first: Option<EntryId> = "firstId",
        /// For a turn that began a new session: the session of this log. A copy of the log must not continue it.
        pub session: Option<Box<str>> = "sessionId",
        /// For a turn that began a new session: a hash of each setting that must not change, as a JSON object.
        pub settings: Option<Json> = "settings",
        /// Why the turn could not continue the session of the turn before.
        pub fresh_start: Option<FreshStart> = "freshStart",
        later {
            /// The last entry before the end of the prompt, if the prompt did not contain what was said after it.
            pub until: Option<EntryId> = "untilId",
        }
        ..unknown
    }
}

kinds! {
    /// Why an agent with a memory of its own began a new session.
    #[non_exhaustive]
    pub enum FreshStart {
        /// The text of an entry that it had read was redacted.
        Redacted = "redacted" { entry: EntryId = "entryId" },
        /// The conversation continued on another branch.
        Branched = "branched" { entry: EntryId = "entryId" },
        /// These settings of the member were changed.
        SettingsChanged = "settings_changed" { what: Box<str> = "what" },
        /// A person had the conversation summarised.
        Summarized = "summarized" { entry: EntryId = "entryId" },
        /// The session of the agent was handed over or imported.
        NativeUsed = "native_used" { entry: EntryId = "entryId" },
        /// It is not known what the agent's session contains after this turn.
        TurnEnded = "turn_ended" { turn: EntryId = "turnId", state: TurnState = "state" },
        /// The agent's session is not as it was left after the last turn.
        Drifted = "drifted" { class: Box<str> = "class", message: Box<str> = "message" },
        /// The log was copied from this session, to which the agent's session belongs.
        OtherSession = "other_session" { session: Box<str> = "sessionId" },
        /// The log says that this member uses the same session of the agent.
        Shared = "shared" { member: Box<str> = "member" },
        /// The prompt did not fit into the agent's session any more.
        Overflow = "overflow",
        /// The record of the agent's session cannot be read.
        Unreadable = "unreadable",
        .. {
            /// A reason that this version does not know.
            Other(Json): FreshStart::Other(_) => ""
        }
    }
}

impl TurnMemory {
    /// Returns the record of a turn that begins a new session of the agent, or continues none.
    pub fn new(mode: MemoryMode) -> Self {
        Self {
            mode,
            delivered: None,
            first: None,
            session: None,
            settings: None,
            fresh_start: None,
            until: None,
            unknown: crate::Fields::NONE,
        }
    }

    /// Returns whether the turn continues a session of the agent.
    pub fn continues(&self) -> bool {
        self.mode == MemoryMode::Native && self.delivered.is_some()
    }
}

impl FreshStart {
    /// Returns the reason as a part of a sentence for people, after "because".
    ///
    /// ```
    /// use tertulia_session::FreshStart;
    ///
    /// let reason = FreshStart::SettingsChanged { what: "model".into() };
    /// assert_eq!(reason.reason(), "its settings were changed: model");
    /// ```
    pub fn reason(&self) -> String {
        match self {
            Self::Redacted { entry } => {
                format!("entry {entry}, which it may have read, was redacted")
            }
            Self::Branched { entry } => format!("the conversation was branched in {entry}"),
            Self::SettingsChanged { what } => format!("its settings were changed: {what}"),
            Self::Summarized { entry } => {
                format!("a person had the conversation summarised in {entry}")
            }
            Self::NativeUsed { entry } => {
                format!("its own session was handed over or imported in {entry}")
            }
            Self::TurnEnded { turn, state } => {
                let state = match state {
                    TurnState::Queued | TurnState::Started => "did not end",
                    TurnState::Done => "left no readable session",
                    TurnState::Failed => "failed",
                    TurnState::Cancelled => "was cancelled",
                    TurnState::Interrupted => "was interrupted",
                };
                format!("its last turn {turn} {state}")
            }
            Self::Drifted { class, message } if **class == *"not_begun" => message.to_string(),
            Self::Drifted { message, .. } => {
                format!("its own session cannot be continued: {message}")
            }
            Self::OtherSession { session } => {
                format!("its own session belongs to session {session}, of which this one is a copy")
            }
            Self::Shared { member } => {
                format!("the log says that {member} uses the same session of the agent")
            }
            Self::Overflow => "the prompt did not fit into its own session any more".to_owned(),
            Self::Unreadable => "the record of its own session cannot be read".to_owned(),
            Self::Other(source) => {
                format!("of a reason that this version does not know: {}", source.as_str())
            }
        }
    }
}

/// Serializes as an object with the fields of the payload.
impl Serialize for TurnMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Value for Box<TurnMemory> {
    fn expected(_name: &str) -> &'static str {
        "an object with a mode"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        <TurnMemory as Payload>::read(raw).map(Self::new)
    }
}

impl Serialize for FreshStart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Other(source) = self {
            return source.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.kind())?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Value for FreshStart {
    fn expected(_name: &str) -> &'static str {
        "an object with a kind"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        let mut object = Object::try_from(raw)?;
        let kind = object.need_text("kind")?;
        // One with other fields is kept as it is.
        let known = Self::take(&kind, &mut object).ok().flatten();
        let known = known.filter(|_| object.names().next().is_none());
        Ok(known.unwrap_or_else(|| Self::Other(Json::from(raw))))
    }
}
