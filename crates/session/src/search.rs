//! How a text is cut into search terms. Recall and the search of stores use the same terms, so that what one finds the
//! other finds too. Pure: no index, no store.

mod stem;
pub mod terms;
