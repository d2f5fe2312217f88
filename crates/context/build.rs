//! Writes the tables of OpenAI's vocabularies and of character classes. `src/tokens/vocabulary/openai/layout.rs`
//! describes them.

#[cfg(feature = "openai-tokens")]
#[path = "build/openai.rs"]
mod openai;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    #[cfg(feature = "openai-tokens")]
    openai::write()?;
    Ok(())
}
