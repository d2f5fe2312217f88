//! Power cuts, as a model: [`trace`] reads what a process did to a folder from the log of strace, and
//! [`disk`] holds the states in which a disk may be left meanwhile. Used by the roles `images` and `cuts`.

mod call;
pub(crate) mod disk;
pub(crate) mod trace;
pub(crate) mod watch;

/// How much of a string strace writes down: more than any process here writes at once.
pub(crate) const STRING_BYTES: &str = "4000000";
