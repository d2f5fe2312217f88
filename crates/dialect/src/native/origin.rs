//! The origin of an imported entry: the exact text of its record. It is kept in the `meta` of the first entry of the
//! record.

use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use tertulia_session::Entry;
use tertulia_session::json::{self, Json, Object};

use super::{NativeFormat, Record};

const NATIVE: &str = "native";

/// The record that an entry was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeOrigin {
    pub format: NativeFormat,
    /// The file, as in [`Record::file`].
    pub file: Box<str>,
    pub line: u64,
    pub bytes: Vec<u8>,
    pub end: Box<str>,
}

impl NativeOrigin {
    /// Reads the origin of an entry. `None` if the entry is not the first one of an imported record.
    pub fn of(entry: &Entry) -> Option<Self> {
        let mut meta = Object::try_from(entry.meta.as_ref()?.raw()).ok()?;
        let mut native = Object::try_from(meta.take(NATIVE)?).ok()?;
        let bytes = match native.take_text("record").ok()? {
            Some(text) => text.into_bytes(),
            None => from_hex(&native.take_text("recordHex").ok()??)?,
        };
        Some(Self {
            format: native.take_text("agent").ok()??.parse().ok()?,
            file: native.take_text("file").ok()?.unwrap_or_default().into(),
            line: json::whole_number(native.take("line")?).ok()?,
            bytes,
            end: native.take_text("end").ok()?.map_or("\n".into(), Into::into),
        })
    }
}

/// Returns the `meta` of the first entry of a record. Every record passes through here, so its text is copied once.
/// `text` is the text of the record if it is known to be valid.
pub(super) fn meta_of(
    format: NativeFormat,
    record: Record<'_>,
    text: Option<&str>,
) -> Option<Json> {
    let text = text.or_else(|| std::str::from_utf8(record.bytes).ok());
    Json::serialized(&Meta { format, record, text })
}

/// The notes of an entry, `{"native":{…}}`.
struct Meta<'a> {
    format: NativeFormat,
    record: Record<'a>,
    /// The text of the record, if it is UTF-8.
    text: Option<&'a str>,
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut notes = serializer.serialize_map(Some(1))?;
        notes.serialize_entry(NATIVE, &Native(self))?;
        notes.end()
    }
}

struct Native<'a>(&'a Meta<'a>);

impl Serialize for Native<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Meta { format, record, text } = self.0;
        let mut native = serializer.serialize_map(None)?;
        native.serialize_entry("agent", format.as_str())?;
        if !record.file.is_empty() {
            native.serialize_entry("file", record.file)?;
        }
        match text {
            Some(text) => native.serialize_entry("record", text)?,
            None => native.serialize_entry("recordHex", &to_hex(record.bytes))?,
        }
        if record.end != "\n" {
            native.serialize_entry("end", record.end)?;
        }
        native.serialize_entry("line", &record.line)?;
        native.end()
    }
}

/// Returns the bytes of one file of a native session as they were imported, from the entries of its log. `None` if
/// one of its records was redacted or is missing.
pub fn original_bytes<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
    file: &str,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut line_break, mut next_line): (Box<str>, u64) = ("\n".into(), 1);
    for entry in entries {
        if entry.is_purged() {
            return None;
        }
        if let Some(origin) = NativeOrigin::of(entry).filter(|origin| &*origin.file == file) {
            // The previous line was imported before its line break was written.
            if origin.line > next_line && !bytes.is_empty() {
                bytes.extend_from_slice(line_break.as_bytes());
            }
            bytes.extend_from_slice(&origin.bytes);
            bytes.extend_from_slice(origin.end.as_bytes());
            let lines = memchr::memchr_iter(b'\n', &origin.bytes).count() as u64;
            next_line = origin.line + lines + u64::from(!origin.end.is_empty());
            if !origin.end.is_empty() {
                line_break = origin.end;
            }
        }
    }
    Some(bytes)
}

fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}
