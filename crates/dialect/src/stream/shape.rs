//! The wanted fields of a line whose shape is known, all in one pass, however deep they lie. Called by
//! readers for the lines that make up most of a stream: picking level by level reads a text once for every
//! level. A line of another shape is `None`, and for the careful way to judge.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tertulia_session::json::Kind;

/// A field that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Its value, in this slot.
    Value(&'static str, usize),
    Object(&'static str, &'static [Self]),
    /// Fields of the one object in the list in it.
    Only(&'static str, &'static [Self]),
}

/// Reads a line of this shape. A value that is `null` or not there leaves its slot empty.
pub(super) fn shaped<'a, const N: usize>(
    line: &'a str,
    shape: &'static [Field],
) -> Option<[Option<&'a RawValue>; N]> {
    let mut slots = Slots { values: [None; N], fits: true };
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let read = Object { shape, slots: &mut slots }.deserialize(&mut deserializer);
    read.and_then(|()| deserializer.end()).ok()?;
    slots.fits.then_some(slots.values)
}

struct Slots<'a, const N: usize> {
    values: [Option<&'a RawValue>; N],
    /// Whether all is where it was expected, and once.
    fits: bool,
}

/// An object with fields of this shape.
struct Object<'s, 'a, const N: usize> {
    shape: &'static [Field],
    slots: &'s mut Slots<'a, N>,
}

/// A list with one such object.
struct Only<'s, 'a, const N: usize>(Object<'s, 'a, N>);

impl<'de, const N: usize> DeserializeSeed<'de> for Object<'_, 'de, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Object<'_, 'de, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut met: u64 = 0;
        while let Some(place) = map.next_key_seed(FieldOf(self.shape))? {
            let Some((place, field)) = place else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // A name that stands twice is two events to two readers.
            self.slots.fits &= met & (1 << place) == 0;
            met |= 1 << place;
            match field {
                Field::Value(_, slot) => {
                    let raw: &RawValue = map.next_value()?;
                    if let Some(value) = self.slots.values.get_mut(slot) {
                        *value = Some(raw).filter(|raw| Kind::from(*raw) != Kind::Null);
                    }
                }
                Field::Object(_, shape) => {
                    map.next_value_seed(Object { shape, slots: &mut *self.slots })?;
                }
                Field::Only(_, shape) => {
                    map.next_value_seed(Only(Object { shape, slots: &mut *self.slots }))?;
                }
            }
        }
        Ok(())
    }
}

impl<'de, const N: usize> DeserializeSeed<'de> for Only<'_, 'de, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Only<'_, 'de, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Object { shape, slots } = self.0;
        let first = list.next_element_seed(Object { shape, slots: &mut *slots })?;
        let second = list.next_element::<IgnoredAny>()?;
        if first.is_none() || second.is_some() {
            slots.fits = false;
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }
}

/// The field that a name means, and its number in the shape.
struct FieldOf(&'static [Field]);

impl<'de> DeserializeSeed<'de> for FieldOf {
    type Value = Option<(usize, Field)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldOf {
    type Value = Option<(usize, Field)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let is_meant = |field: &Field| match field {
            Field::Value(known, _) | Field::Object(known, _) | Field::Only(known, _) => {
                *known == name
            }
        };
        let place = self.0.iter().position(is_meant);
        Ok(place.and_then(|place| Some((place, *self.0.get(place)?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [Field; 3] = [
        Field::Value("id", 0),
        Field::Object("a", &[Field::Value("b", 1)]),
        Field::Only("list", &[Field::Value("c", 2)]),
    ];

    #[track_caller]
    fn check(line: &str, expected: Option<[Option<&str>; 3]>) {
        let read = shaped::<3>(line, &SHAPE).map(|slots| slots.map(|raw| raw.map(RawValue::get)));
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn fields_are_found_at_every_level_in_any_order() {
        check(
            r#" {"list":[{"x":[{}],"c":"l"}],"a":{"x":1,"b":[2]},"id":7} "#,
            Some([Some("7"), Some("[2]"), Some("\"l\"")]),
        );
        check(r#"{"id":null,"a":{},"b":1}"#, Some([None, None, None]));
    }

    #[test]
    fn another_shape_is_left_to_others() {
        for line in [
            "",
            "[]",
            r#"{"a":[]}"#,
            r#"{"a":null}"#,
            r#"{"list":{}}"#,
            r#"{"list":[]}"#,
            r#"{"list":[{},{}]}"#,
            r#"{"list":[1]}"#,
            r#"{"id":1,"id":2}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"a":{},"a":{}}"#,
            r#"{"id":1}}"#,
            r#"{"id":NaN}"#,
        ] {
            check(line, None);
        }
        let deep = format!(r#"{{"x":{}{},"id":7}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        check(&deep, Some([Some("7"), None, None]));
    }
}
