//! Properties that hold for every input.

pub(crate) mod arbitrary;
mod budget;
mod compact;
mod conversation;
mod naive;
mod pathological;
mod preserve;
mod snapshot;
