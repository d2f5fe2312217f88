//! The tokens of a request besides its text: roles, wrappers of tool calls and results, the preamble of tools. Each
//! vendor has one set of numbers, with its source.

use super::Tokenizer;

/// The vendor whose API a message is sent to. It determines the tokens of wrappers and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vendor {
    /// OpenAI, and servers with a compatible API.
    OpenAi,
    Anthropic,
    Google,
}

/// The tokens of a request that are not in its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// For each message: its role, its start and its end.
    pub message: u64,
    pub thinking: u64,
    /// For each tool call, its id included.
    pub tool_call: u64,
    pub tool_argument: u64,
    /// For each tool result, its id included.
    pub tool_result: u64,
    pub tool_spec: u64,
    /// Once for a request with tools.
    pub tools: u64,
    /// Once for a request: the start of the answer.
    pub reply: u64,
}

/// `message`, `reply`, `tool_spec` (func_init) and `tools` (func_end) are from the OpenAI Cookbook, "How to count
/// tokens with tiktoken", for GPT-4o. It has no numbers for calls and results. Their wrappers are assumed to cost as
/// much as a message.
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
/// <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview>. The wrappers are fitted together with
/// the prices of the words, see `docs/tokens.md`. A tool is assumed to cost as much as a call.
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
/// (<https://ai.google.dev/gemma/docs/core/prompt-structure>). Google publishes nothing about Gemini's calls and
/// results; their wrappers are assumed to cost as much as a turn.
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
