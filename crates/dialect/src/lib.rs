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
mod content;
mod fragment;
mod gemini;
mod note;
mod pairs;
mod reading;
mod responses;
mod result_content;
mod spelling;
pub mod stream;
mod surrogates;
mod tool_specs;
mod turns;

use tertulia_session::json::{FieldError, RawValue};

pub use fragment::{Fragment, ModelContext, Rendering};
pub use note::{Note, NoteKind, Placeholder};
pub use reading::Reading;

tertulia_session::word_enum! {
    /// Whose API is spoken to. The words are those for `--format` and for JSON.
    pub enum Dialect: "openai, responses, anthropic or gemini" {
        /// OpenAI Chat Completions, and the many that copy it.
        OpenAiChat = "openai",
        OpenAiResponses = "responses",
        Anthropic = "anthropic",
        Gemini = "gemini",
    }
}

impl Dialect {
    /// The fragment of a request that carries these messages.
    pub fn render<'a>(self, context: &ModelContext<'a>) -> Rendering<'a> {
        match self {
            Self::OpenAiChat => chat::render(context),
            Self::OpenAiResponses => responses::render(context),
            Self::Anthropic => anthropic::render(context),
            Self::Gemini => gemini::render(context),
        }
    }

    /// The messages of a request, a bare list of messages, or a response.
    pub fn read(self, raw: &RawValue) -> Result<Reading, FieldError> {
        match self {
            Self::OpenAiChat => chat::read(raw),
            Self::OpenAiResponses => responses::read(raw),
            Self::Anthropic => anthropic::read(raw),
            Self::Gemini => gemini::read(raw),
        }
    }
}
