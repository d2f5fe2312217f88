//! The recorded streams, with the exit of each process. They were recorded with Claude Code 2.1.325, Codex 0.166.0,
//! Gemini CLI 0.61.0, opencode 1.18.33, Copilot CLI 1.0.102 and pi 0.87.1 and a model server that plays a script.
//! Paths and addresses are invented, and the long lists in Claude Code's first line are cut to one element.

use tertulia_dialect::stream::{AgentStream, Exit};

use crate::stream_written::WRITTEN;

/// One recorded run.
#[derive(Clone, Copy)]
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) stream: AgentStream,
    pub(crate) exit: Exit,
    pub(crate) bytes: &'static [u8],
}

impl Fixture {
    pub(crate) fn named(name: &str) -> Self {
        let mut all = ALL.iter().chain(WRITTEN);
        *all.find(|fixture| fixture.name == name).expect("a stream of this name")
    }
}

macro_rules! recorded {
    ($stream:ident, $name:literal, $exit:expr) => {
        Fixture {
            name: $name,
            stream: AgentStream::$stream,
            exit: $exit,
            bytes: include_bytes!(concat!("../fixtures/stream/", $name, ".jsonl")),
        }
    };
    ($stream:ident, $name:literal) => {
        recorded!($stream, $name, Exit::Code(0))
    };
}

/// All recorded streams.
#[rustfmt::skip]
pub(crate) const ALL: &[Fixture] = &[
    recorded!(OpenCode, "opencode-text"),
    recorded!(OpenCode, "opencode-tool"),
    recorded!(OpenCode, "opencode-auth", Exit::Code(1)),
    recorded!(OpenCode, "opencode-overflow", Exit::Code(1)),
    recorded!(OpenCode, "opencode-empty"),
    recorded!(Copilot, "copilot-text"),
    recorded!(Copilot, "copilot-tool"),
    recorded!(Copilot, "copilot-denied"),
    recorded!(Copilot, "copilot-auth", Exit::Code(1)),
    recorded!(Copilot, "copilot-overflow", Exit::Code(1)),
    recorded!(Copilot, "copilot-retried"),
    recorded!(Copilot, "copilot-empty", Exit::Code(1)),
    recorded!(Pi, "pi-text"),
    recorded!(Pi, "pi-tool"),
    recorded!(Pi, "pi-denied"),
    recorded!(Pi, "pi-auth"),
    recorded!(Pi, "pi-overflow"),
    recorded!(Pi, "pi-retried"),
    recorded!(Pi, "pi-empty"),
    recorded!(Claude, "claude-text"),
    recorded!(Claude, "claude-partial"),
    recorded!(Claude, "claude-thinking"),
    recorded!(Claude, "claude-tool"),
    recorded!(Claude, "claude-denied"),
    recorded!(Claude, "claude-subagent"),
    recorded!(Claude, "claude-json"),
    recorded!(Claude, "claude-unicode"),
    recorded!(Claude, "claude-retried"),
    recorded!(Claude, "claude-auth", Exit::Code(1)),
    recorded!(Claude, "claude-quota", Exit::Code(1)),
    recorded!(Claude, "claude-overflow", Exit::Code(1)),
    recorded!(Claude, "claude-network", Exit::Code(1)),
    recorded!(Claude, "claude-server", Exit::Code(1)),
    recorded!(Claude, "claude-refused", Exit::Code(1)),
    recorded!(Claude, "claude-empty"),
    recorded!(Claude, "claude-limit", Exit::Code(1)),
    recorded!(Claude, "claude-output-limit", Exit::Code(1)),
    recorded!(Claude, "claude-no-key", Exit::Code(1)),
    recorded!(Claude, "claude-interrupted"),
    recorded!(Claude, "claude-no-session", Exit::Code(1)),
    recorded!(Claude, "claude-killed", Exit::Code(143)),
    recorded!(Claude, "claude-two-turns"),
    recorded!(Codex, "codex-text"),
    recorded!(Codex, "codex-tools"),
    recorded!(Codex, "codex-tool-failed"),
    recorded!(Codex, "codex-file-change"),
    recorded!(Codex, "codex-thinking"),
    recorded!(Codex, "codex-unicode"),
    recorded!(Codex, "codex-retried"),
    recorded!(Codex, "codex-auth", Exit::Code(1)),
    recorded!(Codex, "codex-quota", Exit::Code(1)),
    recorded!(Codex, "codex-quota-used-up", Exit::Code(1)),
    recorded!(Codex, "codex-overflow", Exit::Code(1)),
    recorded!(Codex, "codex-overflow-in-stream", Exit::Code(1)),
    recorded!(Codex, "codex-network", Exit::Code(1)),
    recorded!(Codex, "codex-server", Exit::Code(1)),
    recorded!(Codex, "codex-limit", Exit::Code(1)),
    recorded!(Codex, "codex-refused"),
    recorded!(Codex, "codex-no-model", Exit::Code(1)),
    recorded!(Codex, "codex-warned"),
    recorded!(Codex, "codex-no-key", Exit::Code(1)),
    recorded!(Codex, "codex-killed", Exit::Signal(15)),
    recorded!(Gemini, "gemini-text"),
    recorded!(Gemini, "gemini-tool"),
    recorded!(Gemini, "gemini-tool-missing"),
    recorded!(Gemini, "gemini-markers"),
    recorded!(Gemini, "gemini-unicode"),
    recorded!(Gemini, "gemini-retried"),
    recorded!(Gemini, "gemini-repeated", Exit::Signal(9)),
    recorded!(Gemini, "gemini-auth", Exit::Code(145)),
    recorded!(Gemini, "gemini-quota", Exit::Code(173)),
    recorded!(Gemini, "gemini-quota-used-up", Exit::Code(173)),
    recorded!(Gemini, "gemini-overflow", Exit::Code(144)),
    recorded!(Gemini, "gemini-network", Exit::Code(1)),
    recorded!(Gemini, "gemini-server", Exit::Code(244)),
    recorded!(Gemini, "gemini-cut-stream"),
    recorded!(Gemini, "gemini-refused"),
    recorded!(Gemini, "gemini-empty"),
    recorded!(Gemini, "gemini-limit", Exit::Code(53)),
    recorded!(Gemini, "gemini-no-model", Exit::Code(1)),
    recorded!(Gemini, "gemini-killed"),
];
