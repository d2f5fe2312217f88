//! Checks that a build in a vendor's format borrows its messages until they are written, so that the allocated
//! memory is limited by the size of the output.

use std::error::Error;

use tertulia_context::builder::{ContextBuildInput, ContextBuilder, ContextConfig, ContextIndex};
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_dialect::{Dialect, ModelContext};

use crate::alloc::counted;
use crate::build::agent_log;
use crate::report::{Figure, Theme, Unit, grouped};

/// A log of about 32,000 tokens.
const LOG_BYTES: usize = 91_000;

/// The maximum number of allocated bytes per printed byte.
const ALLOCATED_LIMIT: f64 = 1.5;

/// Measures the memory allocated by building, rendering and writing, for each vendor. The log is in memory and its
/// tokens are counted.
pub(crate) fn measure() -> Result<Theme, Box<dyn Error>> {
    let log = agent_log(LOG_BYTES);
    let counter = MessageCounter::new(Tokenizer::O200k);
    let builder = ContextBuilder::new(ContextConfig::new(100_000).without_recall())?;
    let builder = builder.with_counter(counter).without_compactor();
    let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
    let mut index = ContextIndex::new();
    let tokens = builder.build_with(&mut index, &input)?.stats.input_tokens;
    let mut figures = Vec::new();
    for dialect in Dialect::ALL {
        let mut printed = Vec::with_capacity(LOG_BYTES * 4);
        let (outcome, allocated) = counted(|| -> Result<(), Box<dyn Error>> {
            let built = builder.build_with(&mut index, &input)?;
            let context = ModelContext {
                cache_breakpoints: &built.cache_breakpoints,
                ..ModelContext::new(built.model_messages.iter().map(|sent| &*sent.message))
            };
            Ok(serde_json::to_writer(&mut printed, &dialect.render(&context).fragment)?)
        });
        outcome?;
        let ratio = allocated.total_bytes as f64 / printed.len() as f64;
        let name = format!(
            "{} tokens for {}, bytes allocated",
            grouped(tokens as usize),
            dialect.as_str()
        );
        let detail = format!(
            "{} B for {} B",
            grouped(allocated.total_bytes as usize),
            grouped(printed.len())
        );
        figures.push(Figure::new(name, ratio, Unit::Times).at_most(ALLOCATED_LIMIT).of(detail));
    }
    Ok(Theme { title: "A build in a vendor's shape against what it prints", figures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{all_hold, table};

    #[test]
    fn what_a_build_in_a_vendors_shape_allocates_is_bounded_by_what_it_prints() {
        let theme = [measure().unwrap()];
        assert!(all_hold(&theme), "{}", table(&theme));
    }
}
