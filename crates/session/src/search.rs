//! Full-text search for recall and the stores: splits a text into terms and weights them. Because both use this
//! code, they find the same texts in the same order. Pure: no index, no store.

pub mod rank;
mod stem;
pub mod terms;

pub use stem::stems_before;
