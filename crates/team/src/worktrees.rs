//! Git worktrees of members: each is a copy of the project with a branch of its own, so that its member can write
//! beside others. They are below the data folder, one per session and member. They are removed when they contain
//! nothing that would be lost. Called by the driver and by `tertulia worktrees`.

#![expect(clippy::disallowed_methods, reason = "worktrees are files, and git is a program")]

mod git;
mod record;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use git::Git;

/// Maximum number of names that are tried for a branch.
const BRANCHES_MAX: usize = 9;
/// The settings of the user must not hide a file or a change in a submodule.
const STATUS: [&str; 6] = [
    "status",
    "--porcelain",
    "-z",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=none",
];
/// Git does not add two worktrees of one repository at once reliably.
static ADDING: Mutex<()> = Mutex::new(());

/// The worktrees below a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktrees {
    folder: PathBuf,
}

/// The worktree of a member in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    pub session: Box<str>,
    pub member: Box<str>,
    /// The folder of the worktree.
    pub path: PathBuf,
    /// The folder of the project's repository.
    pub repository: PathBuf,
    pub branch: Box<str>,
    /// The commit from which it was made.
    pub base: Box<str>,
    /// The file that describes it.
    record: PathBuf,
}

/// A worktree that is ready for a turn.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) worktree: Worktree,
    /// The folder in it where the agent works.
    pub(crate) folder: PathBuf,
    /// Texts for people about what is unusual.
    pub(crate) remarks: Vec<String>,
}

/// What a worktree contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorktreeState {
    /// Whether its folder was deleted.
    pub is_missing: bool,
    /// Number of commits since it was made.
    pub commits: usize,
    /// Number of these commits that are in no other branch.
    pub own_commits: usize,
    /// Number of files with changes that are not committed.
    pub changed: usize,
    /// Number of files with conflicts of a merge.
    pub conflicts: usize,
}

/// A worktree cannot be made, read or removed. The agent's work is kept in any case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    #[error("`worktree = true` needs git, which is not installed; install it, or remove the line")]
    NoGit,
    #[error(
        "`worktree = true` needs a git repository, and {} is in none; run `git init` there and \
         commit, or remove the line",
        path.display()
    )]
    NoRepository { path: PathBuf },
    #[error(
        "`worktree = true` needs a commit, and the repository {} has none yet; commit something, or \
         remove the line",
        path.display()
    )]
    NoCommits { path: PathBuf },
    #[error(
        "the worktree {} belongs to another repository, {}; start a new session, or run \
         `tertulia worktrees remove {session}/{member}`",
        path.display(), repository.display()
    )]
    OtherRepository { path: PathBuf, repository: PathBuf, session: Box<str>, member: Box<str> },
    #[error(
        "{0} is not a worktree of git any more; if its repository was moved, run `git worktree repair {0}` there, \
         otherwise save what you need from it, and delete the folder",
        path.display()
    )]
    NotAWorktree { path: PathBuf },
    #[error(
        "the branches {name} to {name}-{BRANCHES_MAX} exist; delete those that you do not need"
    )]
    Branches { name: Box<str> },
    #[error("the worktree {} is kept: {why}", path.display())]
    Kept { path: PathBuf, why: Box<str> },
    #[error("git: {message}")]
    Git { message: Box<str> },
    #[error("{}: {source}", path.display())]
    Files { path: PathBuf, source: io::Error },
}

type Result<T> = std::result::Result<T, WorktreeError>;

impl Worktrees {
    /// Returns the worktrees below this data folder.
    pub fn below(data_folder: &Path) -> Self {
        let folder = data_folder.join("worktrees");
        // Git runs in another folder.
        Self { folder: std::path::absolute(&folder).unwrap_or(folder) }
    }

    /// Makes the worktree of a member, or finds the one of its earlier turns. `work` is the folder where it would
    /// work without a worktree.
    pub(crate) fn prepare(&self, session: &str, member: &str, work: &Path) -> Result<Prepared> {
        let work = work.canonicalize().map_err(|source| files(work, source))?;
        let top =
            Git::at(&work).text(["rev-parse", "--show-toplevel"]).map_err(|error| match error {
                WorktreeError::Git { message } if message.contains("not a git repository") => {
                    WorktreeError::NoRepository { path: work.clone() }
                }
                other => other,
            })?;
        let top = PathBuf::from(top);
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let base = Git::at(&top).text(head);
        let base = base.map_err(|_| WorktreeError::NoCommits { path: top.clone() })?;
        let mut remarks = Vec::new();
        let adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
        let worktree = match self.find(session, member) {
            Some(known) if known.repository != top => {
                let Worktree { path, repository, session, member, .. } = known;
                return Err(WorktreeError::OtherRepository { path, repository, session, member });
            }
            Some(known) if known.path.symlink_metadata().is_ok() => known.checked()?,
            Some(known) => {
                remarks.extend(known.restore(&base)?);
                known
            }
            None => self.add(session, member, &top, &base)?,
        };
        drop(adding);
        if worktree.path.join(".gitmodules").exists() {
            let path = worktree.path.display();
            remarks.push(format!(
                "the project has submodules, which are empty in the worktree {path}; \
                 `git submodule update --init` there fills them"
            ));
        }
        let folder = worktree.path.join(work.strip_prefix(&top).unwrap_or(Path::new("")));
        std::fs::create_dir_all(&folder).map_err(|source| files(&folder, source))?;
        Ok(Prepared { worktree, folder, remarks })
    }

    /// Returns the folder in which a member with a worktree works, even before the worktree is made. `None` outside of
    /// a repository.
    pub(crate) fn folder_of(&self, session: &str, member: &str, work: &Path) -> Option<PathBuf> {
        let work = work.canonicalize().ok()?;
        let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let top = work.ancestors().find(is_top)?;
        let path = self.record(session, member).with_extension("");
        Some(path.join(work.strip_prefix(top).ok()?))
    }

    fn add(&self, session: &str, member: &str, top: &Path, base: &str) -> Result<Worktree> {
        let git = Git::at(top);
        let name = format!("tertulia/{}/{}", record::plain(session), record::plain(member));
        let names = (1..=BRANCHES_MAX).map(|number| match number {
            1 => name.clone(),
            number => format!("{name}-{number}"),
        });
        let is_free = |name: &String| !has_branch(&git, name);
        let branch = names.into_iter().find(is_free);
        let branch = branch.ok_or_else(|| WorktreeError::Branches { name: name.into() })?;
        let worktree = self.new_worktree(session, member, top, &branch, base);
        if worktree.path.symlink_metadata().is_ok() {
            return Err(WorktreeError::NotAWorktree { path: worktree.path });
        }
        worktree.write()?;
        let path = worktree.path.as_os_str();
        let args = ["worktree", "add", "--quiet", "-b", &branch];
        let args = args.map(AsRef::as_ref).into_iter().chain([path, base.as_ref()]);
        if let Err(error) = git.bytes(args) {
            worktree.forget();
            return Err(error);
        }
        Ok(worktree)
    }
}

impl Worktree {
    /// Returns the name in commands: the session and the member.
    pub fn name(&self) -> String {
        format!("{}/{}", self.session, self.member)
    }

    fn checked(self) -> Result<Self> {
        let top = Git::at(&self.path).text(["rev-parse", "--show-toplevel"]);
        let real = |path: &Path| path.canonicalize().ok();
        let is_worktree = top.is_ok_and(|top| real(Path::new(&top)) == real(&self.path));
        if is_worktree { Ok(self) } else { Err(WorktreeError::NotAWorktree { path: self.path }) }
    }

    /// Makes the worktree again after its folder was deleted: from its branch, or else from this commit. Returns a
    /// text for people.
    fn restore(&self, base: &str) -> Result<Option<String>> {
        let git = Git::at(&self.repository);
        self.unregister(&git);
        let path = self.path.as_os_str();
        let (add, quiet): (&[&str], _) = (&["worktree", "add"], "--quiet");
        let args = add.iter().chain([&quiet]).map(AsRef::<std::ffi::OsStr>::as_ref);
        if has_branch(&git, &self.branch) {
            git.bytes(args.chain([path, self.branch.as_ref().as_ref()]))?;
            let (path, branch) = (self.path.display(), &self.branch);
            return Ok(Some(format!(
                "the worktree {path} was deleted; it was made again from its branch {branch}, \
                 without the changes that were not committed"
            )));
        }
        git.bytes(
            args.chain(["-b", &self.branch].map(AsRef::as_ref)).chain([path, base.as_ref()]),
        )?;
        Self { base: base.into(), ..self.clone() }.write()?;
        Ok(None)
    }

    /// Makes git forget the worktree after its folder was deleted. Other worktrees of the repository stay, also those on
    /// a disk that is not mounted now, which `git worktree prune` would remove.
    fn unregister(&self, git: &Git<'_>) {
        // It fails if git has forgotten the worktree already. If it fails for another reason, the next command says so.
        let args = ["worktree", "remove", "--force"].map(AsRef::<std::ffi::OsStr>::as_ref);
        let _ = git.bytes(args.into_iter().chain([self.path.as_os_str()]));
    }

    /// Returns the repository of a submodule with commits that are in no remote branch. Git keeps the repositories of
    /// submodules with the worktree, and removes them with it.
    fn module_with_own_commits(&self) -> Result<Option<PathBuf>> {
        let git = Git::at(&self.path);
        let modules = self.path.join(git.text(["rev-parse", "--git-path", "modules"])?);
        for module in git::repositories(&modules) {
            let own = ["rev-list", "--max-count=1", "HEAD", "--all", "--not", "--remotes"];
            // Without a commit, there is no `HEAD`.
            if Git::at(&module).text(own).is_ok_and(|own| !own.is_empty()) {
                return Ok(Some(module));
            }
        }
        Ok(None)
    }

    /// Returns what the worktree contains.
    pub fn state(&self) -> Result<WorktreeState> {
        let is_missing = self.path.symlink_metadata().is_err();
        let git = Git::at(if is_missing { &self.repository } else { &self.path });
        let mut state =
            WorktreeState { is_missing, commits: 0, own_commits: 0, changed: 0, conflicts: 0 };
        // Without its repository, nothing of it is left.
        if is_missing && !has_branch(&git, &self.branch) {
            return Ok(state);
        }
        if !is_missing && !git.succeeds(["rev-parse", "--git-dir"]) {
            return Err(WorktreeError::NotAWorktree { path: self.path.clone() });
        }
        let tip = if is_missing { &*self.branch } else { "HEAD" };
        let has_branch = has_branch(&git, &self.branch);
        let branch = format!("refs/heads/{}", if has_branch { &*self.branch } else { tip });
        let branch = if has_branch { &*branch } else { tip };
        let count = |args: &[&str]| -> Result<usize> {
            let args = ["rev-list", "--count"].iter().chain(args);
            Ok(git.text(args)?.parse().unwrap_or(usize::MAX))
        };
        state.commits = count(&[tip, branch, "--not", &self.base])?;
        let exclude = format!("--exclude={}", self.branch);
        let others = ["--not", &*self.base, &*exclude, "--branches", "--remotes", "--tags"];
        state.own_commits = count(&[&[tip, branch], &others[..]].concat())?;
        if !is_missing {
            let status = git.bytes(STATUS)?;
            for line in status.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
                state.changed += 1;
                let is_conflict = matches!(
                    line,
                    [b'U', ..] | [_, b'U', ..] | [b'A', b'A', ..] | [b'D', b'D', ..]
                );
                state.conflicts += usize::from(is_conflict);
            }
        }
        Ok(state)
    }

    /// Returns all changes since the worktree was made, committed or not, as a patch that `git apply` reads.
    pub fn diff(&self) -> Result<Vec<u8>> {
        const DIFF: [&str; 5] =
            ["diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv"];
        if self.path.symlink_metadata().is_err() {
            let git = Git::at(&self.repository);
            return git.bytes(DIFF.iter().chain([&&*self.base, &&*self.branch]));
        }
        let git = Git::at(&self.path);
        let index = self.path.join(git.text(["rev-parse", "--git-path", "index"])?);
        // A copy, so that reading changes nothing.
        let copy = self.record.with_extension("index");
        std::fs::copy(&index, &copy).map_err(|source| files(&index, source))?;
        let git = git.with_index(&copy);
        let added = git.bytes(["add", "--all"]);
        let diff = added.and_then(|_| git.bytes(DIFF.iter().chain([&"--cached", &&*self.base])));
        // Without the copy, the next call makes another one.
        let _ = std::fs::remove_file(&copy);
        diff
    }

    /// Removes the worktree and its branch, unless it contains something that is nowhere else.
    pub fn remove(&self) -> Result<()> {
        let WorktreeState { is_missing, own_commits, changed, conflicts, .. } = self.state()?;
        let kept =
            |why: String| Err(WorktreeError::Kept { path: self.path.clone(), why: why.into() });
        let branch = &self.branch;
        match (conflicts, changed, own_commits) {
            (0, 0, 0) => {}
            (0, 0, 1) => {
                return kept(format!("one commit of branch {branch} is in no other branch"));
            }
            (0, 0, commits) => {
                return kept(format!(
                    "{commits} commits of branch {branch} are in no other branch"
                ));
            }
            (0, ..) => return kept("it has changes that are not committed".to_owned()),
            _ => return kept("it has conflicts of a merge".to_owned()),
        }
        let git = Git::at(&self.repository);
        if is_missing {
            self.unregister(&git);
        } else {
            if let Some(module) = self.module_with_own_commits()? {
                let module = module.display();
                return kept(format!(
                    "the submodule in {module} has commits that are nowhere else"
                ));
            }
            // Git refuses to remove submodules otherwise, even if nothing in them has changed.
            let force: &[&str] =
                if self.path.join(".gitmodules").exists() { &["--force"] } else { &[] };
            let args =
                ["worktree", "remove"].iter().chain(force).map(AsRef::<std::ffi::OsStr>::as_ref);
            git.bytes(args.chain([self.path.as_os_str()]))?;
        }
        if has_branch(&git, branch) {
            git.bytes(["branch", "--quiet", "-D", "--", branch])?;
        }
        self.forget();
        Ok(())
    }
}

impl WorktreeState {
    /// Returns whether the worktree is as it was made.
    pub fn is_unchanged(&self) -> bool {
        self.commits == 0 && self.changed == 0 && !self.is_missing
    }

    /// Returns what it contains, in words.
    pub fn in_words(&self) -> String {
        let count = |count: usize, one: &str, several: &str| match count {
            0 => None,
            1 => Some(one.to_owned()),
            count => Some(format!("{count} {several}")),
        };
        let parts = [
            self.is_missing.then(|| "its folder was deleted".to_owned()),
            count(self.commits, "1 commit", "commits"),
            count(
                self.changed,
                "1 file with uncommitted changes",
                "files with uncommitted changes",
            ),
            count(self.conflicts, "1 file with conflicts", "files with conflicts"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") }
    }
}

fn has_branch(git: &Git<'_>, name: &str) -> bool {
    git.succeeds(["show-ref", "--verify", "--quiet", &format!("refs/heads/{name}")])
}

fn files(path: &Path, source: io::Error) -> WorktreeError {
    WorktreeError::Files { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_worktree_is_known_before_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (project, data) = (folder.path().join("project"), folder.path().join("data"));
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("src/lib.rs"), "").unwrap();
        let git = Git::at(&project);
        git.bytes(["init", "--quiet"]).unwrap();
        git.bytes(["add", "."]).unwrap();
        let name = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        git.bytes(name.into_iter().chain(["commit", "--quiet", "-m", "one"])).unwrap();
        let worktrees = Worktrees::below(&data);
        for (member, work) in [("max", project.clone()), ("eva ü", project.join("src"))] {
            let known = worktrees.folder_of("talk", member, &work).unwrap();
            let prepared = worktrees.prepare("talk", member, &work).unwrap();
            assert_eq!(prepared.folder, known);
        }
        assert_eq!(worktrees.folder_of("talk", "max", folder.path()), None);
    }
}
