//! The result of a renderer: a JSON tree with borrowed texts, and the notes. Written by serde_json;
//! the tree is a few levels deep, and deeper JSON inside it stays text.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tertulia_session::json::{Json, RawValue, Unescaped};

use crate::Note;
use crate::result_content::ERROR_MARK;

/// The fragment of a request, and what had to be changed or left out to make it.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    pub fragment: Fragment<'a>,
    /// What was changed or left out, in the order of the messages.
    pub notes: Vec<Note>,
}

/// The fields of a request that carry messages and tools. The caller adds model and parameters.
#[derive(Clone, Debug)]
pub struct Fragment<'a>(Node<'a>);

/// A JSON value.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Text(Cow<'a, str>),
    /// The words of a tool's result, decoded while they are written.
    Words {
        /// Whether they say that the tool failed.
        is_error: bool,
        words: Unescaped<'a>,
    },
    Raw(Cow<'a, Json>),
    List(Vec<Self>),
    Map(Map<'a>),
}

/// The fields of an object, in order.
pub(crate) type Map<'a> = Vec<(&'static str, Node<'a>)>;

impl<'a> Fragment<'a> {
    pub(crate) fn new(fields: Map<'a>) -> Self {
        Self(Node::Map(fields))
    }

    /// The JSON text.
    pub fn to_json(&self) -> String {
        self.0.to_text()
    }
}

impl Serialize for Fragment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'a> Node<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The JSON text.
    pub(crate) fn to_text(&self) -> String {
        // Writing into a string fails only where a map key is no string; here all are.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The value as kept JSON.
    pub(crate) fn to_json(&self) -> Json {
        Json::parse(&self.to_text()).unwrap_or_else(|_| Json::from(RawValue::NULL))
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Words { is_error: true, words } => {
                serializer.collect_str(&format_args!("{ERROR_MARK}{words}"))
            }
            Self::Words { is_error: false, words } => serializer.collect_str(words),
            Self::Raw(json) => json.serialize(serializer),
            Self::List(nodes) => serializer.collect_seq(nodes),
            Self::Map(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, node)| map.serialize_entry(name, node))?;
                map.end()
            }
        }
    }
}
