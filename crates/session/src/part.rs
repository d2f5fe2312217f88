//! The parts of a message: text, thinking, tool calls and results, images, files. Unknown kinds are
//! kept whole.

use crate::Fields;
use crate::json::Json;
use crate::record::field::payloads;

/// One part of a message.
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

/// The kind of a part, with its payload. Everything except text is boxed, because nearly all parts
/// are text.
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
        /// The id that the result will have.
        pub tool_call_id: Box<str> = "toolCallId",
        pub tool_name: Box<str> = "toolName",
        pub arguments: Json = "arguments",
        /// The arguments as the model wrote them, if they were not valid JSON.
        pub raw_args_text: Option<Box<str>> = "rawArgsText",
    }

    /// The result of a tool.
    pub struct ToolResult {
        pub tool_call_id: Box<str> = "toolCallId",
        pub is_error: bool = "isError",
        /// The result as JSON, usually a string.
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

/// The source of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// Data in base64 in the message.
    Data(Box<str>),
    /// An address.
    Url(Box<str>),
}

/// A part of a kind that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPart {
    pub kind: Box<str>,
    pub payload: Option<Json>,
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text(text.into()))
    }

    /// Creates a part without unknown fields.
    pub fn new(kind: PartKind) -> Self {
        Self { kind, unknown: None }
    }

    /// Adds unknown fields: next to `kind`, and inside `payload`.
    #[must_use]
    pub fn with_unknown(mut self, part: Fields, payload: Fields) -> Self {
        if !(part.is_empty() && payload.is_empty()) {
            self.unknown = Some(Box::new(UnknownFields { part, payload }));
        }
        self
    }

    /// Returns the unknown fields next to `kind`.
    pub fn unknown(&self) -> &Fields {
        self.unknown.as_deref().map_or(&Fields::NONE, |unknown| &unknown.part)
    }

    /// Returns the unknown fields inside `payload`.
    pub fn unknown_payload(&self) -> &Fields {
        self.unknown.as_deref().map_or(&Fields::NONE, |unknown| &unknown.payload)
    }

    /// Returns the text, if it is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }
}
