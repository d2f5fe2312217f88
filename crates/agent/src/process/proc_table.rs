//! The process table, as `/proc` shows it, and signals to processes. A process is identified by its id and its start
//! time, because ids are reused. So a signal always reaches the intended process.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};

use super::read_prefix;

/// Maximum number of bytes that are read; any line of `/proc/<pid>/stat` is much shorter.
const STAT_BYTES_MAX: u64 = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: u32,
    /// In ticks since boot.
    pub(super) started: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) identity: Identity,
    pub(super) parent: u32,
    pub(super) session: u32,
    pub(super) is_zombie: bool,
    pub(super) is_stopped: bool,
    /// Resident memory, including shared pages.
    pub(super) resident_pages: u64,
}

pub(super) fn row(pid: u32) -> Option<Row> {
    parse_row(pid, &String::from_utf8_lossy(&read(pid, "stat", STAT_BYTES_MAX)?))
}

fn read(pid: u32, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
    read_prefix(Path::new(&format!("/proc/{pid}/{name}")), bytes_max)
}

/// Parses a line of `/proc/<pid>/stat`. The name is in parentheses and may contain any character, so it ends at the
/// last `)`.
fn parse_row(pid: u32, stat: &str) -> Option<Row> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    // Start time is field 22 of the line; the session is field 6.
    let started = fields.nth(15)?.parse().ok()?;
    let (is_zombie, is_stopped) = (matches!(state, "Z" | "X" | "x"), state == "T");
    let resident_pages = fields.nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    let identity = Identity { pid, started };
    Some(Row { identity, parent, session, is_zombie, is_stopped, resident_pages })
}

pub(super) fn rows() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| row(name.to_str()?.parse().ok()?)).collect()
}

/// Returns the living descendants of a process, by parents only.
pub(super) fn rows_below(pid: u32) -> Vec<Row> {
    let mut children: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for row in rows() {
        children.entry(row.parent).or_default().push(row);
    }
    let mut open = vec![pid];
    let mut below = Vec::new();
    while let Some(parent) = open.pop() {
        // Each list is used once. Otherwise a table that changed while it was read could cause an endless loop.
        let born = children.remove(&parent).unwrap_or_default();
        open.extend(born.iter().map(|row| row.identity.pid));
        below.extend(born);
    }
    below.retain(|row| !row.is_zombie);
    below
}

/// Returns the children of our own process from the kernel's list. This is much faster than reading the whole table,
/// so it also finds short-lived orphans. Empty if the kernel has no such list.
pub(super) fn own_children() -> Vec<Row> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids = lists.flat_map(|list| {
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
    });
    pids.filter_map(row).filter(|row| !row.is_zombie).collect()
}

pub(super) fn memory_table(pid: u32) -> Option<String> {
    String::from_utf8(read(pid, "smaps_rollup", STAT_BYTES_MAX)?).ok()
}

/// Identifies a living process.
pub(super) fn identify(pid: u32) -> Option<Identity> {
    row(pid).filter(|row| !row.is_zombie).map(|row| row.identity)
}

/// Returns whether a process started after this time. `false` if that is not known.
pub(crate) fn started_after(pid: u32, time: SystemTime) -> bool {
    /// The times are compared by two clocks.
    const MARGIN: Duration = Duration::from_secs(2);
    let age = || {
        let started = row(pid)?.identity.started as f64;
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let uptime = read_prefix(Path::new("/proc/uptime"), STAT_BYTES_MAX)?;
        let uptime: f64 = str::from_utf8(&uptime).ok()?.split(' ').next()?.parse().ok()?;
        Duration::try_from_secs_f64(uptime - started / ticks).ok()
    };
    let since = SystemTime::now().duration_since(time).ok();
    since.zip(age()).is_some_and(|(since, age)| since > age + MARGIN)
}

/// Returns a name made of the namespace of process ids, the id and the start time. It is unique until this machine
/// restarts.
pub(super) fn own_name() -> String {
    let started = row(std::process::id()).map_or(0, |row| row.identity.started);
    format!("{}-{}-{started}", own_namespace(), std::process::id())
}

pub(super) fn own_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

/// Returns whether a name begins with the [`own_name`] of a process that has exited. Returns `false` for names of
/// other namespaces, because their processes are not visible.
pub(super) fn is_orphaned(name: &str) -> bool {
    let mut fields = name.split(['-', '/']).map(str::parse::<u64>);
    let (Some(Ok(namespace)), Some(Ok(pid)), Some(Ok(started))) =
        (fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    let Ok(pid) = u32::try_from(pid) else { return false };
    namespace == own_namespace() && identify(pid) != Some(Identity { pid, started })
}

pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    /// Maximum number of bytes that are searched, because an environment may have megabytes.
    const BYTES_MAX: u64 = 4 * 1024 * 1024;
    let bytes = read(pid, "environ", BYTES_MAX)?;
    let mut entries = bytes.split(|byte| *byte == 0);
    let value = entries.find_map(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    });
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Sends a signal to a process, unless another process has got its id.
pub(super) fn signal(identity: Identity, signal: Signal) {
    let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) else { return };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        // The handle is opened before the identity is checked, so another process cannot take the id in between.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
            if identify(identity.pid) == Some(identity) {
                // This fails only if the process has exited or belongs to another user.
                let _ = pidfd_send_signal(handle, signal);
            }
            return;
        }
    }
    if identify(identity.pid) == Some(identity) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

pub(super) fn resume_if_stopped(pid: u32) {
    if let Some(row) = row(pid).filter(|row| row.is_stopped) {
        signal(row.identity, Signal::CONT);
    }
}

/// Reaps a dead child of ours that nobody waits for.
pub(super) fn reap(identity: Identity) {
    let own = std::process::id();
    let is_ours = |row: &Row| row.identity == identity && row.is_zombie && row.parent == own;
    if !row(identity.pid).as_ref().is_some_and(is_ours) {
        return;
    }
    if let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_move_the_fields() {
        let stat = "42 (a) S 1 (b) R 7 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let row = parse_row(42, stat).unwrap();
        assert_eq!((row.parent, row.session), (7, 43));
        assert_eq!(row.identity, Identity { pid: 42, started: 98765 });
        assert!(!row.is_zombie);
        assert_eq!(row.resident_pages, 2);
    }

    #[test]
    fn a_line_that_is_cut_is_no_row() {
        assert!(parse_row(1, "1 (sh) S 0 1").is_none());
        assert!(parse_row(1, "").is_none());
    }

    #[test]
    fn only_names_of_dead_processes_of_this_namespace_are_orphaned() {
        let namespace = own_namespace();
        assert!(!is_orphaned(&format!("{}-0/turn", own_name())));
        assert!(is_orphaned(&format!("{namespace}-{}-1-0", std::process::id())));
        assert!(!is_orphaned(&format!("{}-999999999-1-0", namespace + 1)));
        assert!(!is_orphaned("mine"));
    }

    #[test]
    fn we_are_in_the_table() {
        let own = row(std::process::id()).unwrap();
        assert!(rows().iter().any(|row| row.identity == own.identity));
        assert!(!own.is_zombie);
    }
}
