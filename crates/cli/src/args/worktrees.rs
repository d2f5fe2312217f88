//! The arguments of `tertulia worktrees`.

use clap::{Args, Subcommand};

/// List, compare and remove the git worktrees of members
///
/// A member with `worktree = true` in the team file works in a worktree of its own, on the branch
/// tertulia/SESSION/MEMBER. NAME is SESSION/MEMBER; a part of the session, the member alone or the branch is enough
/// if it is unique.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct WorktreesArgs {
    #[command(subcommand)]
    pub(crate) command: WorktreesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorktreesCommand {
    List(ListWorktreesArgs),
    Diff(DiffWorktreeArgs),
    Remove(RemoveWorktreesArgs),
}

/// List the worktrees, with what they contain
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia worktrees list
  tertulia worktrees list --json | jq .branch")]
pub(crate) struct ListWorktreesArgs {
    /// Print one JSON object per worktree
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the changes in a worktree, committed or not, as a patch
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia worktrees diff max
  tertulia worktrees diff max | git apply --3way")]
pub(crate) struct DiffWorktreeArgs {
    /// The worktree: SESSION/MEMBER, a unique part of it, or its branch
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Remove worktrees that contain nothing that would be lost
///
/// A worktree is kept if it has changes that are not committed, or commits that are in no other branch.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia worktrees remove max
  tertulia worktrees remove --all")]
pub(crate) struct RemoveWorktreesArgs {
    /// The worktree: SESSION/MEMBER, a unique part of it, or its branch
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Remove all worktrees that can be removed
    #[arg(long)]
    pub(crate) all: bool,
}
