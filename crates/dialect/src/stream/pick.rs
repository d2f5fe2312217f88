//! The fields that are wanted of a JSON object, found in one pass. Called by the readers of the agents'
//! lines. Values stay JSON text, everything else is skipped without being built: the memory a line takes
//! does not grow with what is in it, however deep or wide.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tertulia_session::json::{self, Kind};

use super::event::{Unparsed, ViolationKind};

/// Why a line is not taken for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Unparsed(Unparsed),
    Violation(ViolationKind),
}

impl From<Unparsed> for Refusal {
    fn from(reason: Unparsed) -> Self {
        Self::Unparsed(reason)
    }
}

impl From<ViolationKind> for Refusal {
    fn from(kind: ViolationKind) -> Self {
        Self::Violation(kind)
    }
}

/// Fields by their place in the list of names; `null` counts as not there.
#[derive(Debug)]
pub(super) struct Picked<'a, const N: usize> {
    values: [Option<&'a RawValue>; N],
    /// A name of the list stood twice: two readers could see two different events.
    is_ambiguous: bool,
}

/// Reads a line that must be one JSON object.
pub(super) fn pick_line<'a, const N: usize>(
    line: &'a str,
    names: &[&str; N],
) -> Result<Picked<'a, N>, Refusal> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let picked = Names(names).deserialize(&mut deserializer);
    let picked = picked.and_then(|picked| deserializer.end().map(|()| picked));
    match picked {
        Ok(picked) if picked.is_ambiguous => Err(ViolationKind::DuplicateField.into()),
        Ok(picked) => Ok(picked),
        Err(error) if error.is_data() => Err(Unparsed::WrongShape.into()),
        Err(_) => Err(Unparsed::NotJson.into()),
    }
}

/// Reads a field of a line that must be an object.
pub(super) fn pick<'a, const N: usize>(
    raw: &'a RawValue,
    names: &[&str; N],
) -> Result<Picked<'a, N>, Refusal> {
    pick_line(raw.get(), names)
}

impl<'a, const N: usize> Picked<'a, N> {
    /// The values in the order of the names.
    pub(super) fn values(self) -> [Option<&'a RawValue>; N] {
        self.values
    }
}

/// The text of a string; `None` for other values. Half a surrogate pair is U+FFFD.
pub(super) fn text(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw.filter(|raw| Kind::from(*raw) == Kind::String)?;
    Some(json::words(raw).into_owned())
}

/// A short text that is kept: an id, a name.
pub(super) fn word(raw: Option<&RawValue>) -> Option<Box<str>> {
    text(raw).map(Into::into)
}

/// A field that has to be there.
pub(super) fn needed(raw: Option<&RawValue>) -> Result<&RawValue, Refusal> {
    raw.ok_or_else(|| Unparsed::WrongShape.into())
}

/// A text that has to be there.
pub(super) fn needed_text(raw: Option<&RawValue>) -> Result<String, Refusal> {
    text(raw).ok_or_else(|| Unparsed::WrongShape.into())
}

/// A short text that has to be there.
pub(super) fn needed_word(raw: Option<&RawValue>) -> Result<Box<str>, Refusal> {
    needed_text(raw).map(Into::into)
}

/// Whether it is this string, spelled without escapes. For the words that events are told apart by.
pub(super) fn is(raw: Option<&RawValue>, word: &str) -> bool {
    plain(raw) == Some(word)
}

/// The inside of a string as it is spelled. Words of a protocol are spelled without escapes; one that is
/// not is no word that we know.
pub(super) fn plain(raw: Option<&RawValue>) -> Option<&str> {
    raw?.get().strip_prefix('"')?.strip_suffix('"')
}

/// Whether it is `true`.
pub(super) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// A count; `None` for what is none.
pub(super) fn count(raw: Option<&RawValue>) -> Option<u64> {
    json::whole_number(raw?).ok()
}

/// An amount of money; `None` for what is none.
pub(super) fn amount(raw: Option<&RawValue>) -> Option<f64> {
    raw?.get().parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
}

/// The message of an error: its text, or the field `message` of an object.
pub(super) fn message(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?;
    text(Some(raw)).or_else(|| text(pick(raw, &["message"]).ok()?.values()[0]))
}

/// Reads the elements of a list one by one, without building it. No honest line has a list of more than
/// [`ELEMENTS_MAX`] things that become events.
pub(super) fn each<'a>(
    raw: &'a RawValue,
    read: impl FnMut(&'a RawValue) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    let reading = deserializer.deserialize_seq(Elements(read));
    reading.unwrap_or_else(|_| Err(Unparsed::WrongShape.into()))
}

const ELEMENTS_MAX: usize = 4096;

struct Elements<F>(F);

impl<'de, F: FnMut(&'de RawValue) -> Result<(), Refusal>> Visitor<'de> for Elements<F> {
    type Value = Result<(), Refusal>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut refusal = None;
        let mut count = 0;
        while let Some(element) = list.next_element()? {
            count += 1;
            if count > ELEMENTS_MAX {
                refusal.get_or_insert(Unparsed::WrongShape.into());
            }
            // A parser that is stopped in the middle takes the rest for an error.
            if refusal.is_none() {
                refusal = (self.0)(element).err();
            }
        }
        Ok(refusal.map_or(Ok(()), Err))
    }
}

struct Names<'n, const N: usize>(&'n [&'n str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Names<'_, N> {
    type Value = Picked<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Names<'_, N> {
    type Value = Picked<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = Picked { values: [None; N], is_ambiguous: false };
        let mut seen = [false; N];
        while let Some(place) = map.next_key_seed(Place(self.0))? {
            let slot =
                place.and_then(|place| Some((picked.values.get_mut(place)?, seen.get_mut(place)?)));
            let Some((value, seen)) = slot else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let raw: &RawValue = map.next_value()?;
            picked.is_ambiguous |= *seen;
            *seen = true;
            *value = Some(raw).filter(|raw| Kind::from(*raw) != Kind::Null);
        }
        Ok(picked)
    }
}

/// The place of a field's name in the list.
struct Place<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Place<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|known| *known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<[Option<&str>; 2], Refusal>) {
        let picked = pick_line(line, &["type", "id"]).map(Picked::values);
        assert_eq!(picked.map(|values| values.map(|raw| raw.map(RawValue::get))), expected);
    }

    #[test]
    fn the_named_fields_are_found_wherever_they_stand() {
        check(r#"{"id":[1, 2],"x":{"type":0},"type":"a"}"#, Ok([Some("\"a\""), Some("[1, 2]")]));
        check(r#" {"type":null} "#, Ok([None, None]));
    }

    #[test]
    fn a_field_that_stands_twice_is_a_violation() {
        check(r#"{"type":"a","\u0074ype":"b"}"#, Err(ViolationKind::DuplicateField.into()));
        check(r#"{"type":null,"type":"b"}"#, Err(ViolationKind::DuplicateField.into()));
        check(r#"{"x":1,"x":2,"id":3}"#, Ok([None, Some("3")]));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_reason() {
        check("[1]", Err(Unparsed::WrongShape.into()));
        for line in ["", "{", "{}}", r#"{"a":NaN}"#, "\u{feff}{}", "{\"a\":\"\u{1b}\"}"] {
            check(line, Err(Unparsed::NotJson.into()));
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"x":{}{},"id":7}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        check(&deep, Ok([None, Some("7")]));
        let open = format!(r#"{{"id":{}"#, "[".repeat(1_000_000));
        check(&open, Err(Unparsed::NotJson.into()));
    }

    #[test]
    fn a_list_is_read_one_by_one_and_not_without_end() {
        let mut seen = String::new();
        let list: &RawValue = serde_json::from_str("[1, [2,3], \"a\"]").unwrap();
        let reading = each(list, |raw| {
            seen.push_str(raw.get());
            Ok(())
        });
        assert_eq!((reading, seen.as_str()), (Ok(()), "1[2,3]\"a\""));

        let wide = format!("[{}1]", "1,".repeat(1_000_000));
        let mut count = 0;
        let reading = each(serde_json::from_str(&wide).unwrap(), |_| {
            count += 1;
            Ok(())
        });
        assert_eq!((reading, count), (Err(Unparsed::WrongShape.into()), ELEMENTS_MAX));
    }

    #[test]
    fn half_a_surrogate_pair_does_not_hide_the_text_around_it() {
        let raw: &RawValue = serde_json::from_str(r#""a\ud83d b\ud83d\ude00""#).unwrap();
        assert_eq!(text(Some(raw)).as_deref(), Some("a\u{fffd} b😀"));
    }
}
