//! Input and output of a renderer: messages in; notes and a JSON tree with borrowed texts out. serde_json writes the
//! tree. The tree has only a few levels; deeper JSON inside it stays text.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tertulia_session::Message;
use tertulia_session::json::{Json, RawValue, Unescaped};

use crate::Note;
use crate::result_content::ERROR_MARK;

/// The messages for a model. The caller owns them, and a rendering borrows their texts.
#[derive(Clone, Debug)]
pub struct ModelContext<'a> {
    pub messages: Vec<&'a Message>,
    /// The tools, each `{name, description?, parameterSchema, strict?}`.
    pub tool_specs: &'a [Json],
    pub cache_breakpoints: &'a [usize],
}

impl<'a> ModelContext<'a> {
    /// Creates a context with these messages, without tools and breakpoints.
    pub fn new(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        Self { messages: messages.into_iter().collect(), tool_specs: &[], cache_breakpoints: &[] }
    }
}

/// The fragment of a request, with notes about what had to be changed or left out.
#[derive(Clone, Debug)]
pub struct Rendering<'a> {
    pub fragment: Fragment<'a>,
    pub notes: Vec<Note>,
}

impl<'a> Rendering<'a> {
    /// Creates a rendering from the fields and the tools, if any. Notes about the whole request come last.
    pub(crate) fn new(mut fields: Map<'a>, tools: Vec<Node<'a>>, mut notes: Vec<Note>) -> Self {
        if !tools.is_empty() {
            fields.push(("tools", Node::List(tools)));
        }
        notes.sort_by_key(|note| note.message.unwrap_or(usize::MAX));
        Self { fragment: Fragment(Node::Map(fields)), notes }
    }
}

/// The fields of a request that contain messages and tools. The caller adds model and parameters.
#[derive(Clone, Debug)]
pub struct Fragment<'a>(Node<'a>);

#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Text(Cow<'a, str>),
    /// The text of a tool result, decoded while it is written.
    Words {
        is_error: bool,
        words: Unescaped<'a>,
    },
    Raw(Cow<'a, Json>),
    List(Vec<Self>),
    Map(Map<'a>),
}

pub(crate) type Map<'a> = Vec<(&'static str, Node<'a>)>;

impl Fragment<'_> {
    /// Returns the JSON text.
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

    pub(crate) fn number(number: i64) -> Self {
        let json = Json::parse(&number.to_string());
        // A number is valid JSON, so the fallback is never needed.
        Self::Raw(Cow::Owned(json.unwrap_or_else(|_| Json::from(RawValue::NULL))))
    }

    pub(crate) fn typed<const N: usize>(
        kind: &'static str,
        fields: [(&'static str, Self); N],
    ) -> Self {
        let mut map = Vec::with_capacity(N + 1);
        map.push(("type", Self::text(kind)));
        map.extend(fields);
        Self::Map(map)
    }

    pub(crate) fn push(&mut self, name: &'static str, value: Self) {
        match self {
            Self::Map(fields) => fields.push((name, value)),
            Self::Raw(json) => {
                let open = json.as_str().strip_suffix('}').unwrap_or_default();
                if let Ok(longer) = Json::parse(&format!("{open},{name:?}:{}}}", value.to_text())) {
                    *json = Cow::Owned(longer);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn to_text(&self) -> String {
        // Writing into a string fails only if a map key is not a string. Here all keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::parse(&self.to_text()).unwrap_or_else(|_| Json::from(RawValue::NULL))
    }

    pub(crate) fn into_owned<'b>(self) -> Node<'b> {
        Node::Raw(Cow::Owned(self.to_json()))
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
