//! Full-text search shared by recall and the stores: splitting a text into terms, and weighting
//! them. Both find the same texts in the same order. Pure: no index, no store.

pub mod rank;
mod stem;
pub mod terms;

pub use stem::stems_before;
