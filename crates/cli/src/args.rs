//! The command-line arguments. Declares them and checks their syntax; reads no files and starts no programs.

mod ask;
mod conversation;
mod global;
mod native;
mod overview;
mod sessions;
mod setup;
mod values;
mod worktrees;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use tertulia_context::tokens::Tokenizer;
use tertulia_dialect::Dialect;

use tertulia_operations::cost::CostBy;
use tertulia_operations::lines::LINE_BYTES_MAX;

pub(crate) use ask::AskArgs;
pub(crate) use conversation::{
    ChatArgs, ReplayArgs, RunArgs, SessionArg, TeamArg, TeamFileArg, WhyArgs,
};
pub(crate) use global::{ColorWhen, GlobalArgs, color_option, wants_events};
pub(crate) use native::{HandoverArgs, ReceiptArgs};
pub(crate) use sessions::{
    BackupArgs, BranchArgs, DeleteArgs, ExportArgs, FileFormat, ImportArgs, ListArgs, RedactArgs,
    RenameArgs, RestoreArgs, SearchArgs, SessionsArgs, SessionsCommand, ShowArgs, SourceFormat,
    VerifyArgs,
};
pub(crate) use setup::{CompletionsArgs, DemoArgs, DoctorArgs, InitArgs, ManArgs};
pub(crate) use values::When;
use values::{byte_count, cost_by, token_count, when, whole_number, word};
pub(crate) use worktrees::{WorktreesArgs, WorktreesCommand};

/// Maximum width of the help texts, in columns.
const WIDTH_MAX: usize = 100;

/// Run several coding agents in one shared conversation
#[derive(Debug, Parser)]
#[command(name = "tertulia", version, max_term_width = WIDTH_MAX)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// `None` opens the chat.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(InitArgs),
    Chat(ChatArgs),
    Run(RunArgs),
    Ask(AskArgs),
    Demo(DemoArgs),
    Why(WhyArgs),
    Replay(ReplayArgs),
    Context(ContextArgs),
    Build(BuildArgs),
    Assemble(AssembleArgs),
    Rpc(RpcArgs),
    Sessions(SessionsArgs),
    Handover(HandoverArgs),
    Receipt(ReceiptArgs),
    Worktrees(WorktreesArgs),
    Tokens(TokensArgs),
    Cost(CostArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The option that names the session store.
#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// Session store: sqlite:PATH, postgres://USER@HOST/DATABASE or memory [default: the file
    /// sessions.db in $TERTULIA_HOME or your data folder]
    #[arg(
        long,
        value_name = "STORE",
        env = "TERTULIA_STORE",
        hide_env_values = true,
        global = true,
        display_order = 100
    )]
    pub(crate) store: Option<String>,
}

/// Show the prompt that an agent would get now, from a stored session or a snapshot
///
/// Prints the prompt, byte for byte. --explain prints a table instead: the size of each section, which messages are
/// in the prompt, which are not, and why. --member shows what this member of the team would get now. --turn shows
/// what an agent got for this turn, checked against the stored hash. With --member or --turn, the command prints a
/// separately sent system text before the prompt; --part prints only one of the two.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("conversation").required(true).multiple(true)
    .args(["session", "snapshot", "member", "turn"])))]
#[command(after_help = "Examples:
  tertulia context --member max --explain
  tertulia context --turn e-4f1c
  tertulia context --turn e-4f1c --part prompt > prompt.txt
  tertulia context --session login-page --type claude
  tertulia context --snapshot talk.json --type codex --window 20 --budget 64KiB --explain")]
pub(crate) struct ContextArgs {
    /// The stored session: latest, an ID, a unique part of it, or a title
    #[arg(long, value_name = "SESSION", conflicts_with = "snapshot")]
    pub(crate) session: Option<String>,
    /// Snapshot of a conversation: a JSON file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// Show the prompt of this member of the team [default session: the newest of this folder]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["snapshot", "agent_type", "window",
        "budget", "whitespace", "instruction", "instruction_file"])]
    pub(crate) member: Option<String>,
    /// Show what was sent for this turn: its ID or that of the agent's answer, or a unique prefix
    /// [default session: the newest of this folder]
    #[arg(long, value_name = "ID", conflicts_with_all = ["snapshot", "member", "agent_type", "window",
        "budget", "whitespace", "instruction", "instruction_file", "explain"])]
    pub(crate) turn: Option<String>,
    /// Print only this part
    #[arg(long, value_name = "PART", conflicts_with_all = ["snapshot", "explain", "json"])]
    pub(crate) part: Option<PromptPart>,
    /// Agent type: claude, codex or gemini; any other name gets plain text
    #[arg(long = "type", value_name = "AGENT", default_value = PLAIN)]
    pub(crate) agent_type: String,
    /// Maximum number of messages before the newest one [default: 20 with --session, 5 with --snapshot]
    #[arg(long, value_name = "N", value_parser = whole_number, allow_hyphen_values = true)]
    pub(crate) window: Option<usize>,
    /// Maximum size of the prompt in bytes, such as 65536 or 64KiB [default: with --session, 360000 for
    /// claude and 489600 for codex; otherwise 786432]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, allow_hyphen_values = true)]
    pub(crate) budget: Option<u64>,
    /// How to treat whitespace around removed markers
    #[arg(long, value_name = "MODE", default_value = "preserve")]
    pub(crate) whitespace: WhitespaceArg,
    /// Instruction for the agent, as part of the prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: Option<String>,
    /// File with more instructions
    #[arg(long, value_name = "FILE")]
    pub(crate) instruction_file: Option<PathBuf>,
    /// Print a table instead: sections, sizes, and the outcome of every message
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON: the prompt and its sizes, and with --explain the outcome of every message
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Build the messages for a model's next call, within a token budget
///
/// Reads one ContextBuildInput ({config: {maxInputTokens}, sessionEntries, inputMessages, …}) and
/// prints the result as one line of JSON: the messages, the entries to append to the log, and statistics.
/// Options override fields of the input. docs/model-context.md describes the input and the result.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia build --session login-page --model claude-sonnet-4-5 --explain
  tertulia build --log talk.jsonl --model gpt-5 --format openai
  tertulia build input.json --budget 8000 --format anthropic
  tertulia build request.json --from openai --budget 8000 --format gemini")]
pub(crate) struct BuildArgs {
    /// Input file, or - for standard input [default: standard input, unless --log or --session is
    /// given]. With --from, it can also be a request to that API, or the list of messages of a request
    pub(crate) file: Option<PathBuf>,
    /// Model to call; it determines the tokenizer and the default budget
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Maximum number of tokens of the request [default: from the context window of the model]
    #[arg(long, value_name = "TOKENS", value_parser = token_count, allow_hyphen_values = true)]
    pub(crate) budget: Option<u64>,
    /// System prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// Maximum number of tokens for passages recalled from messages that are no longer sent (0 = no recall)
    #[arg(long, value_name = "TOKENS", value_parser = token_count, allow_hyphen_values = true)]
    pub(crate) recall: Option<u64>,
    /// Log of the session, one entry per line, instead of sessionEntries in the input
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Stored session whose log is used: latest, an ID, a unique part of it, or a title
    #[arg(long, value_name = "SESSION", conflicts_with = "log")]
    pub(crate) session: Option<String>,
    /// Append the new entries to the session; fails if another process has changed it meanwhile
    #[arg(long, requires = "session")]
    pub(crate) append: bool,
    /// Print a request to this API instead of the result: openai, responses, anthropic, gemini
    #[arg(long, value_name = "API", value_parser = word::<Dialect>)]
    pub(crate) format: Option<Dialect>,
    /// API format of the new messages: openai, responses, anthropic, gemini
    #[arg(long, value_name = "API", value_parser = word::<Dialect>)]
    pub(crate) from: Option<Dialect>,
    /// Print a table instead: the tokens of each part, and the outcome of every entry
    #[arg(long, conflicts_with = "format")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Convert contexts to prompts: reads and prints one JSON object per line
///
/// Reads AssemblerInput objects ({contextMessages, currentMessage, teamTask, systemInstruction?,
/// instructionFileText?, maxBytes?}) from standard input. For an invalid line, prints {"error": …} and
/// continues; the exit code is then 1.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  echo '{\"contextMessages\":[],\"currentMessage\":\"Hello\",\"teamTask\":null}' |
    tertulia assemble --type claude --text")]
pub(crate) struct AssembleArgs {
    /// Agent type: claude, codex or gemini; any other name gets plain text
    #[arg(long = "type", value_name = "AGENT", default_value = PLAIN)]
    pub(crate) agent_type: String,
    /// Print only the prompts, byte for byte, instead of JSON; a line break separates them
    #[arg(long)]
    pub(crate) text: bool,
    /// Fail if the current message does not fit completely
    #[arg(long)]
    pub(crate) strict: bool,
    /// Add the size of every section to the JSON output
    #[arg(long, conflicts_with = "text")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) limits: LineLimit,
}

/// Serve contexts and sessions to other programs: JSON-RPC 2.0 on standard input and output
///
/// Every line is one request or one batch. The server sends hooks and log lines as notifications.
/// docs/rpc.md lists the methods.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stripAllMarkers\",\"params\":{\"text\":\"hi [NEXT: max]\"}}' |
    tertulia rpc")]
pub(crate) struct RpcArgs {
    #[command(flatten)]
    pub(crate) limits: LineLimit,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Count the tokens of files or standard input
///
/// Counts are exact for OpenAI's models and for Gemini, whose vocabularies are public. For Claude and for
/// unknown models they are estimates, marked with ~.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia tokens README.md docs/*.md
  git diff | tertulia tokens --model gpt-5 --model claude-opus-4")]
pub(crate) struct TokensArgs {
    /// Files, or - for standard input [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Count as for this model; can be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// Count with this tokenizer: o200k, cl100k, gemma, claude, bytes; can be given several times
    #[arg(long, value_name = "NAME", value_parser = word::<Tokenizer>)]
    pub(crate) tokenizer: Vec<Tokenizer>,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what answers cost, by day, session, member, agent, model or project
///
/// Prints the tokens and costs of the answers in all sessions. Costs that agents reported and costs that were computed
/// from list prices (~) are kept apart. An answer of a model without a known price has an unknown cost.
/// docs/cost.md describes the prices.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia cost --since 7d
  tertulia cost --by model --since 2026-11-01
  tertulia cost --by member --session latest
  tertulia cost --by session --project --json")]
pub(crate) struct CostArgs {
    /// Group by this: day, session, member, agent, model, project
    #[arg(long, value_name = "GROUP", default_value = "day", value_parser = cost_by)]
    pub(crate) by: CostBy,
    /// Only answers since this time: a date, a timestamp, or an age (12h, 3d)
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub(crate) since: Option<When>,
    /// Only this session: latest, an ID, a unique part of it, or a title
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only sessions of this project [default without a folder: the project of the working folder]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".",
        require_equals = true)]
    pub(crate) project: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct LineLimit {
    /// Maximum length of an input line in bytes, such as 1048576 or 256MiB
    #[arg(long, value_name = "BYTES", value_parser = byte_count, default_value_t = LINE_BYTES_MAX,
        env = "TERTULIA_MAX_LINE_BYTES")]
    pub(crate) max_line_bytes: u64,
}

/// A part of the prompt that an agent gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptPart {
    /// The system text, if it is sent separately
    System,
    /// The prompt
    Prompt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhitespaceArg {
    /// Remove only markers and the spaces they leave behind
    Preserve,
    /// Collapse runs of spaces, trim lines, remove empty lines
    Compact,
}

/// The agent type that selects plain text on purpose. An unknown type gets plain text with a warning.
pub(crate) const PLAIN: &str = "plain";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_declared_correctly() {
        Cli::declared().debug_assert();
    }
}
