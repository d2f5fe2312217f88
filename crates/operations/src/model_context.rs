//! Contexts for models as JSON: the input and the output of a build. `tertulia build` and the rpc methods use it. It
//! depends on no stream, argument or protocol, and only converts data.

mod config;
mod error;
mod input;
mod output;
mod summary;

use std::str::FromStr;

use tertulia_context::tokens::ToolSpec;
use tertulia_session::UnknownWord;
use tertulia_session::json::{FieldError, Json, Object, Problem, RawValue, boolean, text};

pub use config::Setup;
pub use error::BuildError;
pub use input::{BuildInput, Messages, Overrides};
pub use output::{BuildOutput, render};
pub use summary::accept_summary;

/// The parts of an input that had no effect.
#[derive(Debug, Default)]
pub struct Unused {
    pub names: Vec<String>,
    /// Sentences for people, such as a warning about an unknown model or about losses in a vendor's request.
    pub notes: Vec<String>,
}

impl Unused {
    fn rest(&mut self, field: &str, object: &Object<'_>) {
        self.names.extend(object.names().map(|name| format!("{field}.{name}")));
    }
}

/// Returns the part of a tool that is counted. A tool that only its vendor defines has no schema, so its whole
/// definition is counted instead.
pub fn read_tool_spec(raw: &RawValue) -> Result<ToolSpec, FieldError> {
    let mut object = Object::try_from(raw)?;
    let own = object.take_some("tool").filter(|_| object.take_some("vendor").is_some());
    Ok(ToolSpec {
        name: object.need_text("name")?.into(),
        description: object.take_text("description")?.map(Into::into),
        parameter_schema: match own {
            Some(tool) => Json::from(tool),
            None => Json::from(object.need("parameterSchema", "a JSON Schema")?),
        },
        strict: object.take_with("strict", boolean)?,
    })
}

/// Reads one of a fixed set of words, such as a tokenizer, a dialect or a strategy.
pub fn read_word<T: FromStr<Err = UnknownWord>>(raw: &RawValue) -> Result<T, FieldError> {
    let got = text(raw)?;
    got.parse().map_err(|error: UnknownWord| not_one_of(error.allowed, &got))
}

/// Returns the error for an unknown word. A long word is cut.
pub(crate) fn not_one_of(allowed: &'static str, got: &str) -> FieldError {
    FieldError::new(Problem::NotOneOf { allowed, got: got.chars().take(40).collect() })
}
