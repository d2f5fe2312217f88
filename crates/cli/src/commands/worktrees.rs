//! `tertulia worktrees`: the git worktrees of members, what they contain, and their removal.

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_team::worktrees::{Worktree, WorktreeError, WorktreeState, Worktrees};

use super::sessions::{print_note, write_json, write_line};
use crate::Streams;
use crate::args::{WorktreesArgs, WorktreesCommand};
use crate::error::{CliError, Result};
use crate::store_location;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorktreeRecord<'a> {
    session_id: &'a str,
    member: &'a str,
    branch: &'a str,
    path: String,
    repository: String,
    base: &'a str,
    #[serde(flatten)]
    state: Option<StateRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StateRecord {
    is_missing: bool,
    commits: usize,
    own_commits: usize,
    changed: usize,
    conflicts: usize,
}

pub(crate) fn run(args: &WorktreesArgs, streams: &mut Streams<'_>) -> Result {
    let all = Worktrees::below(&store_location::home()?).list();
    match &args.command {
        WorktreesCommand::List(args) => list(&all, args.json, streams),
        WorktreesCommand::Diff(args) => {
            let patch = find(&all, &args.name)?.diff().map_err(|error| failed(&error))?;
            let written = match streams.stdout_is_terminal {
                true => write!(streams.stdout, "{}", visible(&String::from_utf8_lossy(&patch))),
                false => streams.stdout.write_all(&patch),
            };
            written.map_err(CliError::output)
        }
        WorktreesCommand::Remove(args) => match &args.name {
            Some(name) => {
                let worktree = find(&all, name)?;
                worktree.remove().map_err(|error| failed(&error))?;
                removed(worktree, streams)
            }
            None => remove_all(&all, streams),
        },
    }
}

fn list(all: &[Worktree], json: bool, streams: &mut Streams<'_>) -> Result {
    if all.is_empty() && !json {
        print_note(streams, "there are no worktrees");
    }
    for worktree in all {
        let state = worktree.state();
        if json {
            write_json(streams, &WorktreeRecord::new(worktree, state))?;
            continue;
        }
        let contains = state.map_or_else(|error| error.to_string(), |state| state.in_words());
        write_line(streams, &format!("{}  {contains}", worktree.name()))?;
        write_line(streams, &format!("  branch {}", worktree.branch))?;
        write_line(streams, &format!("  folder {}", worktree.path.display()))?;
    }
    Ok(())
}

fn remove_all(all: &[Worktree], streams: &mut Streams<'_>) -> Result {
    let mut failure = None;
    for worktree in all {
        match worktree.remove() {
            Ok(()) => removed(worktree, streams)?,
            Err(error @ WorktreeError::Kept { .. }) => write_line(streams, &error.to_string())?,
            Err(error) => {
                // The last one is the error of the command.
                if let Some(earlier) = failure.replace(error) {
                    write_line(streams, &earlier.to_string())?;
                }
            }
        }
    }
    failure.map_or(Ok(()), |error| Err(failed(&error)))
}

fn removed(worktree: &Worktree, streams: &mut Streams<'_>) -> Result {
    write_line(streams, &format!("removed {} and its branch", worktree.name()))
}

/// Finds a worktree by its whole name, or else by a unique part.
fn find<'w>(all: &'w [Worktree], given: &str) -> Result<&'w Worktree> {
    let (session, member) = given.rsplit_once('/').unwrap_or(("", given));
    let is_meant = |one: &&Worktree| {
        *one.branch == *given || (*one.member == *member && one.session.contains(session))
    };
    let whole = all.iter().find(|one| one.name() == given);
    let meant: Vec<&Worktree> =
        whole.map_or_else(|| all.iter().filter(is_meant).collect(), |one| vec![one]);
    match meant.as_slice() {
        [one] => Ok(one),
        [] => Err(CliError::Failed(format!(
            "there is no worktree {given}; `tertulia worktrees list` shows all"
        ))),
        several => {
            let names: Vec<String> = several.iter().map(|one| one.name()).collect();
            let names = names.join(", ");
            Err(CliError::Failed(format!("{given} can be one of several worktrees: {names}")))
        }
    }
}

fn failed(error: &WorktreeError) -> CliError {
    CliError::Failed(error.to_string())
}

impl<'a> WorktreeRecord<'a> {
    fn new(of: &'a Worktree, state: std::result::Result<WorktreeState, WorktreeError>) -> Self {
        let (state, error) = match state {
            Ok(WorktreeState { is_missing, commits, own_commits, changed, conflicts }) => {
                (Some(StateRecord { is_missing, commits, own_commits, changed, conflicts }), None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            session_id: &of.session,
            member: &of.member,
            branch: &of.branch,
            path: of.path.display().to_string(),
            repository: of.repository.display().to_string(),
            base: &of.base,
            state,
            error,
        }
    }
}
