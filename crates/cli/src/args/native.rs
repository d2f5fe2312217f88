//! The arguments of the commands about sessions of agents.

use std::path::PathBuf;

use clap::Args;
use tertulia_dialect::native::NativeFormat;

use super::StoreArg;
use super::values::{one_or_more, token_budget, word};

/// Continue a session in another agent
///
/// Writes the session in the agent's own format and prints the agent's command that resumes it. Summarises or
/// leaves out messages that do not fit; `tertulia receipt` shows what became of every message. The messages in
/// the store do not change. A second handover to the same agent adds only new messages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia handover --from claude --to codex
  tertulia handover latest --to gemini --budget 60k --dry-run
  tertulia handover login-page --to claude --open")]
pub(crate) struct HandoverArgs {
    /// The session: latest, an ID, a unique part of it, or a title [default: the newest of this project]
    pub(crate) session: Option<String>,
    /// Agent that continues the session: claude, codex, gemini, opencode, copilot, pi
    #[arg(long, value_name = "AGENT", value_parser = word::<NativeFormat>)]
    pub(crate) to: NativeFormat,
    /// First import the newest session of this agent in this project, then hand it over
    #[arg(long, value_name = "AGENT", value_parser = word::<NativeFormat>, conflicts_with = "session")]
    pub(crate) from: Option<NativeFormat>,
    /// Maximum number of tokens, such as 60k [default: from the context window of the agent's model]
    #[arg(long, value_name = "TOKENS", value_parser = token_budget, allow_hyphen_values = true)]
    pub(crate) budget: Option<u64>,
    /// Hand over at most the newest N messages
    #[arg(long, value_name = "N", value_parser = one_or_more)]
    pub(crate) last: Option<usize>,
    /// In a session of a team, the member that the agent replaces [default: the member with the agent's
    /// name, or the agent that spoke last]
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Model that continues the session; it determines the tokenizer and the default budget
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Folder in which the agent continues [default: the project of the session]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Create a new session of the agent, even if an earlier handover could be extended
    #[arg(long)]
    pub(crate) new: bool,
    /// Show what would be handed over, without writing a session of the agent
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start the agent and resume the session
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    pub(crate) open: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Show what became of every item of an import or a handover
///
/// Every item was kept, reshaped, shortened or left out. --verify reads both sessions again, that in the store
/// and that of the agent, and compares them with the receipt.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia receipt
  tertulia receipt e-4f1c --verify
  tertulia receipt login-page --json")]
pub(crate) struct ReceiptArgs {
    /// ID of the receipt, or a session for its newest receipt [default: the newest session of this project]
    pub(crate) id: Option<String>,
    /// Compare the receipt with both sessions as they are now
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print one JSON object with all items
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}
