//! The tokens of a request besides its text: roles, wrappers of tool calls and results, the preamble of tools. Data,
//! one set per vendor, with its source.

use super::Tokenizer;

/// Whose API a message goes to: it decides what wrappers and pictures cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vendor {
    /// OpenAI, and servers that speak its language.
    OpenAi,
    Anthropic,
    Google,
}

/// Tokens that no word of a message accounts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// A message: its role, where it begins and ends.
    pub message: u64,
    pub thinking: u64,
    /// A tool call, its id included.
    pub tool_call: u64,
    pub tool_argument: u64,
    /// A tool result, its id included.
    pub tool_result: u64,
    pub tool_spec: u64,
    /// Once per request, if it has tools.
    pub tools: u64,
    /// Once for a request: where the answer begins.
    pub reply: u64,
}

/// `message`, `reply`, `tool_spec` (func_init) and `tools` (func_end): OpenAI Cookbook, "How to count tokens with
/// tiktoken", for GPT-4o. Calls and results are not published there; a wrapper is taken to cost what a message does.
const OPEN_AI: Overheads = Overheads {
    message: 3,
    thinking: 3,
    tool_call: 3,
    tool_argument: 0,
    tool_result: 3,
    tool_spec: 7,
    tools: 12,
    reply: 3,
};

/// `tools` is the published system prompt for tool use (Claude 4, `auto`):
/// <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview>. The wrappers are fitted together with the
/// prices of the words, see `docs/tokens.md`; a tool is taken to cost what a call does.
const ANTHROPIC: Overheads = Overheads {
    message: 3,
    thinking: 10,
    tool_call: 25,
    tool_argument: 12,
    tool_result: 25,
    tool_spec: 25,
    tools: 346,
    reply: 3,
};

/// Gemma's turn is `<start_of_turn>role\n…<end_of_turn>\n`, five tokens
/// (<https://ai.google.dev/gemma/docs/core/prompt-structure>). Google publishes nothing on Gemini's calls
/// and results; a wrapper is taken to cost what a turn does.
const GOOGLE: Overheads = Overheads {
    message: 5,
    thinking: 5,
    tool_call: 5,
    tool_argument: 0,
    tool_result: 5,
    tool_spec: 5,
    tools: 5,
    reply: 3,
};

impl Vendor {
    /// Returns the vendor whose messages are usually counted with this tokenizer.
    pub fn usual_for(tokenizer: &Tokenizer) -> Self {
        match tokenizer {
            Tokenizer::O200k | Tokenizer::Cl100k | Tokenizer::Bytes | Tokenizer::Custom(_) => {
                Self::OpenAi
            }
            Tokenizer::Claude => Self::Anthropic,
            Tokenizer::Gemma => Self::Google,
        }
    }

    /// Returns the tokens of this vendor's wrappers.
    pub fn overheads(self) -> &'static Overheads {
        match self {
            Self::OpenAi => &OPEN_AI,
            Self::Anthropic => &ANTHROPIC,
            Self::Google => &GOOGLE,
        }
    }
}
