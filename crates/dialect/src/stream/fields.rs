//! Reads selected fields of a JSON line in one pass, at any depth. The readers of the agents' lines call it. Values
//! stay JSON text, and all other content is skipped without being built. So memory does not grow with the content of
//! a line.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tertulia_session::json::{self, Json, Kind};

use super::event::{Unparsed, ViolationKind};

/// The reason for rejecting a line.
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

/// The value of a field that may be missing; `null` counts as missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Value<'a>(Option<&'a RawValue>);

impl<'a> Value<'a> {
    pub(super) fn is_some(self) -> bool {
        self.0.is_some()
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }

    pub(super) fn source(self) -> Option<&'a str> {
        self.0.map(RawValue::get)
    }

    pub(super) fn json(self) -> Json {
        Json::from(self.0.unwrap_or(RawValue::NULL))
    }

    pub(super) fn need(self) -> Result<Self, Refusal> {
        if self.is_some() { Ok(self) } else { Err(Unparsed::WrongShape.into()) }
    }

    /// Returns the text of a string; `None` for other values. A lone surrogate becomes U+FFFD.
    pub(super) fn text(self) -> Option<String> {
        let raw = self.0.filter(|raw| Kind::from(*raw) == Kind::String)?;
        Some(json::words(raw).into_owned())
    }

    pub(super) fn text_or_empty(self) -> String {
        self.text().unwrap_or_default()
    }

    pub(super) fn need_text(self) -> Result<String, Refusal> {
        self.text().ok_or_else(|| Unparsed::WrongShape.into())
    }

    pub(super) fn word(self) -> Option<Box<str>> {
        self.text().map(Into::into)
    }

    pub(super) fn need_word(self) -> Result<Box<str>, Refusal> {
        self.need_text().map(Into::into)
    }

    /// Returns the content of a string as it is written. Protocol words contain no escapes, so a word with escapes
    /// counts as unknown.
    pub(super) fn plain(self) -> Option<&'a str> {
        self.source()?.strip_prefix('"')?.strip_suffix('"')
    }

    pub(super) fn need_plain(self) -> Result<&'a str, Refusal> {
        self.plain().ok_or_else(|| Unparsed::WrongShape.into())
    }

    pub(super) fn is(self, word: &str) -> bool {
        self.plain() == Some(word)
    }

    pub(super) fn is_true(self) -> bool {
        self.source() == Some("true")
    }

    pub(super) fn is_list(self) -> bool {
        self.0.is_some_and(|raw| Kind::from(raw) == Kind::Array)
    }

    pub(super) fn count(self) -> Option<u64> {
        json::whole_number(self.0?).ok()
    }

    pub(super) fn amount(self) -> Option<f64> {
        let amount: f64 = self.source()?.parse().ok()?;
        Some(amount).filter(|amount| amount.is_finite() && *amount >= 0.0)
    }

    pub(super) fn message(self) -> Option<String> {
        self.text().or_else(|| self.at(&["message"]).text())
    }

    /// Returns the fields of an object. Fails if the value is no object.
    pub(super) fn fields<const N: usize>(self, names: &[&str; N]) -> Result<[Self; N], Refusal> {
        read_fields(self.source().ok_or(Unparsed::WrongShape)?, names)
    }

    /// Returns the value at this path, or a missing value if the path does not exist.
    pub(super) fn at(self, path: &[&str]) -> Self {
        let step =
            |value: Self, name: &&str| value.fields(&[name]).map_or_else(|_| Self(None), |[it]| it);
        path.iter().fold(self, step)
    }

    /// Reads the elements of a list one by one, without building the list. Rejects the line if the list has more than
    /// [`ELEMENTS_MAX`] elements, because no genuine list has more.
    pub(super) fn each(self, read: impl FnMut(Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let list = self.source().ok_or(Unparsed::WrongShape)?;
        let reading = serde_json::Deserializer::from_str(list).deserialize_seq(Elements(read));
        reading.unwrap_or_else(|_| Err(Unparsed::WrongShape.into()))
    }
}

const ELEMENTS_MAX: usize = 4096;

struct Elements<F>(F);

impl<'de, F: FnMut(Value<'de>) -> Result<(), Refusal>> Visitor<'de> for Elements<F> {
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
            // The loop continues after a refusal, because the parser would report unread elements as an error.
            if refusal.is_none() {
                refusal = (self.0)(Value(Some(element))).err();
            }
        }
        Ok(refusal.map_or(Ok(()), Err))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'n> {
    /// The value, which is stored in this slot.
    Value(&'n str, usize),
    Object(&'n str, &'n [Self]),
    /// Fields of an object that is the only element of a list.
    Only(&'n str, &'n [Self]),
}

/// Returns the shape of an object with these values. Their slots are numbered from `first`.
pub(super) const fn values<'n, const N: usize>(
    names: &[&'n str; N],
    first: usize,
) -> [Field<'n>; N] {
    let mut fields = [Field::Value("", first); N];
    let mut at = 0;
    while at < N {
        fields[at] = Field::Value(names[at], first + at);
        at += 1;
    }
    fields
}

/// Reads a line that must be one JSON object. Returns the values of these fields, in this order.
pub(super) fn read_fields<'a, const N: usize>(
    line: &'a str,
    names: &[&str; N],
) -> Result<[Value<'a>; N], Refusal> {
    let shape = values(names, 0);
    let mut slots = Slots { values: [Value(None); N], fits: true };
    match slots.read(line, &shape) {
        Ok(()) if slots.fits => Ok(slots.values),
        Ok(()) => Err(ViolationKind::DuplicateField.into()),
        Err(error) if error.is_data() => Err(Unparsed::WrongShape.into()),
        Err(_) => Err(Unparsed::NotJson.into()),
    }
}

/// Reads a line of a known shape in one pass. Used for the most frequent lines of a stream, because reading level by
/// level parses a text once per level. Returns `None` for another shape, which [`read_fields`] then handles.
pub(super) fn read_shape<'a, const N: usize>(
    line: &'a str,
    shape: &[Field<'_>],
) -> Option<[Value<'a>; N]> {
    let mut slots = Slots { values: [Value(None); N], fits: true };
    slots.read(line, shape).ok()?;
    slots.fits.then_some(slots.values)
}

struct Slots<'a, const N: usize> {
    values: [Value<'a>; N],
    /// Whether every field was found at its level exactly once.
    fits: bool,
}

impl<'a, const N: usize> Slots<'a, N> {
    fn read(&mut self, line: &'a str, shape: &[Field<'_>]) -> serde_json::Result<()> {
        let mut deserializer = serde_json::Deserializer::from_str(line);
        Object { shape, in_list: false, slots: self }.deserialize(&mut deserializer)?;
        deserializer.end()
    }
}

struct Object<'s, 'a, const N: usize> {
    shape: &'s [Field<'s>],
    in_list: bool,
    slots: &'s mut Slots<'a, N>,
}

impl<'de, const N: usize> DeserializeSeed<'de> for Object<'_, 'de, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.in_list {
            true => deserializer.deserialize_seq(self),
            false => deserializer.deserialize_map(self),
        }
    }
}

impl<'de, const N: usize> Visitor<'de> for Object<'_, 'de, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.in_list { "a list" } else { "an object" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut met: u64 = 0;
        while let Some(index) = map.next_key_seed(FieldIndex(self.shape))? {
            let Some((index, field)) = index.and_then(|at| Some((at, *self.shape.get(at)?))) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // A repeated name could have different meanings for different readers.
            self.slots.fits &= met & (1 << index) == 0;
            met |= 1 << index;
            let (shape, in_list) = match field {
                Field::Value(_, slot) => {
                    let raw: &RawValue = map.next_value()?;
                    if let Some(value) = self.slots.values.get_mut(slot) {
                        *value = Value(Some(raw).filter(|raw| Kind::from(*raw) != Kind::Null));
                    }
                    continue;
                }
                Field::Object(_, shape) => (shape, false),
                Field::Only(_, shape) => (shape, true),
            };
            map.next_value_seed(Object { shape, in_list, slots: &mut *self.slots })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { shape, slots, .. } = self;
        let only = Object { shape, in_list: false, slots: &mut *slots };
        let first = list.next_element_seed(only)?;
        let second = list.next_element::<IgnoredAny>()?;
        if first.is_none() || second.is_some() {
            slots.fits = false;
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }
}

/// Finds the index of the field with a name.
struct FieldIndex<'s>(&'s [Field<'s>]);

impl<'de> DeserializeSeed<'de> for FieldIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldIndex<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|field| match field {
            Field::Value(known, _) | Field::Object(known, _) | Field::Only(known, _) => {
                *known == name
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value<'_> {
        Value(Some(serde_json::from_str(json).unwrap()))
    }

    fn check(line: &str, expected: Result<[Option<&str>; 2], Refusal>) {
        let picked = read_fields(line, &["type", "id"]);
        assert_eq!(picked.map(|values| values.map(Value::source)), expected);
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
        let reading = value("[1, [2,3], \"a\"]").each(|element| {
            seen.push_str(element.source().unwrap());
            Ok(())
        });
        assert_eq!((reading, seen.as_str()), (Ok(()), "1[2,3]\"a\""));

        let wide = format!("[{}1]", "1,".repeat(1_000_000));
        let mut count = 0;
        let reading = value(&wide).each(|_| {
            count += 1;
            Ok(())
        });
        assert_eq!((reading, count), (Err(Unparsed::WrongShape.into()), ELEMENTS_MAX));
    }

    #[test]
    fn half_a_surrogate_pair_does_not_hide_the_text_around_it() {
        let text = value(r#""a\ud83d b\ud83d\ude00""#).text();
        assert_eq!(text.as_deref(), Some("a\u{fffd} b😀"));
    }

    const SHAPE: [Field; 3] = [
        Field::Value("id", 0),
        Field::Object("a", &[Field::Value("b", 1)]),
        Field::Only("list", &[Field::Value("c", 2)]),
    ];

    #[track_caller]
    fn check_shape(line: &str, expected: Option<[Option<&str>; 3]>) {
        let read = read_shape::<3>(line, &SHAPE).map(|slots| slots.map(Value::source));
        assert_eq!(read, expected, "{line}");
    }

    #[test]
    fn fields_are_found_at_every_level_in_any_order() {
        check_shape(
            r#" {"list":[{"x":[{}],"c":"l"}],"a":{"x":1,"b":[2]},"id":7} "#,
            Some([Some("7"), Some("[2]"), Some("\"l\"")]),
        );
        check_shape(r#"{"id":null,"a":{},"b":1}"#, Some([None, None, None]));
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
            check_shape(line, None);
        }
        let deep = format!(r#"{{"x":{}{},"id":7}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        check_shape(&deep, Some([Some("7"), None, None]));
    }
}
