//! Simulated power cuts: [`trace`] reads what a process did to a folder from a strace log, and
//! [`disk`] models the possible states of the disk. Used by the roles `images` and `cuts`.

mod call;
pub(crate) mod disk;
pub(crate) mod trace;
pub(crate) mod watch;

/// Maximum string length in the strace log: longer than any write here.
pub(crate) const STRING_BYTES: &str = "4000000";
