//! What holds for every input, not only for those that somebody thought of.

pub(crate) mod arbitrary;
mod budget;
mod compact;
mod conversation;
mod naive;
mod pathological;
mod preserve;
mod snapshot;
