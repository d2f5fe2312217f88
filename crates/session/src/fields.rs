//! The fields of a JSON object that this version does not know. They are kept, so that a round trip loses nothing.
//! Part of every domain type; read and written by [`crate::record`].

use crate::json::Json;

/// Unknown JSON fields in their original order, with their exact JSON values.
///
/// An empty value, which is the usual case, needs only eight bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "one word in every message that has none")]
pub struct Fields(Option<Box<Vec<Field>>>);

type Field = (Box<str>, Json);

impl Fields {
    /// No fields.
    pub const NONE: Self = Self(None);

    /// Appends a field. A repeated name is kept twice, as it was read.
    pub fn push(&mut self, name: impl Into<Box<str>>, value: Json) {
        self.0.get_or_insert_default().push((name.into(), value));
    }

    /// Appends all of these.
    pub fn extend(&mut self, others: Self) {
        for (name, value) in others.0.into_iter().flat_map(|fields| fields.into_iter()) {
            self.push(name, value);
        }
    }

    /// Returns the value of the last field of this name, as JSON text.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Returns all fields in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> {
        self.0.iter().flat_map(|fields| fields.iter()).map(|(name, value)| (&**name, value))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|fields| fields.is_empty())
    }
}
