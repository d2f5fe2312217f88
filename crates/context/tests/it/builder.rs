//! The context builder from outside: what it promises on random sessions, the contract's traces, bad
//! input, and each stage by itself. `notation` says how logs are written down here.

mod arbitrary;
mod bad_input;
mod claim;
mod cutting;
mod edges;
mod files;
mod lasting_promises;
mod notation;
mod promises;
mod rules;
mod summaries;
mod system;
mod traces;
mod usage;
mod warm;
mod world;
