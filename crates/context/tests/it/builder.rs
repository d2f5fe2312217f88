//! Tests of the context builder through its public interface: its promises on random sessions, the contract's
//! traces, bad input, and each stage. `notation` describes how these tests write logs.

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
