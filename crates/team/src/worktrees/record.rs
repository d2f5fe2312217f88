//! The files that describe worktrees: one per session and member, next to the worktree.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Result, Worktree, Worktrees, files};

/// Maximum size of a file that describes a worktree.
const BYTES_MAX: u64 = 64 * 1024;

impl Worktrees {
    /// Returns all worktrees, by session and member.
    pub fn list(&self) -> Vec<Worktree> {
        let sessions = self.folder.read_dir().into_iter().flatten().flatten();
        let mut all: Vec<Worktree> =
            sessions.flat_map(|session| Self::in_session_folder(&session.path())).collect();
        all.sort_by(|a, b| (&a.session, &a.member).cmp(&(&b.session, &b.member)));
        all
    }

    /// Returns the worktrees of a session.
    pub fn of_session(&self, session: &str) -> Vec<Worktree> {
        Self::in_session_folder(&self.folder.join(plain(session)))
    }

    fn in_session_folder(folder: &Path) -> Vec<Worktree> {
        let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let records = entries.filter(|path| path.extension().is_some_and(|end| end == "json"));
        records.filter_map(|path| read(&path)).collect()
    }

    pub(super) fn find(&self, session: &str, member: &str) -> Option<Worktree> {
        let found = read(&self.record(session, member))?;
        (*found.session == *session && *found.member == *member).then_some(found)
    }

    pub(super) fn record(&self, session: &str, member: &str) -> PathBuf {
        self.folder.join(plain(session)).join(format!("{}.json", plain(member)))
    }

    pub(super) fn new_worktree(
        &self,
        session: &str,
        member: &str,
        top: &Path,
        branch: &str,
        base: &str,
    ) -> Worktree {
        let record = self.record(session, member);
        Worktree {
            session: session.into(),
            member: member.into(),
            path: record.with_extension(""),
            repository: top.to_owned(),
            branch: branch.into(),
            base: base.into(),
            record,
        }
    }
}

impl Worktree {
    pub(super) fn write(&self) -> Result<()> {
        let folder = self.record.parent().unwrap_or(Path::new("."));
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|source| files(folder, source))?;
        let text = json!({
            "session": &*self.session,
            "member": &*self.member,
            "path": self.path.to_string_lossy(),
            "repository": self.repository.to_string_lossy(),
            "branch": &*self.branch,
            "base": &*self.base,
        });
        std::fs::write(&self.record, text.to_string()).map_err(|source| files(&self.record, source))
    }

    /// Removes the file that describes it, and the folder of the session if it is empty.
    pub(super) fn forget(&self) {
        // What remains is found by the next list.
        let _ = std::fs::remove_file(&self.record);
        let _ = self.record.parent().map(std::fs::remove_dir);
    }
}

fn read(path: &Path) -> Option<Worktree> {
    let is_small = path.metadata().is_ok_and(|about| about.len() <= BYTES_MAX);
    let bytes = is_small.then(|| std::fs::read(path).ok()).flatten()?;
    let fields: Value = serde_json::from_slice(&bytes).ok()?;
    let text = |name: &str| fields.get(name)?.as_str();
    Some(Worktree {
        session: text("session")?.into(),
        member: text("member")?.into(),
        path: text("path")?.into(),
        repository: text("repository")?.into(),
        branch: text("branch")?.into(),
        base: text("base")?.into(),
        record: path.to_owned(),
    })
}

/// Returns a name that is valid as a folder and as a part of a branch. Two names give the same one only if they are
/// equal.
pub(super) fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if (1..=64).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    let start: String = name.chars().filter(|c| is_plain(*c)).take(32).collect();
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!("_{start}-{}", hash.get(..12).unwrap_or(&hash))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn plain_names_stay_and_others_get_a_hash() {
        for name in ["max", "code-max", "e_2"] {
            assert_eq!(plain(name), name);
        }
        for name in ["../etc", "a b", "-f", "Ünal", "x.lock", "a:b", "", &"x".repeat(1000)] {
            let safe = plain(name);
            assert!(safe.starts_with('_') && safe.len() < 60, "{safe}");
            assert!(safe.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        }
        assert_ne!(plain("a b"), plain("a  b"));
    }
}
