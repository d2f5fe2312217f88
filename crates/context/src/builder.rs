//! From a session's log to model messages. So far the stages that make a list of messages one that
//! every provider accepts: [`repair()`] mends tool pairs, [`units()`] says where a cut may fall.

mod repair;
mod units;

pub use repair::{Item, NO_RESULT, Repair, RepairKind, Repaired, repair};
pub use units::units;
