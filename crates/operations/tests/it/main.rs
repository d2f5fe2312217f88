//! Sessions of agents through the public interface: they are imported, handed over, continued by the agent and
//! imported again.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; it plays the agents, which write files"
)]

mod agents;
mod import;
mod import_growing;
mod import_return;
mod interleaving;
mod machine;
mod round_trips;
mod verify;
