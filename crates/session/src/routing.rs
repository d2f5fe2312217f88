//! To whom a message went and what it answered. Data only: who speaks next is decided elsewhere.

use crate::Fields;

/// To whom a message went, and what it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// The members that the message was resolved to; `None` where the source did not say.
    pub resolved_addressees: Option<Vec<Addressee>>,
    pub parent_message_id: Option<Box<str>>,
    /// The intent, such as `P2_REPLY`.
    pub intent: Option<Box<str>>,
    pub unknown: Fields,
}

/// One member that a message was sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee {
    /// The name that appears in prompts.
    pub identifier: Box<str>,
    pub unknown: Fields,
}

impl Routing {
    /// A routing to these members.
    pub fn to<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let addressees = names.into_iter().map(Addressee::named).collect();
        Self { resolved_addressees: Some(addressees), ..Self::default() }
    }
}

impl Addressee {
    /// An addressee of whom only the name is known.
    pub fn named(identifier: impl Into<Box<str>>) -> Self {
        Self { identifier: identifier.into(), unknown: Fields::NONE }
    }
}
