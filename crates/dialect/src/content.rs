//! The parts of a message that are neither calls nor results, as far as all vendors see them alike. Called by the
//! renderers, each of which writes them in its own way. A picture is checked here: base64, or an address.

use std::borrow::Cow;

use tertulia_session::json::{Json, Object, text};
use tertulia_session::{Fields, Image, ImageSource, OtherPart, Part, PartKind};

use crate::{Dialect, Note, NoteKind};

pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Thinking(&'a str),
    Image(&'a Image),
    Other(&'a OtherPart),
}

/// Why a part is left out where text alone is taken.
const TEXT_ONLY: &str = "the place takes text only";
/// Why thinking is left out of what somebody else said.
pub(crate) const NOT_THOUGHT: NoteKind =
    NoteKind::ThinkingLeftOut { why: "only an assistant thinks" };
/// Why a picture is left out where text alone is taken.
pub(crate) const NO_IMAGE: NoteKind = NoteKind::ImageLeftOut { why: TEXT_ONLY };

/// Writes a part; where it cannot be written, a note says why. Calls and results are written elsewhere.
pub(crate) fn write_part<'a, T>(
    index: usize,
    part: &'a Part,
    notes: &mut Vec<Note>,
    write: impl FnOnce(Content<'a>) -> Result<T, NoteKind>,
) -> Option<T> {
    let content = match &part.kind {
        PartKind::Text(text) => Content::Text(Cow::Borrowed(text)),
        PartKind::Thinking(text) => Content::Thinking(text),
        PartKind::Image(image) => Content::Image(image),
        PartKind::FileRef(file) => {
            notes.push(Note::on(index, NoteKind::FileAsText { path: file.path.clone() }));
            Content::Text(Cow::Owned(format!("[file: {}]", file.path)))
        }
        PartKind::Other(other) => Content::Other(other),
        PartKind::ToolCall(_) | PartKind::ToolResult(_) => return None,
    };
    write(content).map_err(|kind| notes.push(Note::on(index, kind))).ok()
}

pub(crate) fn no_other(other: &OtherPart) -> NoteKind {
    NoteKind::PartLeftOut { kind: other.kind.clone(), why: TEXT_ONLY }
}

/// The payload of a part that only this vendor knows, if it is one and can be sent back: an object
/// whose `type`, where there is one, is its kind.
pub(crate) fn own_payload(dialect: Dialect, other: &OtherPart) -> Result<&Json, NoteKind> {
    find_own_payload(dialect, other).ok_or_else(|| {
        let why = match dialect {
            Dialect::OpenAiChat => "Chat Completions has no such part",
            Dialect::OpenAiResponses => "Responses has no such item",
            Dialect::Anthropic => "Anthropic has no such block",
            Dialect::Gemini => "Gemini has no such part",
        };
        NoteKind::PartLeftOut { kind: other.kind.clone(), why }
    })
}

fn find_own_payload(dialect: Dialect, other: &OtherPart) -> Option<&Json> {
    let kind = other.kind.strip_prefix(dialect.as_str())?.strip_prefix('/')?;
    let payload = other.payload.as_ref().filter(|_| !WRITTEN_KINDS.contains(&kind))?;
    let mut object = Object::try_from(payload.raw()).ok()?;
    let names_it = match dialect {
        Dialect::Gemini => object.take(kind).is_some(),
        _ => object.take_text("type").ok()?.as_deref() == Some(kind),
    };
    names_it.then_some(payload)
}

/// Kinds that the renderers write themselves, since rules hang on them: never taken from a kept part.
#[rustfmt::skip]
const WRITTEN_KINDS: [&str; 14] = [
    "", "text", "thinking", "tool_use", "tool_result", "input_text", "output_text", "message",
    "function", "function_call", "function_call_output", "functionCall", "functionResponse",
    "item_reference",
];

/// A text among the fields that `session` does not know; empty counts as none.
pub(crate) fn text_field(fields: &Fields, name: &str) -> Option<String> {
    text(fields.get(name)?.raw()).ok().filter(|text| !text.is_empty())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture<'a> {
    /// Base64 and its type.
    Data { mime_type: &'a str, data: &'a str },
    /// An address and the type, which may be unknown.
    Url { mime_type: &'a str, url: &'a str },
}

impl<'a> Picture<'a> {
    pub(crate) fn url(self) -> Cow<'a, str> {
        match self {
            Self::Data { mime_type, data } => format!("data:{mime_type};base64,{data}").into(),
            Self::Url { url, .. } => url.into(),
        }
    }
}

/// The picture, or why it cannot be sent.
pub(crate) fn picture(image: &Image) -> Result<Picture<'_>, NoteKind> {
    let picture = match &image.source {
        ImageSource::Data(data) => Picture::Data { mime_type: &image.mime_type, data },
        ImageSource::Url(url) => match Image::split_data_address(url) {
            Some((mime_type, data)) => Picture::Data { mime_type, data },
            None => Picture::Url { mime_type: &image.mime_type, url },
        },
    };
    let why = match picture {
        Picture::Data { data, .. } if !is_base64(data) => "its data is not base64",
        Picture::Data { mime_type, .. } if !mime_type.starts_with("image/") => {
            "its type is no image type"
        }
        Picture::Url { url, .. } if !is_address(url) => "its address is not http or https",
        picture => return Ok(picture),
    };
    Err(NoteKind::ImageLeftOut { why })
}

/// The same, for vendors that take PNG, JPEG, GIF and WebP only.
pub(crate) fn common_picture(image: &Image) -> Result<Picture<'_>, NoteKind> {
    const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    match picture(image)? {
        Picture::Data { mime_type, .. } if !TYPES.contains(&mime_type) => {
            Err(NoteKind::ImageLeftOut { why: "its type is not PNG, JPEG, GIF or WebP" })
        }
        picture => Ok(picture),
    }
}

fn is_address(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty()) && !url.contains(char::is_whitespace)
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let padding = data.len() - digits.len();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty()
        && padding <= 2
        && data.len().is_multiple_of(4)
        && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_whole_groups_of_four() {
        for data in ["AAAA", "AAA=", "AA==", "a+/9"] {
            assert!(is_base64(data), "{data}");
        }
        for data in ["", "A", "AAA", "A===", "====", "AA=A", "AA A", "é==="] {
            assert!(!is_base64(data), "{data}");
        }
    }
}
