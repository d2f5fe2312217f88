//! Contexts for models at the doors: what a build takes and gives, as JSON. Used by `tertulia build` and by
//! the rpc methods; knows no stream, no argument and no protocol, and decides nothing itself.

mod config;
mod error;
mod input;
mod output;
mod summary;

use std::str::FromStr;

use tertulia_context::builder::{ContextBuildResult, ContextIndex};
use tertulia_context::tokens::ToolSpec;
use tertulia_session::UnknownWord;
use tertulia_session::json::{
    FieldError, Json, Object, Problem, RawValue, boolean, elements, text,
};

use crate::to_json;

pub use config::Setup;
pub use error::BuildError;
pub use input::{BuildInput, Messages, Overrides};
use output::update_json;
pub use output::{BuildOutput, render};
pub use summary::accept_summary;

impl BuildInput {
    /// The context. The index knows the counts that came with the input.
    pub fn build(&self, index: &mut ContextIndex) -> Result<ContextBuildResult<'_>, BuildError> {
        index.know_counts(self.token_counts.iter().cloned());
        Ok(self.setup.builder.build_with(index, &self.as_input())?)
    }

    /// The JSON of what changes in the middle of a run.
    pub fn update_json(&self, index: &mut ContextIndex) -> Result<String, BuildError> {
        index.know_counts(self.token_counts.iter().cloned());
        let result = self.setup.builder.update_with(index, &self.as_update())?;
        Ok(update_json(self, index, &result))
    }

    /// The JSON of the context.
    pub fn build_json(&self, index: &mut ContextIndex) -> Result<String, BuildError> {
        let result = self.build(index)?;
        Ok(to_json(&BuildOutput { input: self, index, result: &result }))
    }
}

/// What an input said that nobody used, for people.
#[derive(Debug, Default)]
pub struct Unused {
    /// The names of fields that say nothing to this version.
    pub names: Vec<String>,
    /// Sentences: a model that is not known, what a vendor's request lost on its way.
    pub notes: Vec<String>,
}

impl Unused {
    /// Takes in what is left of an object that stands in this field.
    fn rest(&mut self, field: &str, object: &Object<'_>) {
        self.names.extend(object.names().map(|name| format!("{field}.{name}")));
    }
}

/// The elements of a list, each with its place in errors.
pub fn each<T>(
    raw: &RawValue,
    read: impl Fn(&RawValue) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let read = |(index, raw)| read(raw).map_err(|error| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

/// A tool, as much of it as is counted. One that only its vendor knows has no schema; it is counted by
/// what it is.
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

/// One of a few words: a tokenizer, a dialect, a strategy.
pub fn read_word<T: FromStr<Err = UnknownWord>>(raw: &RawValue) -> Result<T, FieldError> {
    let got = text(raw)?;
    got.parse().map_err(|error: UnknownWord| not_one_of(error.allowed, &got))
}

/// A word that is not one of a few; a long one is shown by its beginning.
pub(crate) fn not_one_of(allowed: &'static str, got: &str) -> FieldError {
    FieldError::new(Problem::NotOneOf { allowed, got: got.chars().take(40).collect() })
}
