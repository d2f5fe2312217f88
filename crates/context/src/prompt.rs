//! A planned prompt: borrowed sections and the decision about what is kept. It can be measured, explained, and
//! written into any `Write` without being built first.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use tertulia_session::{ARGUMENT_BYTES_MAX, Addressee};

use crate::assemblers::{Assembler, Header, LabelPiece, SystemPosition};
use crate::budget::{Fit, OverBudget, PromptStatus, PromptWarning, SectionBytes, Sizes, fit};
use crate::escape::Body;
use crate::verdict::{DropReason, Outcome, Section};
use crate::whitespace::trim;

/// One message of the context, without its markers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContextMessage<'a> {
    pub from: Cow<'a, str>,
    /// The addressee; `None` means everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Cow<'a, str>>,
    pub content: Cow<'a, str>,
    /// Its kind. Only escaped formats show it.
    #[serde(skip)]
    pub kind: ContextKind<'a>,
}

/// The kind of a context message, as escaped formats show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextKind<'a> {
    /// An unknown kind; `to` is one name.
    #[default]
    Text,
    /// A message. Its addressees are in this variant; the field `to` of the context message is ignored.
    Speech {
        /// The addressees; empty means everybody.
        to: &'a [Addressee],
        by: SpokenBy,
    },
    /// The summary of a number of messages. It has no speaker.
    Summary {
        messages: usize,
        /// The number of older messages that are in no summary.
        older: usize,
    },
    /// A passage of an earlier message.
    Recalled { entry: &'a str, by: SpokenBy },
    /// A text under a title that the program gives it, such as `answer A`. Its speaker is not shown.
    Titled { title: &'a str },
}

/// The kind of a speaker, if the name alone does not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpokenBy {
    /// A person or an agent.
    #[default]
    Member,
    /// A built-in member, which quotes others.
    BuiltIn,
    /// An agent with the same name as a person of the team.
    Namesake,
    Tool,
}

/// The input of an assembler. Markers are already removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssemblerInput<'a> {
    /// The messages before the current one, oldest first.
    pub context_messages: Vec<ContextMessage<'a>>,
    pub current_message: Cow<'a, str>,
    pub team_task: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_file_text: Option<Cow<'a, str>>,
    pub max_bytes: u64,
}

/// A prompt and the sizes of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssemblerOutput {
    pub prompt: String,
    /// The system text, if it is passed separately.
    pub system_flag: Option<String>,
    pub status: PromptStatus,
    pub bytes: SectionBytes,
    pub kept_context: usize,
    pub dropped_context: usize,
}

/// A planned prompt.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    assembler: Assembler,
    system: SystemText<'a>,
    team_task: &'a str,
    context: &'a [ContextMessage<'a>],
    message: &'a str,
    max_bytes: u64,
    fit: Fit,
}

/// A piece of a planned prompt, and the origin of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPiece<'a> {
    /// A header, a name, a line break: text of the format.
    Fixed(&'a str),
    /// The id of the entry that a message of the context comes from.
    Id { index: usize, text: &'a str },
    /// System text, trimmed.
    System(Body<'a>),
    /// The team's task, trimmed.
    TeamTask(Body<'a>),
    /// The content of a message of the context.
    Context { index: usize, body: Body<'a> },
    /// The current message, trimmed, or its first part.
    Message(Body<'a>),
}

impl<'a> PromptPiece<'a> {
    fn body(self) -> Body<'a> {
        match self {
            Self::Fixed(text) | Self::Id { text, .. } => Body::raw(text),
            Self::System(body) | Self::TeamTask(body) | Self::Message(body) => body,
            Self::Context { body, .. } => body,
        }
    }
}

/// The two instruction texts, trimmed, with a blank line between them if both exist.
#[derive(Clone, Copy, Debug)]
struct SystemText<'a> {
    pieces: [&'a str; 3],
}

impl<'a> Prompt<'a> {
    pub(crate) fn plan(assembler: Assembler, input: &'a AssemblerInput<'a>) -> Self {
        let system = SystemText::new(input);
        let team_task = assembler.section(trim(input.team_task.as_deref().unwrap_or_default()));
        let message = assembler.section(trim(&input.current_message));
        let section = |header: usize, body: usize| if body == 0 { 0 } else { header + body };
        let (flag, inline) = match &assembler.system {
            SystemPosition::Flag => (system.len(), 0),
            SystemPosition::Section(header) => {
                let bytes = system.bodies(&assembler).map(Body::len).into_iter().sum();
                (0, section(header.len(), bytes))
            }
        };
        let sizes = Sizes {
            flag,
            fixed: [inline, section(assembler.team_task.len(), team_task.len())],
            context_header: assembler.context.len(),
            message_header: assembler.message.len(),
            message,
        };
        let newest_first = input.context_messages.iter().rev();
        let lines = newest_first.map(|message| assembler.line_bytes(message));
        let fit = fit(sizes, lines, input.max_bytes);
        Self {
            system,
            team_task: team_task.text,
            context: &input.context_messages,
            message: message.text,
            assembler,
            max_bytes: input.max_bytes,
            fit,
        }
    }

    /// Returns the status: whether it fits, and what was cut.
    pub fn status(&self) -> PromptStatus {
        self.fit.status
    }

    /// Returns the sizes of its sections.
    pub fn bytes(&self) -> SectionBytes {
        self.fit.bytes
    }

    /// Returns how many messages of the context are in it.
    pub fn kept_context(&self) -> usize {
        self.fit.context_kept
    }

    /// Returns how many messages of the context are not in it.
    pub fn dropped_context(&self) -> usize {
        self.context.len() - self.fit.context_kept
    }

    /// Returns the position at which the current message begins. It is always at the end of the prompt.
    pub fn message_start(&self) -> usize {
        self.prompt_bytes() - self.fit.written_bytes
    }

    /// Returns how many bytes of the current message are in the prompt, and how many it has in total, without
    /// indents.
    pub fn message_bytes(&self) -> (usize, usize) {
        (self.fit.message_bytes, self.message.len())
    }

    /// Returns how many bytes the line of a context message takes. If the message is not in the prompt, returns how
    /// many it would take.
    pub fn line_bytes(&self, index: usize) -> Option<usize> {
        self.context.get(index).map(|message| self.assembler.line_bytes(message))
    }

    pub(crate) fn line_outcome(&self, index: usize) -> Outcome {
        let bytes = self.line_bytes(index).unwrap_or_default();
        match index < self.dropped_context() {
            true => Outcome::Dropped { reason: DropReason::OverBudget { bytes } },
            false => Outcome::InPrompt { section: Section::Context, bytes },
        }
    }

    pub(crate) fn message_outcome(&self) -> Outcome {
        let dropped = |reason| Outcome::Dropped { reason };
        match self.message_bytes() {
            (0, 0) => dropped(DropReason::Empty),
            (0, bytes) => dropped(DropReason::OverBudget { bytes }),
            (kept_bytes, bytes) if kept_bytes < bytes => Outcome::Truncated { kept_bytes, bytes },
            (_, bytes) => Outcome::InPrompt { section: Section::Message, bytes },
        }
    }

    /// Returns the warnings: a message that is not whole, a system text that is too long for a flag.
    pub fn warnings(&self) -> impl Iterator<Item = PromptWarning> {
        let (kept_bytes, bytes) = self.message_bytes();
        let max_bytes = self.max_bytes;
        let cut = match self.status() {
            PromptStatus::Fits | PromptStatus::ContextTrimmed => None,
            PromptStatus::MessageTruncated => {
                Some(PromptWarning::MessageTruncated { kept_bytes, bytes, max_bytes })
            }
            PromptStatus::MessageDropped => {
                Some(PromptWarning::MessageDropped { bytes, max_bytes })
            }
            PromptStatus::OverBudget => {
                Some(PromptWarning::OverBudget { bytes: self.fit.bytes.total(), max_bytes })
            }
        };
        let bytes = self.flag_bytes();
        let flag =
            (bytes > ARGUMENT_BYTES_MAX).then_some(PromptWarning::SystemFlagTooLong { bytes });
        cut.into_iter().chain(flag)
    }

    /// Checks that the whole current message is in the prompt; the error says why it is not.
    pub fn whole_message(&self) -> Result<(), OverBudget> {
        let Fit { status, needed_bytes, .. } = self.fit;
        match status {
            PromptStatus::Fits | PromptStatus::ContextTrimmed => Ok(()),
            _ => Err(OverBudget { status, max_bytes: self.max_bytes, needed_bytes }),
        }
    }

    /// Returns the bytes of the prompt itself, without a system text that is passed separately.
    pub fn prompt_bytes(&self) -> usize {
        self.fit.bytes.total() - self.flag_bytes()
    }

    /// Returns the bytes of a system text that is passed separately.
    pub fn flag_bytes(&self) -> usize {
        self.flag_pieces().map(str::len).into_iter().sum()
    }

    /// Builds the prompt.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.prompt_bytes());
        self.for_each_piece(|piece| piece.body().for_each_piece(|part| text.push_str(part)));
        text
    }

    /// Passes the prompt to `take` piece by piece, in order. Only this code determines how sections are joined.
    pub fn for_each_piece(&self, mut take: impl FnMut(PromptPiece<'_>)) {
        let mut between = "";
        if let SystemPosition::Section(header) = &self.assembler.system
            && self.system.len() > 0
        {
            open_section(&mut between, header, &mut take);
            let bodies = self.system.bodies(&self.assembler).into_iter();
            bodies.map(PromptPiece::System).for_each(&mut take);
        }
        if !self.team_task.is_empty() {
            open_section(&mut between, &self.assembler.team_task, &mut take);
            take(PromptPiece::TeamTask(self.assembler.section(self.team_task)));
        }
        let first = self.dropped_context();
        for (index, message) in self.context.iter().enumerate().skip(first) {
            match index == first {
                true => open_section(&mut between, &self.assembler.context, &mut take),
                false => take(PromptPiece::Fixed("\n")),
            }
            self.assembler.label(message, &mut |piece| match piece {
                LabelPiece::Text(text) => take(PromptPiece::Fixed(text)),
                LabelPiece::Id(text) => take(PromptPiece::Id { index, text }),
            });
            take(PromptPiece::Context { index, body: self.assembler.content(message) });
        }
        if self.fit.message_bytes > 0 {
            open_section(&mut between, &self.assembler.message, &mut take);
            let kept = &self.message[..self.fit.message_bytes];
            take(PromptPiece::Message(self.assembler.section(kept)));
        }
    }

    /// Writes the prompt piece by piece, without building it. The pieces are small, so pass a buffered writer.
    pub fn write_to(&self, writer: &mut impl io::Write) -> io::Result<()> {
        let mut written = Ok(());
        self.for_each_piece(|piece| {
            piece.body().for_each_piece(|part| {
                if written.is_ok() {
                    written = writer.write_all(part.as_bytes());
                }
            });
        });
        written
    }

    /// Returns the system text, if there is one and it is passed separately.
    pub fn system_flag(&self) -> Option<String> {
        let flag = self.flag_pieces().concat();
        (!flag.is_empty()).then_some(flag)
    }

    /// Builds the prompt and the system text.
    pub fn output(&self) -> AssemblerOutput {
        AssemblerOutput {
            prompt: self.to_text(),
            system_flag: self.system_flag(),
            status: self.status(),
            bytes: self.bytes(),
            kept_context: self.kept_context(),
            dropped_context: self.dropped_context(),
        }
    }

    fn flag_pieces(&self) -> [&'a str; 3] {
        match self.assembler.system {
            SystemPosition::Flag => self.system.pieces,
            SystemPosition::Section(_) => [""; 3],
        }
    }
}

fn open_section(
    between: &mut &'static str,
    header: &Header,
    take: &mut impl FnMut(PromptPiece<'_>),
) {
    take(PromptPiece::Fixed(between));
    *between = "\n\n";
    header.pieces().into_iter().for_each(|text| take(PromptPiece::Fixed(text)));
}

impl<'a> SystemText<'a> {
    fn new(input: &'a AssemblerInput<'a>) -> Self {
        let text = |text: &'a Option<Cow<'a, str>>| trim(text.as_deref().unwrap_or_default());
        let instruction = text(&input.system_instruction);
        let file = text(&input.instruction_file_text);
        let between = if instruction.is_empty() || file.is_empty() { "" } else { "\n\n" };
        Self { pieces: [instruction, between, file] }
    }

    fn len(&self) -> usize {
        self.pieces.map(str::len).into_iter().sum()
    }

    fn bodies(&self, assembler: &Assembler) -> [Body<'a>; 3] {
        let [instruction, between, file] = self.pieces;
        [assembler.section(instruction), Body::raw(between), assembler.section(file)]
    }
}
