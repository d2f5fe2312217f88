//! A control group (version 2) for one turn. A process inside cannot leave it by forking, by starting a session or by
//! clearing its environment, and one write kills all of them. The group is created below our own group. It needs no
//! more rights than a service manager or a container grants by delegating a group. [`probe`] checks whether that
//! works.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::proc_table::{self, Identity, Row};
use super::read_prefix;
use crate::ResourceLimits;

/// Shell code that enters the group whose folder is `$1`, and then replaces the shell by the program.
pub(super) const ENTER: &str = r#"echo $$ >"$1/cgroup.procs" && shift && exec "$@""#;

const PREFIX: &str = "tertulia-";
/// Maximum number of members that are reported.
const MEMBERS_MAX: usize = 65_536;
const DEPTH_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Creates a group, after removing what an earlier run left. Returns `None` if creating it is not allowed.
    pub(super) fn create(name: &str) -> Option<Self> {
        let parent = own_folder()?;
        sweep(&parent);
        let group = Self { path: parent.join(format!("{PREFIX}{name}")) };
        std::fs::create_dir(&group.path).ok()?;
        // Without this file (kernels before 5.14) the group cannot be killed by one write.
        if !group.path.join("cgroup.kill").is_file() {
            group.remove();
            return None;
        }
        Some(group)
    }

    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Limits the resources of the group if possible. The files exist only if the parent group delegates the
    /// controllers.
    pub(super) fn limit(&self, limits: &ResourceLimits) {
        let files = [
            ("pids.max", limits.processes.to_string()),
            ("memory.max", limits.memory_bytes.to_string()),
            // The kernel then kills all processes of the group, not only the one that allocated last.
            ("memory.oom.group", "1".to_owned()),
        ];
        for (name, value) in files {
            let file = self.path.join(name);
            if file.is_file()
                && let Err(error) = std::fs::write(&file, value)
            {
                tracing::debug!(file = %file.display(), %error, "a limit could not be set");
            }
        }
    }

    fn has_limits(&self) -> bool {
        ["pids.max", "memory.max"].iter().all(|name| self.path.join(name).is_file())
    }

    pub(super) fn members(&self, except: u32) -> Vec<Identity> {
        let rows = self.rows().into_iter().map(|row| row.identity);
        rows.filter(|identity| identity.pid != except).collect()
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let mut pids = Vec::new();
        collect(&self.path, DEPTH_MAX, &mut pids);
        let rows = pids.into_iter().filter_map(proc_table::row);
        rows.filter(|row| !row.is_zombie).collect()
    }

    /// Kills all processes, including those being forked. Returns how many were seen.
    pub(super) fn kill(&self) -> usize {
        let seen = self.members(0).len();
        if let Err(error) = std::fs::write(self.path.join("cgroup.kill"), "1")
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(group = %self.path.display(), %error, "a group could not be killed");
        }
        seen
    }

    /// Removes the group. Retries, because the kernel refuses for a moment after the death of the last member.
    pub(super) fn remove(&self) {
        let until = Instant::now() + Duration::from_secs(1);
        while let Err(error) = remove_tree(&self.path, DEPTH_MAX) {
            if error.kind() == std::io::ErrorKind::NotFound || Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ability {
    pub(super) has_limits: bool,
}

/// Creates and enters a group as a trial. Returns what groups can do here, or `None` if that fails.
pub(super) fn probe() -> Option<Ability> {
    let name = format!("{}-probe", proc_table::own_name());
    let group = ControlGroup::create(&name)?;
    let ability = Ability { has_limits: group.has_limits() };
    let mut enter = Command::new("/bin/sh");
    enter.args(["-c", ENTER, "sh"]).arg(group.path()).arg("true").env_clear();
    enter.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let is_entered = enter.status().is_ok_and(|status| status.success());
    group.remove();
    is_entered.then_some(ability)
}

fn own_folder() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    folder_of(&mounts, &groups)
}

fn folder_of(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = fields.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // Only a part of the hierarchy may be mounted, as in a container. A mount whose name contains escaped spaces
        // is not supported.
        let below = Path::new(own).strip_prefix(root).ok()?;
        let folder = Path::new(point).join(below);
        Some(folder).filter(|folder| !folder.to_string_lossy().contains('\\'))
    })
}

/// Kills and removes orphaned groups in the folder where our groups would be created.
pub(super) fn sweep_own() {
    if let Some(parent) = own_folder() {
        sweep(&parent);
    }
}

/// Kills and removes groups whose owner has exited. The name of a group identifies its owner.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        if proc_table::is_orphaned(owner) {
            let group = ControlGroup { path: entry.path() };
            group.kill();
            group.remove();
        }
    }
}

fn collect(folder: &Path, depth: usize, pids: &mut Vec<u32>) {
    let list = read_prefix(&folder.join("cgroup.procs"), 16 * MEMBERS_MAX as u64);
    let text = String::from_utf8(list.unwrap_or_default()).unwrap_or_default();
    pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
    pids.truncate(MEMBERS_MAX);
    for inner in folders_in(folder, depth) {
        collect(&inner, depth - 1, pids);
    }
}

fn remove_tree(folder: &Path, depth: usize) -> std::io::Result<()> {
    for inner in folders_in(folder, depth) {
        remove_tree(&inner, depth - 1)?;
    }
    std::fs::remove_dir(folder)
}

fn folders_in(folder: &Path, depth: usize) -> Vec<PathBuf> {
    if depth == 0 {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_folder).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mounts: &str, groups: &str, expected: Option<&str>) {
        assert_eq!(folder_of(mounts, groups).as_deref(), expected.map(Path::new));
    }

    #[test]
    fn the_folder_is_found_wherever_version_2_is_mounted() {
        let unified = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                       41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        check(unified, "1:cpu:/x\n0::/\n", Some("/sys/fs/cgroup/unified"));
        let modern = "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice\n";
        let folder = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice";
        check(modern, own, Some(folder));
    }

    #[test]
    fn a_part_of_the_hierarchy_is_mounted_in_a_container() {
        let mounts = "9 8 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        check(mounts, "0::/docker/abc/inner\n", Some("/sys/fs/cgroup/inner"));
        check(mounts, "0::/elsewhere\n", None);
    }

    #[test]
    fn version_1_alone_gives_none() {
        check("9 8 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/\n", None);
        check("", "", None);
        check("garbage", "0::/\n", None);
    }
}
