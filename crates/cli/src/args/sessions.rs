//! The arguments of `tertulia sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tertulia_dialect::native::NativeFormat;

use tertulia_operations::lines::LINE_BYTES_MAX;

use super::values::{when, whole_number, word};
use super::{LineLimit, StoreArg, When};

/// List, read, search, rename, branch, redact, move and check stored sessions
///
/// SESSION is latest (or -), an ID, a title, or a unique prefix of an ID, of a later part of it, or of a
/// title. ENTRY is an ID or a unique prefix of one. docs/sessions.md has more.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    List(ListArgs),
    Show(ShowArgs),
    Search(SearchArgs),
    Rename(RenameArgs),
    Branch(BranchArgs),
    Redact(RedactArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Verify(VerifyArgs),
    Delete(DeleteArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
}

/// List the sessions of this project, the most recently changed first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions list --since 3d
  tertulia sessions list --all
  tertulia sessions list --prefix login --json")]
pub(crate) struct ListArgs {
    /// Only sessions changed since then: a date, a timestamp, or an age (12h, 3d)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) since: Option<When>,
    /// Only sessions changed before then
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) until: Option<When>,
    /// Only IDs with this prefix
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Include sessions of all projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of results (0 = no limit)
    #[arg(long, value_name = "N", value_parser = whole_number, default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object per session
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what was said in a session
///
/// Messages, tool calls, tasks, summaries and failures, oldest first, with local times and short IDs. The
/// bookkeeping of turns is left out; --all shows it. Redacted entries are marked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions show
  tertulia sessions show login-page --tail 20
  tertulia sessions show latest --messages
  tertulia sessions show login-page --follow
  tertulia sessions show login-page --json | jq .type")]
pub(crate) struct ShowArgs {
    /// The session [default: the newest]
    pub(crate) session: Option<String>,
    /// Show only messages
    #[arg(long)]
    pub(crate) messages: bool,
    /// Include the bookkeeping of turns, costs and settings
    #[arg(long, conflicts_with = "messages")]
    pub(crate) all: bool,
    /// Show only the newest N entries
    #[arg(long, value_name = "N", value_parser = whole_number, conflicts_with = "from")]
    pub(crate) tail: Option<usize>,
    /// Show only this entry and later ones
    #[arg(long, value_name = "ENTRY", conflicts_with = "branch")]
    pub(crate) from: Option<String>,
    /// Show only the branch that ends at this entry
    #[arg(long, value_name = "ENTRY")]
    pub(crate) branch: Option<String>,
    /// Wait for new entries and show them as they arrive
    #[arg(long, conflicts_with = "branch")]
    pub(crate) follow: bool,
    /// Print one entry record per line, as docs/session-record.md describes it; all entries, or with
    /// --messages the messages
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
}

/// Search the messages of this project's sessions, of all sessions, or of one
///
/// All words must match, in any of their English forms; if no entry has all of them, the best partial matches are
/// shown. "words in quotes" must appear exactly as written, and word* matches a prefix. Common words are ignored
/// unless they are quoted or alone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions search 'session cookie'
  tertulia sessions search 'why does the login fail' --explain
  tertulia sessions search '\"quiet grey\" ban*' --speaker carol --since 2w")]
pub(crate) struct SearchArgs {
    /// Words to search for
    pub(crate) query: String,
    /// Search only this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only messages of this speaker: an ID or a name
    #[arg(long, value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    /// Only entries of this type, such as message or team_task
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// Only entries since then: a date, a timestamp, or an age (12h, 3d)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) since: Option<When>,
    /// Only entries before then
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) until: Option<When>,
    /// Search sessions of all projects
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Maximum number of results (0 = no limit)
    #[arg(long, value_name = "N", value_parser = whole_number, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Show which words matched in each hit, and their weights
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON object per hit
    #[arg(long)]
    pub(crate) json: bool,
}

/// Give a session a title
///
/// The title is shown in lists, and names the session wherever an ID does. It is part of the session, so it
/// travels with exports and backups. An empty title removes it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions rename latest 'Login page'
  tertulia chat --session 'login page'")]
pub(crate) struct RenameArgs {
    /// The session
    pub(crate) session: String,
    /// The title, at most 80 characters
    pub(crate) title: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Continue from an earlier entry, in the same session or a new one
///
/// New entries follow that entry; the entries after it stay in the log, on their own branch. Prints the ID
/// of the entry that records the branch, or with --into the ID of the new session.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    /// The session
    pub(crate) session: String,
    /// The entry
    pub(crate) entry: String,
    /// Copy the branch that ends at the entry into a new session with this ID
    #[arg(long, value_name = "NEW")]
    pub(crate) into: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Redact an entry, or every entry that contains a text, and remove the text from disk
///
/// The ID, type and time of the entry stay visible. The hash of its record stays too, for verify; it cannot
/// confirm a guess of the text. Summaries and answers of built-in members that may contain the text are
/// redacted as well, in all sessions. Matching lines of the chat history and copies left by migrations are
/// removed. Copies that cannot be reached are listed. This cannot be undone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions redact login-page 4f1c
  tertulia sessions redact --text - --yes < secret.txt
  tertulia sessions redact --text 'correct horse' login-page")]
pub(crate) struct RedactArgs {
    /// The session; with --text, all sessions if none is given
    #[arg(value_name = "SESSION", required_unless_present = "text")]
    pub(crate) session: Option<String>,
    /// The entry: an ID, or a unique prefix of at least four digits
    #[arg(value_name = "ENTRY", required_unless_present = "text", conflicts_with = "text")]
    pub(crate) entry: Option<String>,
    /// Redact every entry that contains exactly this text (case-sensitive); - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Skip the confirmation prompt
    #[arg(long)]
    pub(crate) yes: bool,
    /// Reason, which is stored in the session
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a session to standard output or a file
///
/// jsonl is the whole log, one entry per line; importing it creates the same session. markdown and
/// html are for people to read; they shorten long outputs of tools. snapshot (importSnapshot, tertulia context) and agent-chatter (session file, schema 1.0) contain
/// the messages of the current branch; a note on standard error says how much is left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions export login-page -o login-page.jsonl
  tertulia sessions export latest --format markdown -o talk.md
  tertulia sessions export latest --format html --full -o talk.html
  tertulia sessions export login-page --format snapshot | tertulia context --snapshot -")]
pub(crate) struct ExportArgs {
    /// The session
    pub(crate) session: String,
    /// File format
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: FileFormat,
    /// Output file (readable only by you), or - for standard output [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Write long outputs and large pictures in full (markdown, html)
    #[arg(long)]
    pub(crate) full: bool,
}

/// Store a session from a file, or one that an agent keeps on this machine
///
/// Without SOURCE, lists the sessions of Claude Code, Codex, Gemini CLI, opencode, Copilot CLI, pi, goose, Cline
/// and aider, newest first, and asks which to import. Importing again adds only what is new. Prints the ID of
/// each session. If there is an error, nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions import
  tertulia sessions import --last --agent claude --project .
  tertulia sessions import ~/.codex/sessions/2026/01/31 --all --dry-run
  tertulia sessions import login-page.jsonl --as login-page
  tertulia sessions export old | ssh host tertulia sessions import -")]
pub(crate) struct ImportArgs {
    /// File, folder, - for standard input, or an agent's ID of a session [default: the sessions of
    /// all agents]
    #[arg(value_name = "SOURCE")]
    pub(crate) source: Option<PathBuf>,
    /// ID of the new session [default: generated, or the agent and its ID]
    #[arg(long = "as", value_name = "ID", conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// File format; auto detects it from the content
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: SourceFormat,
    /// Only sessions of this agent: claude, codex, gemini, opencode, copilot, pi, goose, cline, aider
    #[arg(long, value_name = "AGENT", value_parser = word::<NativeFormat>)]
    pub(crate) agent: Option<NativeFormat>,
    /// Only sessions of the project in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Import the newest session
    #[arg(long, conflicts_with = "all")]
    pub(crate) last: bool,
    /// Import all sessions that are listed
    #[arg(long)]
    pub(crate) all: bool,
    /// Show what would be imported, and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Go on importing while the agent works, and show what is said, until Ctrl-C
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    pub(crate) watch: bool,
    /// Remove keys, tokens and private keys of known kinds before anything is stored
    #[arg(long)]
    pub(crate) redact_secrets: bool,
    /// Print one JSON object per session
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LineLimit,
}

impl ImportArgs {
    /// Returns the arguments of an import that another command needs.
    pub(crate) fn of_handover() -> Self {
        Self {
            source: None,
            id: None,
            format: SourceFormat::Auto,
            agent: None,
            project: None,
            last: false,
            all: false,
            dry_run: false,
            watch: false,
            redact_secrets: false,
            json: false,
            limits: LineLimit { max_line_bytes: LINE_BYTES_MAX },
        }
    }
}

/// Check a session, or the whole store, against the hashes that were stored with it
///
/// Prints the number of valid entries and the hash of the whole session. If an entry is damaged, prints the
/// first one and exits with 1.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The session [default: all sessions, and the database itself]
    pub(crate) session: Option<String>,
    /// Print one JSON object per session
    #[arg(long)]
    pub(crate) json: bool,
}

/// Delete a session permanently
///
/// Asks first. --yes skips the prompt and requires the full ID.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The session
    pub(crate) session: String,
    /// Skip the confirmation prompt
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Copy all sessions into a new SQLite file, and check the copy
///
/// Other processes can write to the store meanwhile.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Output file (must not exist)
    pub(crate) file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Copy all sessions of a backup into the store, after checking it
///
/// If the store already has one of them, nothing is copied.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Backup file
    pub(crate) file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The formats of `sessions export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// The whole log, one entry per line
    Jsonl,
    /// The current branch as a document to read, such as in a pull request
    Markdown,
    /// The same as one HTML file with a search, which needs no other file
    Html,
    /// The messages of the current branch, for importSnapshot
    Snapshot,
    /// The session file of agent-chatter, schema 1.0
    AgentChatter,
}

/// The formats of `sessions import`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFormat {
    /// Detect the format
    Auto,
    /// A log, one entry per line
    Jsonl,
    /// A snapshot from exportSnapshot
    Snapshot,
    /// The session file of agent-chatter, schema 1.0
    AgentChatter,
    /// A session of Claude Code
    Claude,
    /// A session of Codex
    Codex,
    /// A session of Gemini CLI
    Gemini,
    /// A session of opencode: its database or an export
    Opencode,
    /// A session of Copilot CLI
    Copilot,
    /// A session of pi
    Pi,
    /// A session of goose: its database, an export or a file
    Goose,
    /// A session of Cline
    Cline,
    /// The chat history of aider
    Aider,
}
