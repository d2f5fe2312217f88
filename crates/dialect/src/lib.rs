//! How others say it: model messages as the requests of four vendors' APIs, those requests as messages,
//! and in [`stream`] what agents print while they answer.
//!
//! Synchronous and pure. The only room that knows a vendor's JSON; it knows `session` and nothing else.
//! A renderer takes any list of messages, repairs what the vendor would refuse, and says in its
//! [`Note`]s what it changed or left out. docs/dialects.md lists the vendors' rules with their sources.
//!
//! ```
//! use tertulia_dialect::{Dialect, ModelContext};
//! use tertulia_session::json;
//!
//! let chat = json::parse(r#"[{"role":"user","content":"Shall we start?"}]"#).unwrap();
//! let reading = Dialect::OpenAiChat.read(chat).unwrap();
//! let rendering = Dialect::Gemini.render(&ModelContext::new(&reading.messages));
//! assert_eq!(
//!     rendering.fragment.to_json(),
//!     r#"{"contents":[{"role":"user","parts":[{"text":"Shall we start?"}]}]}"#
//! );
//! assert!(rendering.notes.is_empty());
//! ```

mod anthropic;
mod arguments;
mod chat;
mod context;
mod fragment;
mod gemini;
mod note;
mod pairs;
mod picture;
mod reading;
mod responses;
mod result_content;
mod spelling;
pub mod stream;
mod surrogates;
mod tool_specs;
mod turns;

use std::str::FromStr;

use tertulia_session::UnknownWord;
use tertulia_session::json::{FieldError, RawValue};

pub use anthropic::{read_anthropic, render_anthropic};
pub use chat::{read_openai_chat, render_openai_chat};
pub use context::ModelContext;
pub use fragment::{Fragment, Rendering};
pub use gemini::{read_gemini, render_gemini};
pub use note::{Note, NoteKind, Placeholder};
pub use reading::Reading;
pub use responses::{read_openai_responses, render_openai_responses};

/// Whose API is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI Chat Completions, and the many that copy it.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
}

impl FromStr for Dialect {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.as_str() == word);
        found.ok_or_else(|| UnknownWord::new("openai, responses, anthropic or gemini", word))
    }
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// The word for `--format` and for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The fragment of a request that carries these messages.
    pub fn render<'a>(self, context: &ModelContext<'a>) -> Rendering<'a> {
        match self {
            Self::OpenAiChat => render_openai_chat(context),
            Self::OpenAiResponses => render_openai_responses(context),
            Self::Anthropic => render_anthropic(context),
            Self::Gemini => render_gemini(context),
        }
    }

    /// The messages of a request, a bare list of messages, or a response.
    pub fn read(self, raw: &RawValue) -> Result<Reading, FieldError> {
        match self {
            Self::OpenAiChat => read_openai_chat(raw),
            Self::OpenAiResponses => read_openai_responses(raw),
            Self::Anthropic => read_anthropic(raw),
            Self::Gemini => read_gemini(raw),
        }
    }

    /// The kind of a part that only this vendor knows, such as `anthropic/document`.
    pub(crate) fn own_kind(self, kind: &str) -> Box<str> {
        format!("{}/{kind}", self.as_str()).into()
    }
}
