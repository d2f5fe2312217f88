//! The formats of vendors. Renders model messages as requests of four vendors' APIs, reads such requests as messages,
//! and in [`stream`] parses the output that agents print while they answer.
//!
//! Synchronous and pure. Only this crate contains a vendor's JSON; it depends on `session` only. A renderer accepts
//! any list of messages, repairs what the vendor would reject, and reports in [`Note`]s what it changed or left out.
//! docs/dialects.md lists the vendors' rules with their sources.
//!
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
mod identifier_rules;
pub mod native;
mod normalize;
mod note;
mod reading;
mod responses;
mod result_content;
pub mod stream;
mod surrogates;
mod tool_specs;
mod turns;

use tertulia_session::json::{FieldError, RawValue};

pub use fragment::{Fragment, ModelContext, Rendering};
pub use note::{Note, NoteKind, Placeholder};
pub use reading::Reading;

tertulia_session::word_enum! {
    /// The API of a vendor. The words are those for `--format` and for JSON.
    pub enum Dialect: "openai, responses, anthropic or gemini" {
        /// OpenAI Chat Completions, and the many APIs that copy it.
        OpenAiChat = "openai",
        OpenAiResponses = "responses",
        Anthropic = "anthropic",
        Gemini = "gemini",
    }
}

impl Dialect {
    /// Renders the messages as a fragment of a request.
    pub fn render<'a>(self, context: &ModelContext<'a>) -> Rendering<'a> {
        match self {
            Self::OpenAiChat => chat::render(context),
            Self::OpenAiResponses => responses::render(context),
            Self::Anthropic => anthropic::render(context),
            Self::Gemini => gemini::render(context),
        }
    }

    /// Reads the messages of a request, a bare list of messages, or a response.
    pub fn read(self, raw: &RawValue) -> Result<Reading, FieldError> {
        match self {
            Self::OpenAiChat => chat::read(raw),
            Self::OpenAiResponses => responses::read(raw),
            Self::Anthropic => anthropic::read(raw),
            Self::Gemini => gemini::read(raw),
        }
    }
}
