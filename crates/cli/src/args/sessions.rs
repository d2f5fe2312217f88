//! The arguments of `tertulia sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tertulia_dialect::native::NativeFormat;

use tertulia_operations::lines::LINE_BYTES_MAX;

use super::values::{when, whole_number, word};
use super::{LineLimit, StoreArg, When};

/// List, read, search, rename, branch, redact, move and check stored sessions
///
/// SESSION is latest (or -), an ID, a title, or a unique prefix of a title, an ID or a later part of an ID.
/// ENTRY is an ID or a unique prefix of one. docs/sessions.md describes the details.
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
    /// Only sessions changed since this time: a date, a timestamp, or an age (12h, 3d)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) since: Option<When>,
    /// Only sessions changed before this time
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) until: Option<When>,
    /// Only sessions whose ID begins with this text
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
/// Prints messages, tool calls, tasks, summaries and failures, oldest first, with local times and short
/// IDs. Marks redacted entries. --all also prints the states of turns, costs and settings.
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
    /// Also show the states of turns, costs and settings
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
    /// Print one JSON object per line, for every entry or with --messages for every message;
    /// docs/session-record.md describes the format
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
}

/// Search the sessions of this project, of all projects, or one session
///
/// All words must match, in any of their English forms. If no entry contains all of them, prints the best partial
/// matches. "words in quotes" must appear exactly as written, and word* matches a prefix. Ignores common words
/// unless they are quoted or the query has no others.
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
    /// Only entries since this time: a date, a timestamp, or an age (12h, 3d)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) since: Option<When>,
    /// Only entries before this time
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) until: Option<When>,
    /// Search sessions of all projects
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Maximum number of results (0 = no limit)
    #[arg(long, value_name = "N", value_parser = whole_number, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Show the words that matched in each hit, and their weights
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON object per hit
    #[arg(long)]
    pub(crate) json: bool,
}

/// Give a session a title
///
/// Lists show the title, and every command accepts it in place of the ID. Exports and backups contain it. An
/// empty title removes the present one.
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
/// New entries follow this entry. The entries that followed it before stay in the log, on their own branch.
/// Prints the ID of the entry that records the branch, or with --into the ID of the new session.
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
/// The ID, type and time of the entry stay visible. The hash of its record also stays, for `sessions verify`;
/// nobody can use it to check a guess of the text. Also redacts summaries and answers of built-in members
/// that may contain the text, in all sessions. Removes matching lines of the chat history and copies left by
/// migrations. Lists the copies that Tertulia cannot remove. This cannot be undone.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions redact login-page 4f1c
  tertulia sessions redact --text - --yes < secret.txt
  tertulia sessions redact --text 'correct horse' login-page")]
pub(crate) struct RedactArgs {
    /// The session [default with --text: all sessions]
    #[arg(value_name = "SESSION", required_unless_present = "text")]
    pub(crate) session: Option<String>,
    /// The entry: an ID, or a unique prefix of at least four digits
    #[arg(value_name = "ENTRY", required_unless_present = "text", conflicts_with = "text")]
    pub(crate) entry: Option<String>,
    /// Redact every entry that contains this text (case-sensitive), or - to read it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Skip the confirmation prompt
    #[arg(long)]
    pub(crate) yes: bool,
    /// Reason to store in the session
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a session to standard output or a file
///
/// jsonl is the whole log, one entry per line; importing it creates the same session. markdown and html are
/// for people to read; they shorten long outputs of tools. snapshot (for importSnapshot and `tertulia
/// context`) and agent-chatter (session file, schema 1.0) contain only the messages of the current branch;
/// a note on standard error names what is left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions export login-page -o login-page.jsonl
  tertulia sessions export latest -o talk.md
  tertulia sessions export latest --full -o talk.html
  tertulia sessions export login-page --format snapshot | tertulia context --snapshot -")]
pub(crate) struct ExportArgs {
    /// The session
    pub(crate) session: String,
    /// File format [default: by the ending of the output file (.md, .html), otherwise jsonl]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FileFormat>,
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

impl ExportArgs {
    /// Returns the format: the given one, or the one of the output file.
    pub(crate) fn format(&self) -> FileFormat {
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        self.format.unwrap_or(match ending {
            Some("md" | "markdown") => FileFormat::Markdown,
            Some("html" | "htm") => FileFormat::Html,
            _ => FileFormat::Jsonl,
        })
    }
}

/// Store a session from a file, or one that an agent keeps on this machine
///
/// Without SOURCE, lists the sessions of Claude Code, Codex, Gemini CLI, opencode, Copilot CLI, pi, goose, Cline
/// and aider, newest first, and asks which to import. A second import of a session adds only new entries. Prints
/// the ID of each session. If there is an error, nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia sessions import
  tertulia sessions import --last --agent claude --project .
  tertulia sessions import ~/.codex/sessions/2026/01/31 --all --dry-run
  tertulia sessions import login-page.jsonl --as login-page
  tertulia sessions export old | ssh host tertulia sessions import -")]
pub(crate) struct ImportArgs {
    /// File, folder, - for standard input, or the ID that the agent gave the session [default: the
    /// sessions of all agents]
    #[arg(value_name = "SOURCE")]
    pub(crate) source: Option<PathBuf>,
    /// ID of the new session [default: generated; for a session of an agent, made from the agent's ID]
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
    /// Show what would be imported, without storing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep importing while the agent works, and show new messages, until Ctrl-C
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    pub(crate) watch: bool,
    /// Remove API keys, tokens and private keys of known kinds before anything is stored
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

/// Check a session, or the whole store, against the stored hashes
///
/// Prints the number of valid entries and the hash of the whole session. If entries are damaged, prints the
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
/// Asks for confirmation. --yes skips the question and requires the full ID.
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
/// Other processes can write to the store during the backup.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Output file (must not exist)
    pub(crate) file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check a backup and copy all its sessions into the store
///
/// If the store already has one of the sessions, nothing is copied.
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
    /// The current branch as a document for people, for example for a pull request
    #[value(alias = "md")]
    Markdown,
    /// The same as a single HTML file with a search field
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
