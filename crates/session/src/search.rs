//! Full-text search, the part that recall and the stores share: how a text is cut into terms, and how much a term
//! counts. What one finds the other finds too, in the same order. Pure: no index, no store.

pub mod rank;
mod stem;
pub mod terms;

pub use stem::stems_before;
