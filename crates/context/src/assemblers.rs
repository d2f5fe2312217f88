//! The prompt formats: the layout of each agent's prompt, as data. All formats share the stages that collect, fit
//! and write a prompt; they differ in their headers and in the style of their lines.
//!
//! | | system text | headers | context line |
//! |---|---|---|---|
//! | Claude | separate, for a flag | `[TEAM_TASK]` … | `- from -> to: content` |
//! | Codex | `[SYSTEM]` | `[TEAM_TASK]` … | `- from -> to: content` |
//! | Gemini | `Instructions:` | `Team Task:` … | `- from: content` |
//! | plain text | first, without a header | none | `from: content` |
//!
//! [`Assembler::escaped`] returns the variant for team sessions, in which content cannot forge structure: only the
//! program writes at the left margin. Every line of content is indented, and names are on one line. Labels mark
//! summaries, recalled passages and answers of built-in members.

mod label;

use std::borrow::Cow;

use crate::AgentType;
use crate::budget::OverBudget;
use crate::escape::{Body, LineStart, written_name};
use crate::prompt::{AssemblerInput, AssemblerOutput, ContextMessage, Prompt, SpokenBy};

pub use label::LabelPiece;
pub(crate) use label::Line;

/// The note about a message that an earlier prompt of the same session contains.
const REPEATED: &str = ", repeated";

/// A prompt format, which turns a context into the prompt of one type of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    pub(crate) agent_type: AgentType,
    pub(crate) system: SystemPosition,
    pub(crate) team_task: Header,
    pub(crate) context: Header,
    pub(crate) message: Header,
    pub(crate) line: Line,
    pub(crate) is_escaped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SystemPosition {
    /// Separate from the prompt, for a command line flag.
    Flag,
    /// In the prompt, as its first section.
    Section(Header),
}

/// The line above a section; empty if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header(Cow<'static, str>);

impl From<&AgentType> for Assembler {
    fn from(agent_type: &AgentType) -> Self {
        match agent_type {
            AgentType::ClaudeCode => Self::claude(),
            AgentType::OpenAiCodex => Self::codex(),
            AgentType::GoogleGemini => Self::gemini(),
            AgentType::Other(_) => Self::plain_text(),
        }
    }
}

impl Assembler {
    /// Returns the format of Claude Code. The system text is passed separately, for `--append-system-prompt`, and
    /// counts against the budget.
    pub fn claude() -> Self {
        Self { agent_type: AgentType::ClaudeCode, system: SystemPosition::Flag, ..Self::codex() }
    }

    /// Returns the format of Codex.
    pub fn codex() -> Self {
        Self {
            agent_type: AgentType::OpenAiCodex,
            system: SystemPosition::Section(Header::new("[SYSTEM]")),
            team_task: Header::new("[TEAM_TASK]"),
            context: Header::new("[CONTEXT]"),
            message: Header::new("[MESSAGE]"),
            line: Line::Arrow,
            is_escaped: false,
        }
    }

    /// Returns the format of Gemini: headers in words, no brackets, addressees left out.
    pub fn gemini() -> Self {
        Self {
            agent_type: AgentType::GoogleGemini,
            system: SystemPosition::Section(Header::new("Instructions:")),
            team_task: Header::new("Team Task:"),
            context: Header::new("Conversation so far:"),
            message: Header::new("Your task:"),
            line: Line::Dash,
            is_escaped: false,
        }
    }

    /// Returns the format for agents that have none of their own: the texts one below the other, without headers.
    pub fn plain_text() -> Self {
        Self {
            agent_type: AgentType::Other("unknown".into()),
            system: SystemPosition::Section(Header::NONE),
            team_task: Header::NONE,
            context: Header::NONE,
            message: Header::NONE,
            line: Line::Bare,
            is_escaped: false,
        }
    }

    /// Returns plain text with a header above every section, so that an agent can tell its instruction, the
    /// conversation and the message to answer apart.
    pub fn labelled_text() -> Self {
        Self { agent_type: AgentType::Other("unknown".into()), ..Self::codex() }
    }

    /// Returns the same format with another line above the current message.
    #[must_use]
    pub fn with_message_header(mut self, header: impl Into<Cow<'static, str>>) -> Self {
        self.message = Header(header.into());
        self
    }

    /// Returns the same format for untrusted texts: content is indented and names are on one line, so that nothing
    /// in them can look like a section or another message. A format without headers gets those of
    /// [`Self::labelled_text`].
    #[must_use]
    pub fn escaped(self) -> Self {
        let format = if self.message == Header::NONE { Self::labelled_text() } else { self };
        Self { is_escaped: true, ..format }
    }

    /// Returns the same format with the name of the sender in the line above the current message, written as
    /// [`written_name`] does. A format without such a line does not change.
    #[must_use]
    pub fn with_sender(mut self, sender: &str, by: SpokenBy) -> Self {
        if self.message != Header::NONE {
            let (sender, note) = (written_name(sender), by.note());
            self.message = Header(Cow::Owned(match self.agent_type {
                AgentType::GoogleGemini => format!("Your task, from {sender}{note}:"),
                _ => format!("[MESSAGE from {sender}{note}]"),
            }));
        }
        self
    }

    /// Returns the same format with a note in the line above the current message that it was sent before. Only for a
    /// format with a sender in this line.
    #[must_use]
    pub fn repeating_message(mut self) -> Self {
        let header = &*self.message.0;
        let repeated = match (header.strip_suffix(']'), header.strip_suffix(':')) {
            (Some(line), _) => format!("{line}{REPEATED}]"),
            (_, Some(line)) => format!("{line}{REPEATED}:"),
            _ => return self,
        };
        self.message = Header(Cow::Owned(repeated));
        self
    }

    /// Returns the agent that the format is for; `unknown` for plain text.
    pub fn agent_type(&self) -> &AgentType {
        &self.agent_type
    }

    pub(crate) fn section<'a>(&self, text: &'a str) -> Body<'a> {
        Body { text, indent: self.is_escaped.then_some(LineStart::Margin) }
    }

    pub(crate) fn content<'a>(&self, message: &'a ContextMessage<'_>) -> Body<'a> {
        Body { text: &message.content, indent: self.is_escaped.then_some(LineStart::Label) }
    }

    pub(crate) fn line_bytes(&self, message: &ContextMessage<'_>) -> usize {
        let mut bytes = self.content(message).len();
        self.label(message, &mut |piece| bytes += piece.text().len());
        bytes
    }

    pub(crate) fn label(
        &self,
        message: &ContextMessage<'_>,
        take: &mut impl FnMut(LabelPiece<'_>),
    ) {
        self.line.label(message, self.is_escaped, take);
    }

    /// Plans the prompt: decides what fits, but writes nothing yet.
    pub fn plan<'a>(&self, input: &'a AssemblerInput<'a>) -> Prompt<'a> {
        Prompt::plan(self.clone(), input)
    }

    /// Assembles the prompt within its budget.
    pub fn assemble(&self, input: &AssemblerInput<'_>) -> AssemblerOutput {
        self.plan(input).output()
    }

    /// Assembles the prompt. Returns an error with the reason if the prompt cannot contain the whole current
    /// message.
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

    /// Returns the header and its line break.
    pub(crate) fn pieces(&self) -> [&str; 2] {
        if self.0.is_empty() { ["", ""] } else { [&self.0, "\n"] }
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces().map(str::len).into_iter().sum()
    }
}
