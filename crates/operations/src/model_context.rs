//! Contexts for models at the doors: what a build takes and gives, as JSON. Used by `tertulia build` and by
//! the rpc methods; knows no stream, no argument and no protocol, and decides nothing itself.

mod config;
mod error;
mod input;
mod output;
mod reading;
mod summary;
mod vendor;

use tertulia_context::builder::{ContextBuildResult, ContextIndex};

pub use config::Setup;
pub use error::BuildError;
pub use input::{BuildInput, Messages, Overrides};
pub use output::{BuildOutput, UpdateOutput};
pub use reading::{Unused, each, read_dialect, read_tokenizer, read_tool_spec};
pub use summary::accept_summary;
pub use vendor::render;

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
        Ok(UpdateOutput { input: self, index, result: &result }.to_json())
    }

    /// The JSON of the context.
    pub fn build_json(&self, index: &mut ContextIndex) -> Result<String, BuildError> {
        let result = self.build(index)?;
        Ok(BuildOutput { input: self, index, result: &result }.to_json())
    }
}
