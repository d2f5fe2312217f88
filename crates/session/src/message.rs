//! A message: what somebody said, to whom and when. The unit of every conversation.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::{FieldError, Json, RawValue};
use crate::record::field::{Payload, Value, payloads};
use crate::word_enum::words;
use crate::{Fields, MessageId, Part, PartKind, Speaker, SpeakerType, Timestamp};

/// The parts of a message. A single text is stored inline.
pub type Parts = SmallVec<[Part; 1]>;

/// A message; empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The role, if the source named one. See [`Message::effective_role`].
    pub role: Option<Role>,
    pub parts: Parts,
    /// The speaker. Shared between the messages of one speaker.
    pub speaker: Option<Arc<Speaker>>,
    pub routing: Option<Box<Routing>>,
    pub run_id: Option<Box<str>>,
    pub timestamp: Option<Timestamp>,
    /// Notes of other programs, as a JSON object.
    pub meta: Option<Json>,
    pub unknown: Fields,
}

/// A message with its id in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationMessage {
    /// The id, which is unique except for duplicates from an imported snapshot.
    pub id: MessageId,
    pub message: Message,
}

/// The addressees of a message, and the message it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// The members that the message was sent to; `None` if the source did not name them.
    pub resolved_addressees: Option<Vec<Addressee>>,
    pub parent_message_id: Option<Box<str>>,
    /// The intent, such as `P2_REPLY`.
    pub intent: Option<Box<str>>,
    /// Whom the message asks, if it is a question to several members at once.
    pub ask: Option<Box<Ask>>,
    pub unknown: Fields,
}

/// One member that a message was sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee {
    /// The name that appears in prompts.
    pub identifier: Box<str>,
    pub unknown: Fields,
}

payloads! {
    /// A question to several members, each of whom answers without seeing the other answers. Afterwards either a judge or
    /// the members themselves may compare the answers.
    pub struct Ask {
        pub members: Vec<Box<str>> = "members",
        /// The member that compares the answers without the names of their authors.
        pub judge: Option<Box<str>> = "judge",
        /// Whether the members compare the answers. A judge takes precedence.
        pub reactions: bool = "reactions",
        /// The number of answers after which the other members only have the grace time.
        pub quorum: Option<u32> = "quorum",
        pub grace_seconds: Option<u32> = "graceSeconds",
        /// Determines the labels of the answers.
        pub seed: u32 = "seed",
        ..unknown
    }
}

words! {
    /// The role of a message for a model.
    pub enum Role: "system, user, assistant or tool" {
        System = "system",
        User = "user",
        Assistant = "assistant",
        Tool = "tool",
    }
}

impl Message {
    /// Creates a message of this speaker with one text.
    pub fn said(speaker: impl Into<Arc<Speaker>>, text: impl Into<String>) -> Self {
        let parts = SmallVec::from([Part::text(text)]);
        Self { speaker: Some(speaker.into()), parts, ..Self::default() }
    }

    /// Creates a message with a role for a model and without a speaker.
    pub fn with_role(role: Role, parts: Parts) -> Self {
        Self { role: Some(role), parts, ..Self::default() }
    }

    /// Sets the addressees.
    #[must_use]
    pub fn to<N: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.routing = Some(Box::new(Routing::to(names)));
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Returns the text parts, joined with line breaks. The result is borrowed if there is only one part.
    pub fn text(&self) -> Cow<'_, str> {
        Self::words(&self.parts)
    }

    /// Returns the text of these parts.
    pub fn words(parts: &[Part]) -> Cow<'_, str> {
        join_lines(parts.iter().filter_map(Part::as_text).map(Cow::Borrowed))
    }

    /// Returns whether it is one text and nothing else. In that case `content` alone is enough.
    pub fn is_plain_text(&self) -> bool {
        match self.parts.as_slice() {
            [part] => {
                matches!(part.kind, PartKind::Text(_))
                    && part.unknown().is_empty()
                    && part.unknown_payload().is_empty()
            }
            _ => false,
        }
    }

    /// Returns whether it is known to be from a person.
    pub fn is_from_human(&self) -> bool {
        self.speaker.as_deref().is_some_and(Speaker::is_human)
    }

    /// Returns the role, or the one that follows from the kind of speaker.
    pub fn effective_role(&self) -> Role {
        let by_speaker = || match self.speaker.as_deref().and_then(|who| who.kind.as_ref()) {
            Some(SpeakerType::Ai) => Role::Assistant,
            Some(SpeakerType::System) => Role::System,
            Some(SpeakerType::Human | SpeakerType::Other(_)) | None => Role::User,
        };
        self.role.unwrap_or_else(by_speaker)
    }
}

impl Routing {
    /// Creates a routing to these members.
    pub fn to<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let addressees = names.into_iter().map(Addressee::named).collect();
        Self { resolved_addressees: Some(addressees), ..Self::default() }
    }
}

impl Addressee {
    /// Creates an addressee of whom only the name is known.
    pub fn named(identifier: impl Into<Box<str>>) -> Self {
        Self { identifier: identifier.into(), unknown: Fields::NONE }
    }
}

/// Serializes as an object with the fields of the payload.
impl Serialize for Ask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Value for Box<Ask> {
    fn expected(_name: &str) -> &'static str {
        "an object with members"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        <Ask as Payload>::read(raw).map(Self::new)
    }
}

/// Joins texts with line breaks. The result is borrowed if there is only one text.
pub(crate) fn join_lines<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        joined.to_mut().push('\n');
        joined.to_mut().push_str(&text);
    }
    joined
}
