//! Members that work in git worktrees: what they write, what is offered, what is kept and what is removed.

#![expect(clippy::disallowed_methods, reason = "worktrees are files, and git is a program")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tertulia_agent::CommandOutput;
use tertulia_session::TurnActivity;
use tertulia_store::{SessionId, SessionStore};
use tertulia_team::file::{Settings, SettingsGuard, WorkFolder};
use tertulia_team::worktrees::{Worktree, WorktreeError, Worktrees};
use tertulia_team::{Driver, Limits, Team, TeamMember};

use crate::driver::{Heard, notes, shell, texts};

/// A project in a repository with one commit, and a data folder.
struct Project {
    folder: TempDir,
    store: SessionStore,
}

impl Project {
    fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap(), store: SessionStore::memory() };
        std::fs::create_dir_all(project.path().join("src")).unwrap();
        project.git(&["init", "--quiet", "-b", "main"]);
        std::fs::write(project.path().join("src/lib.rs"), "fn one() {}\n").unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "-m", "one"]);
        project
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    fn worktrees(&self) -> Worktrees {
        Worktrees::below(&self.folder.path().canonicalize().unwrap().join("data"))
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    /// Returns a team in which Max works in a worktree and runs this script.
    fn team(&self, script: &str) -> Team {
        self.team_of(vec![self.member("max", script)])
    }

    fn member(&self, name: &str, script: &str) -> TeamMember {
        let mut member = shell(name, CommandOutput::Text, &format!("cat >/dev/null; {script}"));
        let tertulia_team::Responder::Agent(spec) = &mut member.responder else { unreachable!() };
        spec.cwd = self.path();
        member.worktree = true;
        member.member = member.member.beside_others();
        member
    }

    fn team_of(&self, members: Vec<TeamMember>) -> Team {
        let mut all = vec![TeamMember::person("ann")];
        all.extend(members);
        let limits = Limits { parallel: 3, ..Limits::default() };
        Team::new(all, limits, None).unwrap().with_worktrees(self.worktrees())
    }

    fn begin(&self, team: Team) -> Driver {
        let session: SessionId = "talk".parse().unwrap();
        Driver::begin(&self.store, Some(session), team, false).unwrap()
    }

    /// Lets Max do this in one turn of a new session, and returns what was heard.
    fn turn(&self, script: &str) -> Heard {
        self.turn_of(self.begin(self.team(script))).0
    }

    fn turn_of(&self, mut driver: Driver) -> (Heard, Driver) {
        let mut heard = Heard::default();
        driver.say(None, "@max", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
        (heard, driver)
    }

    /// Lets Max do this in a later turn of the session.
    fn again(&self, script: &str) -> Heard {
        let session: SessionId = "talk".parse().unwrap();
        let mut heard = Heard::default();
        let opened =
            Driver::reopen(&self.store, &session, self.team(script), false, &mut heard).unwrap();
        self.turn_of(opened.driver).0
    }

    fn only(&self) -> Worktree {
        let mut all = self.worktrees().list();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn branches(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
    }
}

fn git(folder: &Path, args: &[&str]) -> String {
    if args.first() == Some(&"init") {
        std::fs::create_dir_all(folder).unwrap();
    }
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]);
    command.args(["-c", "protocol.file.allow=always"]).arg("-C").arg(folder).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const COMMIT: &str =
    "git add . && git -c user.name=Max -c user.email=max@example.org commit --quiet -m work";

/// Returns the pieces of Max's answer as one text.
fn answer(heard: &Heard) -> String {
    heard.lines.iter().filter_map(|line| line.strip_prefix("max: ")).collect()
}

fn worktree_notes(heard: &Heard) -> Vec<&str> {
    let lines = heard.lines.iter().filter_map(|line| line.strip_prefix("note "));
    lines.filter(|line| line.contains("worktree") || line.contains("branch")).collect()
}

#[test]
fn a_member_writes_in_its_worktree_and_the_result_is_offered_as_branch_and_diff() {
    let project = Project::new();
    let heard = project.turn("echo 'fn two() {}' >> src/lib.rs; echo new > new.txt; printf done");
    let lib = std::fs::read_to_string(project.path().join("src/lib.rs")).unwrap();
    assert_eq!(lib, "fn one() {}\n", "the project is unchanged");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let expected = "branch tertulia/talk/max of max: 2 files with uncommitted changes; \
                    `tertulia worktrees diff talk/max` shows the changes";
    assert_eq!(worktree_notes(&heard), [expected]);
    let worktree = project.only();
    let patch = String::from_utf8(worktree.diff().unwrap()).unwrap();
    assert!(patch.contains("+fn two() {}") && patch.contains("+new"), "{patch}");
    let file = project.folder.path().join("patch");
    std::fs::write(&file, patch).unwrap();
    project.git(&["apply", file.to_str().unwrap()]);
    let lib = std::fs::read_to_string(project.path().join("src/lib.rs")).unwrap();
    assert_eq!(lib, "fn one() {}\nfn two() {}\n");
    assert_eq!(worktree.state().unwrap().changed, 2, "looking changes nothing");
}

#[test]
fn a_worktree_without_changes_is_removed_with_its_branch() {
    let project = Project::new();
    let heard = project.turn("cat src/lib.rs");
    assert_eq!(worktree_notes(&heard), [""; 0]);
    assert_eq!(project.worktrees().list(), []);
    assert_eq!(project.branches(), "main");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_later_turn_continues_in_the_same_worktree() {
    let project = Project::new();
    project.turn("echo one > note");
    let heard = project.again("echo two >> note; cat note");
    assert_eq!(answer(&heard), "one\ntwo\n");
    project.only();
}

#[test]
fn commits_keep_a_worktree_until_another_branch_contains_them() {
    let project = Project::new();
    let heard = project.turn(&format!("echo one > note; {COMMIT}"));
    assert!(worktree_notes(&heard)[0].contains("of max: 1 commit; "), "{:?}", heard.lines);
    let worktree = project.only();
    let why = worktree.remove().unwrap_err().to_string();
    assert!(why.ends_with("one commit of branch tertulia/talk/max is in no other branch"), "{why}");
    project.git(&["merge", "--quiet", "tertulia/talk/max"]);
    worktree.remove().unwrap();
    assert_eq!(project.branches(), "main");
    assert!(project.path().join("note").exists());
}

#[test]
fn changes_that_are_not_committed_keep_a_worktree() {
    let project = Project::new();
    project.turn("echo one > note");
    let error = project.only().remove().unwrap_err();
    assert!(matches!(error, WorktreeError::Kept { .. }), "{error}");
    assert!(error.to_string().ends_with("is kept: it has changes that are not committed"));
    assert!(project.only().path.join("note").exists());
}

#[test]
fn an_agent_with_a_subfolder_works_in_the_same_one_of_its_worktree() {
    let project = Project::new();
    let mut member = project.member("max", "ls; basename \"$PWD\"");
    let tertulia_team::Responder::Agent(spec) = &mut member.responder else { unreachable!() };
    spec.cwd = project.path().join("src");
    let (heard, _) = project.turn_of(project.begin(project.team_of(vec![member])));
    assert_eq!(answer(&heard), "lib.rs\nsrc\n");
}

fn failure(heard: &Driver) -> String {
    let failed = notes(heard.entries()).into_iter().find_map(|note| match note {
        TurnActivity::Failed { class, message, .. } => Some(format!("{class}: {message}")),
        _ => None,
    });
    failed.expect("the turn fails")
}

#[test]
fn without_a_repository_or_a_commit_the_turn_fails_and_says_what_to_do() {
    let project = Project::new();
    std::fs::remove_dir_all(project.path().join(".git")).unwrap();
    let (_, driver) = project.turn_of(project.begin(project.team("echo never")));
    let text = failure(&driver);
    assert!(text.starts_with("setup: `worktree = true` needs a git repository"), "{text}");
    project.git(&["init", "--quiet", "-b", "main"]);
    let (_, driver) = project.turn_of(driver);
    let texts = notes(driver.entries());
    let TurnActivity::Failed { message, .. } = texts.last().unwrap() else { panic!("{texts:?}") };
    assert!(message.contains("needs a commit"), "{message}");
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "one"]);
    let (_, driver) = project.turn_of(driver);
    assert_eq!(crate::driver::texts(driver.entries()).last().unwrap(), "max: never\n");
}

#[test]
fn a_worktree_that_was_deleted_by_hand_is_made_again_from_its_branch() {
    let project = Project::new();
    project.turn(&format!("echo one > note; {COMMIT}; echo lost > lost"));
    std::fs::remove_dir_all(project.only().path).unwrap();
    let state = project.only().state().unwrap();
    assert!(state.is_missing && state.commits == 1, "{state:?}");
    let heard = project.again("ls");
    assert_eq!(answer(&heard), "note\nsrc\n");
    assert!(worktree_notes(&heard)[0].contains("was deleted; it was made again"));
}

#[test]
fn a_deleted_worktree_whose_branch_has_commits_is_not_forgotten() {
    let project = Project::new();
    project.turn(&format!("echo one > note; {COMMIT}"));
    let worktree = project.only();
    std::fs::remove_dir_all(&worktree.path).unwrap();
    assert!(worktree.remove().unwrap_err().to_string().contains("is in no other branch"));
    let patch = String::from_utf8(worktree.diff().unwrap()).unwrap();
    assert!(patch.contains("+one"), "{patch}");
    project.git(&["worktree", "prune"]);
    project.git(&["branch", "-D", "tertulia/talk/max"]);
    worktree.remove().unwrap();
    assert_eq!(project.worktrees().list(), []);
}

#[test]
fn a_branch_of_the_same_name_is_not_touched() {
    let project = Project::new();
    project.git(&["branch", "tertulia/talk/max"]);
    let heard = project.turn("echo one > note");
    assert!(worktree_notes(&heard)[0].starts_with("branch tertulia/talk/max-2 of max"));
    std::fs::remove_file(project.only().path.join("note")).unwrap();
    project.only().remove().unwrap();
    assert_eq!(project.branches(), "main\ntertulia/talk/max");
}

#[test]
fn a_detached_head_is_a_base_like_any_other() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "--detach"]);
    let heard = project.turn("echo one > note");
    assert_eq!(worktree_notes(&heard).len(), 1);
    // The agent may detach its own worktree, too.
    project.again(&format!("git checkout --quiet --detach; {COMMIT}"));
    let why = project.only().remove().unwrap_err().to_string();
    assert!(why.contains("in no other branch"), "{why}");
}

#[test]
fn conflicts_keep_a_worktree_and_are_named() {
    let project = Project::new();
    let branch = "git checkout --quiet -b other; echo other > note; ";
    let back = "git checkout --quiet tertulia/talk/max; echo mine > note; ";
    project.turn(&format!("{branch} {COMMIT}; {back} {COMMIT}; git merge --quiet other"));
    let worktree = project.only();
    let state = worktree.state().unwrap();
    assert_eq!(state.conflicts, 1);
    assert!(state.in_words().contains("1 file with conflicts"));
    assert!(worktree.remove().unwrap_err().to_string().ends_with("it has conflicts of a merge"));
    worktree.diff().unwrap();
}

#[test]
fn a_project_with_submodules_says_that_they_are_empty_there() {
    let (project, other) = (Project::new(), Project::new());
    let other = other.path().display().to_string();
    project.git(&["submodule", "--quiet", "add", &other, "lib"]);
    project.git(&["commit", "--quiet", "-m", "lib"]);
    let heard = project.turn("ls lib");
    assert!(worktree_notes(&heard)[0].contains("has submodules, which are empty"));
    assert_eq!(project.worktrees().list(), [], "it is removed all the same");
}

#[test]
fn settings_of_git_do_not_hide_what_keeps_a_worktree() {
    let project = Project::new();
    project.git(&["config", "status.showUntrackedFiles", "no"]);
    project.turn("echo one > note");
    assert_eq!(project.only().state().unwrap().changed, 1);
}

#[test]
fn a_worktree_whose_repository_was_moved_says_what_to_do() {
    let project = Project::new();
    project.turn("echo one > note");
    let worktree = project.only();
    let moved = project.folder.path().join("moved");
    std::fs::rename(project.path(), &moved).unwrap();
    for error in [worktree.state().unwrap_err(), worktree.remove().unwrap_err()] {
        assert!(matches!(error, WorktreeError::NotAWorktree { .. }), "{error}");
    }
    // What the message suggests works: to repair it, or to delete the folder.
    git(&moved, &["worktree", "repair", worktree.path.to_str().unwrap()]);
    assert_eq!(worktree.state().unwrap().changed, 1);
    std::fs::remove_dir_all(&worktree.path).unwrap();
    worktree.remove().unwrap();
    assert_eq!(project.worktrees().list(), []);
}

/// Returns a project with a submodule in `lib`.
fn with_submodule(ignored: &str) -> Project {
    let (project, other) = (Project::new(), Project::new());
    let other = other.path().display().to_string();
    project.git(&["submodule", "--quiet", "add", &other, "lib"]);
    project.git(&["config", "-f", ".gitmodules", "submodule.lib.ignore", ignored]);
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "lib"]);
    // The worktree gets the submodule from the one of the project.
    let lib = project.path().join("lib").display().to_string();
    project.git(&["config", "submodule.lib.url", &lib]);
    project.git(&["config", "protocol.file.allow", "always"]);
    project
}

const FILL: &str = "git -c protocol.file.allow=always submodule --quiet update --init && cd lib";

#[test]
fn changes_in_a_submodule_keep_a_worktree_even_if_git_ignores_them() {
    for ignored in ["none", "all"] {
        let project = with_submodule(ignored);
        project.turn(&format!("{FILL} && echo one > note"));
        assert_eq!(project.only().state().unwrap().changed, 1, "{ignored}");
    }
}

#[test]
fn commits_that_only_a_submodule_of_the_worktree_has_keep_it() {
    let project = with_submodule("none");
    let back = "git checkout --quiet - && git status --porcelain";
    project
        .turn(&format!("{FILL} && git checkout --quiet -b mine && echo > new && {COMMIT}; {back}"));
    let worktree = project.only();
    assert!(worktree.state().unwrap().is_unchanged());
    let why = worktree.remove().unwrap_err().to_string();
    assert!(why.ends_with("has commits that are nowhere else"), "{why}");
    // Without commits of its own, the submodule is removed with the worktree.
    let modules = "git -C lib branch --quiet -D mine; git -C lib status --porcelain";
    project.again(modules);
    assert_eq!(project.worktrees().list(), []);
}

#[test]
fn a_worktree_of_the_user_that_is_not_mounted_now_stays() {
    let project = Project::new();
    let (disk, away) = (project.folder.path().join("disk"), project.folder.path().join("away"));
    project.git(&["worktree", "add", "--quiet", "--detach", disk.to_str().unwrap()]);
    std::fs::rename(&disk, &away).unwrap();
    project.turn("echo one > note");
    std::fs::remove_dir_all(project.only().path).unwrap();
    project.again("echo two > note");
    std::fs::remove_dir_all(project.only().path).unwrap();
    project.only().remove().unwrap();
    std::fs::rename(&away, &disk).unwrap();
    assert_eq!(git(&disk, &["rev-parse", "--is-inside-work-tree"]), "true");
}

#[test]
fn two_members_that_write_work_at_the_same_time_in_worktrees_of_their_own() {
    let project = Project::new();
    let marks = project.folder.path().join("marks");
    std::fs::create_dir(&marks).unwrap();
    let script = |name: &str, other: &str| {
        let marks = marks.display();
        format!(
            "echo {name} > mine; touch {marks}/{name}; n=0; until [ -e {marks}/{other} ]; \
             do sleep 0.02; n=$((n+1)); [ $n -gt 6000 ] && exit 9; done; cat mine"
        )
    };
    let members = vec![
        project.member("max", &script("max", "eva")),
        project.member("eva", &script("eva", "max")),
    ];
    let mut driver = project.begin(project.team_of(members));
    driver.say(None, "[NEXT: max, eva]", &mut Heard::default()).unwrap();
    driver.run(&mut Heard::default()).unwrap();
    let mut said = texts(driver.entries());
    said.sort();
    assert_eq!(said[1..], ["eva: eva\n", "max: max\n"]);
    assert_eq!(project.worktrees().list().len(), 2);
}

#[test]
fn agent_settings_that_only_the_worktree_has_stop_the_next_turn() {
    let project = Project::new();
    std::fs::create_dir(project.path().join(".claude")).unwrap();
    std::fs::write(project.path().join(".claude/settings.json"), "{}").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "settings"]);
    let guarded = |script: &str| {
        let folders = vec![WorkFolder { folder: project.path(), top: project.path() }];
        let settings = Settings::read(&folders, None).unwrap();
        let mut team = project.team(script);
        team.settings = Some(SettingsGuard::new(folders, None, &settings));
        team
    };
    let script = "echo '{\"hooks\": {}}' > .claude/settings.json; printf once";
    let (_, driver) = project.turn_of(project.begin(guarded(script)));
    assert_eq!(texts(driver.entries()).last().unwrap(), "max: once");
    let (_, driver) = project.turn_of(driver);
    let text = failure(&driver);
    assert!(text.contains("agent settings that differ from those of the project"), "{text}");
}
