//! Sessions of agents, seen from outside: imported, handed over, continued there and imported again.

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
