//! The guarantees of the store under faults, in small counts. `cargo xtask faults` runs them in
//! full; docs/faults.md has the figures.

mod commands;
mod harness;
mod roles;
