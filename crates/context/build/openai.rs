//! The tables of OpenAI's vocabularies. Only the build script calls this code.

mod classes;
#[path = "../src/tokens/vocabulary/openai/layout.rs"]
#[expect(dead_code, reason = "the functions that read are not needed to write")]
mod layout;
mod merges;
mod packed;
mod pairs;
mod trie;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use splintr_vocab_cl100k::CL100K_BASE_VOCAB_PACKED;
use splintr_vocab_o200k::O200K_BASE_VOCAB_PACKED;

/// Writes all tables to the output folder of the build script.
#[expect(clippy::disallowed_methods, reason = "a build script writes files; the crate does not")]
pub(crate) fn write() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/tokens/vocabulary/openai/layout.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.join(name), bytes);
    let vocabularies = [("o200k", O200K_BASE_VOCAB_PACKED), ("cl100k", CL100K_BASE_VOCAB_PACKED)];
    for (name, vocabulary) in vocabularies {
        let tokens = packed::tokens(vocabulary)?;
        write(&format!("{name}.trie"), long_words(&trie::nodes(&tokens)?))?;
        let (facts, merges) = merges::facts(&tokens)?;
        write(&format!("{name}.tokens"), long_words(&facts))?;
        let (pairs, shifts) = pairs::tables(&merges)?;
        write(&format!("{name}.pairs"), words(&pairs))?;
        write(&format!("{name}.shifts"), short_words(&shifts))?;
    }
    let (blocks, classes) = classes::tables()?;
    write("classes.blocks", blocks)?;
    write("classes", classes)?;
    Ok(())
}

fn long_words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn short_words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
