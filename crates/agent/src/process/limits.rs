//! The resource limits of a turn. The kernel enforces them if the turn's control group has the files for that.
//! Otherwise the supervisor measures the use several times a second.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::control_group::ControlGroup;
use super::proc_table::{self, Row};
use crate::{Overuse, Resource, ResourceLimits};

const PROCESSES: u32 = 1024;
const MEMORY_BYTES_MIN: u64 = 2 << 30;

pub(crate) fn default_limits() -> ResourceLimits {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    let memory_bytes = *MEMORY.get_or_init(|| {
        let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        // If the total is unknown, the use cannot be measured either.
        kilobytes(&table, "MemTotal:").map_or(u64::MAX, |kb| (kb * 768).max(MEMORY_BYTES_MIN))
    });
    ResourceLimits { processes: PROCESSES, memory_bytes }
}

/// Returns the number after a word, as `/proc` writes it: `Pss:    1234 kB`.
fn kilobytes(table: &str, word: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[derive(Debug)]
pub(super) struct Meter {
    limits: ResourceLimits,
    /// File in which the kernel counts refused processes.
    refused: Option<PathBuf>,
    /// File in which the kernel counts kills for lack of memory.
    killed: Option<PathBuf>,
}

impl Meter {
    pub(super) fn new(limits: ResourceLimits, group: Option<&ControlGroup>) -> Self {
        let kept = |limit: &str, events: &str| {
            let folder = group?.path();
            folder.join(limit).is_file().then(|| folder.join(events))
        };
        let (refused, killed) =
            (kept("pids.max", "pids.events"), kept("memory.max", "memory.events"));
        Self { limits, refused, killed }
    }

    /// Checks the limits. Reads the processes only if the kernel does not count.
    pub(super) fn check(&self, below: impl FnOnce() -> Vec<Row>) -> Option<Overuse> {
        let ResourceLimits { processes, memory_bytes } = self.limits;
        let limit = u64::from(processes);
        if counted(self.refused.as_ref(), "max ") {
            return Some(Overuse { resource: Resource::Processes, used: limit + 1, limit });
        }
        if counted(self.killed.as_ref(), "oom_kill ") {
            let (used, limit) = (memory_bytes, memory_bytes);
            return Some(Overuse { resource: Resource::Memory, used, limit });
        }
        if self.refused.is_some() && self.killed.is_some() {
            return None;
        }
        let rows = below();
        let used = rows.len() as u64;
        if self.refused.is_none() && used > limit {
            return Some(Overuse { resource: Resource::Processes, used, limit });
        }
        if self.killed.is_some() || resident(&rows) <= memory_bytes {
            return None;
        }
        // The sum above counts shared pages once per process. This one is slower and exact.
        let used = rows.iter().map(proportional).sum();
        let limit = memory_bytes;
        (used > limit).then_some(Overuse { resource: Resource::Memory, used, limit })
    }
}

fn counted(file: Option<&PathBuf>, word: &str) -> bool {
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    kilobytes(&text, word).is_some_and(|count| count > 0)
}

fn resident(rows: &[Row]) -> u64 {
    let page = rustix::param::page_size() as u64;
    rows.iter().map(|row| row.resident_pages.saturating_mul(page)).sum()
}

/// Returns the memory of one process with its share of shared pages. Counts shared pages completely if the share
/// cannot be read.
fn proportional(row: &Row) -> u64 {
    let table = proc_table::memory_table(row.identity.pid);
    table
        .and_then(|table| kilobytes(&table, "Pss:"))
        .map_or_else(|| resident(std::slice::from_ref(row)), |kb| kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(processes: u32, memory_bytes: u64) -> Meter {
        Meter::new(ResourceLimits { processes, memory_bytes }, None)
    }

    #[test]
    fn processes_are_counted_and_memory_is_added_up() {
        let own = proc_table::row(std::process::id()).unwrap();
        assert!(own.resident_pages > 0);
        let two = || vec![own, own];
        let over = meter(1, u64::MAX).check(two).unwrap();
        assert_eq!((over.resource, over.used, over.limit), (Resource::Processes, 2, 1));
        assert_eq!(meter(2, u64::MAX).check(two), None);
        let over = meter(2, 4096).check(two).unwrap();
        assert_eq!((over.resource, over.limit), (Resource::Memory, 4096));
    }

    #[test]
    fn what_the_kernel_counts_is_not_counted_again() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        for name in ["pids.max", "memory.max"] {
            write(name, "max\n");
        }
        let group = ControlGroup::at(folder.path());
        let limits = ResourceLimits { processes: 5, memory_bytes: 4096 };
        group.limit(&limits);
        assert_eq!(std::fs::read_to_string(folder.path().join("pids.max")).unwrap(), "5");
        assert_eq!(std::fs::read_to_string(folder.path().join("memory.max")).unwrap(), "4096");
        let meter = Meter::new(limits, Some(&group));
        let check = || meter.check(|| unreachable!());
        write("pids.events", "max 0\n");
        write("memory.events", "low 0\noom 2\noom_kill 0\n");
        assert_eq!(check(), None);
        write("memory.events", "low 0\noom 2\noom_kill 1\n");
        assert_eq!(check().unwrap().resource, Resource::Memory);
        write("pids.events", "max 3\n");
        assert_eq!(check().unwrap().resource, Resource::Processes);
    }

    #[test]
    fn the_defaults_leave_room_for_an_agent() {
        let limits = default_limits();
        assert_eq!(limits.processes, 1024);
        assert!(limits.memory_bytes >= 2 << 30);
    }
}
