//! The prompt formats: what each agent's prompt looks like, as data. The stages that fill, fit and
//! render a prompt are shared; a format is one file with its headers and its line.
//!
//! | | system text | headers | context line |
//! |---|---|---|---|
//! | Claude | apart, as a flag | `[TEAM_TASK]` … | `- from -> to: content` |
//! | Codex | `[SYSTEM]` | `[TEAM_TASK]` … | `- from -> to: content` |
//! | Gemini | `Instructions:` | `Team Task:` … | `- from: content` |
//! | plain text | first, without a header | none | `from: content` |

mod claude;
mod codex;
mod gemini;
mod plain_text;

use std::borrow::Cow;

use crate::AgentType;
use crate::budget::OverBudget;
use crate::prompt::{AssemblerInput, AssemblerOutput, ContextMessage, Prompt};

/// A sender's name is cut here.
const SENDER_CHARACTERS: usize = 80;

/// Turns a context into the prompt of one kind of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    pub(crate) agent_type: AgentType,
    pub(crate) system: SystemPlace,
    pub(crate) team_task: Header,
    pub(crate) context: Header,
    pub(crate) message: Header,
    pub(crate) line: Line,
}

/// Where the system text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SystemPlace {
    /// Apart from the prompt, for a command line flag.
    Flag,
    /// Into the prompt, as its first section.
    Section(Header),
}

/// The line above a section; empty for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header(Cow<'static, str>);

/// How a message of the context is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// `- from -> to: content`
    Arrow,
    /// `- from: content`
    Dash,
    /// `from: content`
    Bare,
}

impl Assembler {
    /// The format of this type of agent; plain text for one that has none of its own.
    pub fn of(agent_type: &AgentType) -> Self {
        match agent_type {
            AgentType::ClaudeCode => Self::claude(),
            AgentType::OpenAiCodex => Self::codex(),
            AgentType::GoogleGemini => Self::gemini(),
            AgentType::Other(_) => Self::plain_text(),
        }
    }

    /// The same format with another line above the current message.
    #[must_use]
    pub fn with_message_header(mut self, header: impl Into<Cow<'static, str>>) -> Self {
        self.message = Header(header.into());
        self
    }

    /// The same format with the name of the sender in the line above the current message. A format without
    /// such a line stays as it is.
    #[must_use]
    pub fn with_sender(mut self, sender: &str) -> Self {
        let one_line = |letter: &char| !letter.is_control() && !matches!(letter, '[' | ']');
        let sender: String = sender.chars().filter(one_line).take(SENDER_CHARACTERS).collect();
        if !sender.is_empty() && self.message != Header::NONE {
            self.message = Header(Cow::Owned(match self.agent_type {
                AgentType::GoogleGemini => format!("Your task, from {sender}:"),
                _ => format!("[MESSAGE from {sender}]"),
            }));
        }
        self
    }

    /// The agent that the format is for; `unknown` for plain text.
    pub fn agent_type(&self) -> &AgentType {
        &self.agent_type
    }

    /// Plans the prompt: decides what fits, writes nothing yet.
    pub fn plan<'a>(&self, input: &'a AssemblerInput<'a>) -> Prompt<'a> {
        Prompt::plan(self.clone(), input)
    }

    /// Assembles the prompt within its budget.
    pub fn assemble(&self, input: &AssemblerInput<'_>) -> AssemblerOutput {
        self.plan(input).output()
    }

    /// Assembles the prompt, or says why the current message cannot be in it as a whole.
    pub fn assemble_strict(
        &self,
        input: &AssemblerInput<'_>,
    ) -> Result<AssemblerOutput, OverBudget> {
        let prompt = self.plan(input);
        prompt.whole_message()?;
        Ok(prompt.output())
    }
}

impl Header {
    pub(crate) const NONE: Self = Self(Cow::Borrowed(""));

    const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The header and its line break.
    pub(crate) fn pieces(&self) -> [&str; 2] {
        if self.0.is_empty() { ["", ""] } else { [&self.0, "\n"] }
    }

    /// The bytes of the header and its line break.
    pub(crate) fn len(&self) -> usize {
        self.pieces().map(str::len).into_iter().sum()
    }
}

impl Line {
    /// The line of a message, in pieces, so that it can be measured and written without being built.
    pub(crate) fn pieces<'a>(self, message: &'a ContextMessage<'_>) -> [&'a str; 6] {
        let ContextMessage { from, to, content } = message;
        match self {
            Self::Arrow => {
                let to = to.as_deref().unwrap_or(crate::window::EVERYBODY);
                ["- ", from, " -> ", to, ": ", content]
            }
            Self::Dash => ["- ", from, "", "", ": ", content],
            Self::Bare => ["", from, "", "", ": ", content],
        }
    }

    /// The bytes of the line, without a line break.
    pub(crate) fn len(self, message: &ContextMessage<'_>) -> usize {
        self.pieces(message).map(str::len).into_iter().sum()
    }
}
