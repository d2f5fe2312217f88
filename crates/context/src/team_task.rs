//! The team's task and its limit. Every way in goes through here, so that no stored task is longer.

use crate::truncate::truncate_to_bytes;

/// The longest team task in bytes: 5 KiB.
pub const TEAM_TASK_BYTES_MAX: usize = 5 * 1024;

/// A task within its limit.
pub(crate) struct LimitedTask {
    pub(crate) task: String,
    /// The bytes it had, if it had too many.
    pub(crate) cut_from: Option<usize>,
}

pub(crate) fn limit(mut task: String) -> LimitedTask {
    let bytes = task.len();
    if bytes <= TEAM_TASK_BYTES_MAX {
        return LimitedTask { task, cut_from: None };
    }
    task.truncate(truncate_to_bytes(&task, TEAM_TASK_BYTES_MAX).len());
    task.shrink_to_fit();
    LimitedTask { task, cut_from: Some(bytes) }
}
