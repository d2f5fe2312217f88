//! What can be typed. Declares arguments and checks their form; touches nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tertulia_context::tokens::Tokenizer;
use tertulia_dialect::Dialect;

use crate::lines::LINE_BYTES_MAX;

/// One conversation in, each agent's prompt out.
///
/// Several coding agents and people share one conversation; each agent gets the context that it needs,
/// in its own format and inside its budget, and tertulia can always say why.
#[derive(Debug, Parser)]
#[command(name = "tertulia", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Context(ContextArgs),
    Build(BuildArgs),
    Assemble(AssembleArgs),
    Rpc(RpcArgs),
    Tokens(TokensArgs),
}

/// Show what an agent would get now, from a snapshot of the conversation
///
/// Prints the prompt, byte for byte. With --explain it prints a table instead: how large each section
/// is, which messages are in the prompt, which are not, and why.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia context --snapshot talk.json --type claude
  tertulia context --snapshot talk.json --type codex --window 20 --budget 64KiB --explain")]
pub(crate) struct ContextArgs {
    /// The snapshot file; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: PathBuf,
    /// The agent: claude, codex, gemini; any other name gets plain text
    #[arg(long = "type", value_name = "AGENT", default_value = PLAIN)]
    pub(crate) agent_type: String,
    /// How many messages of context before the newest one
    #[arg(long, value_name = "N", value_parser = whole_number, allow_hyphen_values = true,
        default_value_t = tertulia_context::DEFAULT_CONTEXT_WINDOW_SIZE)]
    pub(crate) window: usize,
    /// How many bytes the prompt may have, such as 65536 or 64KiB
    #[arg(long, value_name = "BYTES", value_parser = byte_count, allow_hyphen_values = true,
        default_value_t = tertulia_context::DEFAULT_MAX_BYTES)]
    pub(crate) budget: u64,
    /// What happens to blanks around markers: keep code as it is, or fold whitespace
    #[arg(long, value_name = "MODE", default_value = "preserve")]
    pub(crate) whitespace: WhitespaceArg,
    /// The agent's own instruction
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: Option<String>,
    /// A file with more instructions
    #[arg(long, value_name = "FILE")]
    pub(crate) instruction_file: Option<PathBuf>,
    /// Show sections, sizes, and what became of every message
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON: the prompt and its numbers, and with --explain every verdict
    #[arg(long)]
    pub(crate) json: bool,
}

/// Build the messages for a model's next call, within a number of tokens
///
/// Reads one ContextBuildInput ({config: {maxInputTokens}, sessionEntries, inputMessages, …}) and
/// prints the result as one line of JSON: the messages, what to append to the log, figures. Flags win
/// over the fields of the input. docs/model-context.md describes both.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia build --log talk.jsonl --model claude-sonnet-4-5 --explain
  tertulia build input.json --budget 8000 --format anthropic
  tertulia build request.json --from openai --budget 8000 --format gemini")]
pub(crate) struct BuildArgs {
    /// The input; - for standard input, which is also read when neither a file nor --log is named.
    /// With --from it may be a request of that API, or its list of messages
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The model that is called: who counts, and how much fits
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How many tokens the request may have; without it, what the model's window leaves
    #[arg(long, value_name = "TOKENS", value_parser = token_count, allow_hyphen_values = true)]
    pub(crate) budget: Option<u64>,
    /// The system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// How many tokens of what is no longer sent may come back; 0 for none
    #[arg(long, value_name = "TOKENS", value_parser = token_count, allow_hyphen_values = true)]
    pub(crate) recall: Option<u64>,
    /// The session's log, one entry per line, instead of sessionEntries in the input
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Print the request of an API instead of the result: openai, responses, anthropic, gemini
    #[arg(long, value_name = "API", value_parser = dialect)]
    pub(crate) format: Option<Dialect>,
    /// The API whose shape the new messages have: openai, responses, anthropic, gemini
    #[arg(long, value_name = "API", value_parser = dialect)]
    pub(crate) from: Option<Dialect>,
    /// Show where the tokens go, and what became of every entry
    #[arg(long, conflicts_with = "format")]
    pub(crate) explain: bool,
}

/// Turn contexts into prompts: one JSON object per line in, one per line out
///
/// Reads AssemblerInput objects ({contextMessages, currentMessage, teamTask, systemInstruction?,
/// instructionFileText?, maxBytes?}) from standard input. A line that cannot be read gives a line
/// {"error": …} in its place, and exit code 1 at the end.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  echo '{\"contextMessages\":[],\"currentMessage\":\"Hello\",\"teamTask\":null}' |
    tertulia assemble --type claude --text")]
pub(crate) struct AssembleArgs {
    /// The agent: claude, codex, gemini; any other name gets plain text
    #[arg(long = "type", value_name = "AGENT", default_value = PLAIN)]
    pub(crate) agent_type: String,
    /// Print the bare prompt, byte for byte, instead of JSON; a line break between several
    #[arg(long)]
    pub(crate) text: bool,
    /// Fail where the current message does not fit as a whole
    #[arg(long)]
    pub(crate) strict: bool,
    /// Add the size of every section to the JSON
    #[arg(long, conflicts_with = "text")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) limits: LineLimit,
}

/// Serve the context engine to other programs: JSON-RPC 2.0 on standard input and output
///
/// One object or batch per line. Hooks and logs arrive as notifications. docs/rpc.md lists the
/// methods.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stripAllMarkers\",\"params\":{\"text\":\"hi [NEXT: max]\"}}' |
    tertulia rpc")]
pub(crate) struct RpcArgs {
    #[command(flatten)]
    pub(crate) limits: LineLimit,
}

/// Count the tokens of files or standard input
///
/// Exact for OpenAI's models and for Gemini, whose vocabularies are public; an estimate, marked with ~,
/// for Claude and for models that are not known.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia tokens README.md docs/*.md
  git diff | tertulia tokens --model gpt-5 --model claude-opus-4")]
pub(crate) struct TokensArgs {
    /// The files; - for standard input, which is also read when no file is named
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The model; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// The tokenizer, instead of a model: o200k, cl100k, gemma, claude, bytes
    #[arg(long, value_name = "NAME", value_parser = tokenizer)]
    pub(crate) tokenizer: Vec<Tokenizer>,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LineLimit {
    /// The longest line that is read, such as 1048576 or 256MiB
    #[arg(long, value_name = "BYTES", value_parser = byte_count, default_value_t = LINE_BYTES_MAX,
        env = "TERTULIA_MAX_LINE_BYTES")]
    pub(crate) max_line_bytes: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WhitespaceArg {
    /// Only markers and the blanks that they leave go
    Preserve,
    /// Runs of blanks become one, lines are trimmed, empty lines go
    Compact,
}

/// The name that asks for plain text, as opposed to one that merely is not known.
pub(crate) const PLAIN: &str = "plain";

fn tokenizer(id: &str) -> Result<Tokenizer, String> {
    Tokenizer::parse(id).ok_or_else(|| "must be o200k, cl100k, gemma, claude or bytes".to_owned())
}

fn dialect(word: &str) -> Result<Dialect, String> {
    Dialect::parse(word).ok_or_else(|| "must be openai, responses, anthropic or gemini".to_owned())
}

fn token_count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "must be a whole number of tokens".to_owned())
}

fn whole_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "must be a whole number of 0 or more".to_owned())
}

fn byte_count(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.trim().parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.ok_or_else(|| "must be a whole number of bytes, such as 65536 or 64KiB".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn byte_counts_take_binary_units() {
        assert_eq!(byte_count("0"), Ok(0));
        assert_eq!(byte_count("64KiB"), Ok(65536));
        assert_eq!(byte_count("256 MiB"), Ok(268_435_456));
        for wrong in ["-1", "1.5", "", "KiB", "64KB", "99999999999GiB"] {
            assert!(byte_count(wrong).is_err(), "{wrong}");
        }
    }
}
