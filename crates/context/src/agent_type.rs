//! The type of agent that a prompt is for. Callers may use short names; only this code normalises them.

use std::fmt;

/// The agents that have a prompt format of their own, and all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentType {
    ClaudeCode,
    OpenAiCodex,
    GoogleGemini,
    /// Any other name, as it was written. Its prompt format is plain text.
    Other(Box<str>),
}

impl AgentType {
    /// Returns the type of this name, in any case of letters. `claude`, `codex` and `gemini` are the short names.
    pub fn named(name: &str) -> Self {
        // Only the case of ASCII letters is ignored: "GEMİNI" is another name.
        match name.to_ascii_lowercase().as_str() {
            "claude" | "claude-code" => Self::ClaudeCode,
            "codex" | "openai-codex" => Self::OpenAiCodex,
            "gemini" | "google-gemini" => Self::GoogleGemini,
            _ => Self::Other(name.into()),
        }
    }

    /// Returns the full name and the short one.
    pub fn names(&self) -> [&str; 2] {
        match self {
            Self::ClaudeCode => ["claude-code", "claude"],
            Self::OpenAiCodex => ["openai-codex", "codex"],
            Self::GoogleGemini => ["google-gemini", "gemini"],
            Self::Other(name) => [name, name],
        }
    }

    /// Returns the full name.
    pub fn as_str(&self) -> &str {
        self.names()[0]
    }
}

impl fmt::Display for AgentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
