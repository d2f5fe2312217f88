//! The parts of a message that are neither calls nor results, if all vendors treat them alike. The renderers call
//! this module and write each part in their own format. Pictures are checked here: they are base64 data or a URL.

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

/// Reason for leaving a part out where only text is allowed.
const TEXT_ONLY: &str = "the index takes text only";
/// Reason for leaving thinking out of messages that are not the assistant's.
pub(crate) const NOT_THOUGHT: NoteKind =
    NoteKind::ThinkingLeftOut { reason: "only an assistant thinks" };
/// Note for a picture where only text is allowed.
pub(crate) const NO_IMAGE: NoteKind = NoteKind::ImageLeftOut { reason: TEXT_ONLY };

/// Writes a part. If the part cannot be written, adds a note with the reason. Calls and results are written
/// elsewhere.
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
    NoteKind::PartLeftOut { kind: other.kind.clone(), reason: TEXT_ONLY }
}

/// Returns the payload of a part that only this vendor defines, if it can be sent back. It must be an object. Its
/// `type`, if present, must be its kind.
pub(crate) fn own_payload(dialect: Dialect, other: &OtherPart) -> Result<&Json, NoteKind> {
    find_own_payload(dialect, other).ok_or_else(|| {
        let reason = match dialect {
            Dialect::OpenAiChat => "Chat Completions has no such part",
            Dialect::OpenAiResponses => "Responses has no such item",
            Dialect::Anthropic => "Anthropic has no such block",
            Dialect::Gemini => "Gemini has no such part",
        };
        NoteKind::PartLeftOut { kind: other.kind.clone(), reason }
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

/// Kinds that the renderers write themselves because the vendors' rules depend on them. They are never copied from a
/// kept part.
#[rustfmt::skip]
const WRITTEN_KINDS: [&str; 14] = [
    "", "text", "thinking", "tool_use", "tool_result", "input_text", "output_text", "message",
    "function", "function_call", "function_call_output", "functionCall", "functionResponse",
    "item_reference",
];

/// Returns a text among the unknown fields; an empty one counts as missing.
pub(crate) fn text_field(fields: &Fields, name: &str) -> Option<String> {
    text(fields.get(name)?.raw()).ok().filter(|text| !text.is_empty())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture<'a> {
    /// Base64 and its type.
    Data { mime_type: &'a str, data: &'a str },
    /// A URL and its type, which may be unknown.
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

/// Returns the picture, or the reason why it cannot be sent.
pub(crate) fn picture(image: &Image) -> Result<Picture<'_>, NoteKind> {
    let picture = match &image.source {
        ImageSource::Data(data) => Picture::Data { mime_type: &image.mime_type, data },
        ImageSource::Url(url) => match Image::split_data_address(url) {
            Some((mime_type, data)) => Picture::Data { mime_type, data },
            None => Picture::Url { mime_type: &image.mime_type, url },
        },
    };
    let reason = match picture {
        Picture::Data { data, .. } if !is_base64(data) => "its data is not base64",
        Picture::Data { mime_type, .. } if !mime_type.starts_with("image/") => {
            "its type is not an image type"
        }
        Picture::Url { url, .. } if !is_address(url) => "its address is not http or https",
        picture => return Ok(picture),
    };
    Err(NoteKind::ImageLeftOut { reason })
}

/// Like [`picture`], for vendors that accept only PNG, JPEG, GIF and WebP.
pub(crate) fn common_picture(image: &Image) -> Result<Picture<'_>, NoteKind> {
    const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    match picture(image)? {
        Picture::Data { mime_type, .. } if !TYPES.contains(&mime_type) => {
            Err(NoteKind::ImageLeftOut { reason: "its type is not PNG, JPEG, GIF or WebP" })
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
