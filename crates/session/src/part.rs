//! The pieces of a message: text, thinking, tool calls and results, images, files. Kinds that this
//! version does not know are kept whole.

use crate::Fields;
use crate::json::Json;
use crate::record::field::payloads;

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    unknown: Option<Box<UnknownFields>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UnknownFields {
    part: Fields,
    payload: Fields,
}

/// What a part is, with its payload. Everything but text is boxed: text is nearly all there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    Text(String),
    Thinking(String),
    ToolCall(Box<ToolCall>),
    ToolResult(Box<ToolResult>),
    Image(Box<Image>),
    FileRef(Box<FileRef>),
    Other(Box<OtherPart>),
}

payloads! {
    /// A request for a tool.
    pub struct ToolCall {
        /// The id that the result will carry.
        pub tool_call_id: Box<str> = "toolCallId",
        pub tool_name: Box<str> = "toolName",
        pub arguments: Json = "arguments",
        /// The arguments as the model wrote them, where they were not valid JSON.
        pub raw_args_text: Option<Box<str>> = "rawArgsText",
    }

    /// The answer of a tool.
    pub struct ToolResult {
        pub tool_call_id: Box<str> = "toolCallId",
        pub is_error: bool = "isError",
        /// The answer as JSON, most often a string.
        pub content: Json = "content",
    }

    /// A file by its path.
    pub struct FileRef {
        pub path: Box<str> = "path",
        pub mime_type: Option<Box<str>> = "mimeType",
        pub size: Option<u64> = "size",
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub mime_type: Box<str>,
    pub source: ImageSource,
}

/// Where a picture is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// In the message, as base64.
    Data(Box<str>),
    /// At an address.
    Url(Box<str>),
}

/// A part of a kind that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPart {
    pub kind: Box<str>,
    pub payload: Option<Json>,
}

impl Part {
    /// A part that is this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text(text.into()))
    }

    /// A part without unknown fields.
    pub fn new(kind: PartKind) -> Self {
        Self { kind, unknown: None }
    }

    /// Adds fields that this version does not know: beside `kind`, and inside `payload`.
    #[must_use]
    pub fn with_unknown(mut self, part: Fields, payload: Fields) -> Self {
        if !(part.is_empty() && payload.is_empty()) {
            self.unknown = Some(Box::new(UnknownFields { part, payload }));
        }
        self
    }

    /// Unknown fields beside `kind`.
    pub fn unknown(&self) -> &Fields {
        self.unknown.as_deref().map_or(&Fields::NONE, |unknown| &unknown.part)
    }

    /// Unknown fields inside `payload`.
    pub fn unknown_payload(&self) -> &Fields {
        self.unknown.as_deref().map_or(&Fields::NONE, |unknown| &unknown.payload)
    }

    /// The words, if it is a text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }
}
