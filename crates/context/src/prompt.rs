//! A prompt between plan and text: borrowed sections and the decision what stays of them. It can be
//! measured, explained, and written into any `Write` without being built first.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io;

use crate::assemblers::{Assembler, Header, SystemPlace};
use crate::budget::{Fit, OverBudget, PromptStatus, PromptWarning, SectionBytes, Sizes, fit};
use crate::whitespace::trim;

/// The longest text that Linux passes as one argument of a command, in bytes.
pub const ARGUMENT_BYTES_MAX: usize = 131_071;

/// One message of the context, markers already taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextMessage<'a> {
    /// Who said it.
    pub from: Cow<'a, str>,
    /// To whom; `None` reads as everybody.
    pub to: Option<Cow<'a, str>>,
    /// What was said.
    pub content: Cow<'a, str>,
}

/// What an assembler makes a prompt of. Markers are already taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssemblerInput<'a> {
    /// The messages before the current one, oldest first.
    pub context_messages: Vec<ContextMessage<'a>>,
    /// What the agent is to answer.
    pub current_message: Cow<'a, str>,
    /// The team's task.
    pub team_task: Option<Cow<'a, str>>,
    /// The member's own instruction.
    pub system_instruction: Option<Cow<'a, str>>,
    /// The text of the member's instruction file.
    pub instruction_file_text: Option<Cow<'a, str>>,
    /// The budget in bytes.
    pub max_bytes: u64,
}

/// A prompt and what became of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssemblerOutput {
    /// What goes to the agent's standard input.
    pub prompt: String,
    /// The system text, where it travels apart.
    pub system_flag: Option<String>,
    /// What became of it.
    pub status: PromptStatus,
    /// The sizes of its sections.
    pub bytes: SectionBytes,
    /// How many messages of the context are in it.
    pub kept_context: usize,
    /// How many are not.
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

/// A stretch of a planned prompt, and where its text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPiece<'a> {
    /// A header, a name, a line break: text of the format.
    Fixed(&'a str),
    /// System text, trimmed.
    System(&'a str),
    /// The team's task, trimmed.
    TeamTask(&'a str),
    /// The content of a message of the context.
    Context {
        /// Which message of the input.
        index: usize,
        /// All of its content.
        text: &'a str,
    },
    /// The current message, trimmed, or its beginning.
    Message(&'a str),
}

impl<'a> PromptPiece<'a> {
    /// The text.
    pub fn text(self) -> &'a str {
        match self {
            Self::Fixed(text) | Self::System(text) | Self::TeamTask(text) => text,
            Self::Context { text, .. } | Self::Message(text) => text,
        }
    }
}

/// The two instruction texts, trimmed, with a blank line between them if both are there.
#[derive(Clone, Copy, Debug)]
struct SystemText<'a> {
    pieces: [&'a str; 3],
}

impl<'a> Prompt<'a> {
    pub(crate) fn plan(assembler: Assembler, input: &'a AssemblerInput<'a>) -> Self {
        let system = SystemText::of(input);
        let team_task = trim(input.team_task.as_deref().unwrap_or_default());
        let message = trim(&input.current_message);
        let section = |header: usize, body: usize| if body == 0 { 0 } else { header + body };
        let (flag, inline) = match &assembler.system {
            SystemPlace::Flag => (system.len(), 0),
            SystemPlace::Section(header) => (0, section(header.len(), system.len())),
        };
        let sizes = Sizes {
            flag,
            fixed: [inline, section(assembler.team_task.len(), team_task.len())],
            context_header: assembler.context.len(),
            message_header: assembler.message.len(),
            message,
        };
        let newest_first = input.context_messages.iter().rev();
        let lines = newest_first.map(|message| assembler.line.len(message));
        let fit = fit(sizes, lines, input.max_bytes);
        Self {
            assembler,
            system,
            team_task,
            context: &input.context_messages,
            message,
            max_bytes: input.max_bytes,
            fit,
        }
    }

    /// What became of it.
    pub fn status(&self) -> PromptStatus {
        self.fit.status
    }

    /// The sizes of its sections.
    pub fn bytes(&self) -> SectionBytes {
        self.fit.bytes
    }

    /// How many messages of the context are in it.
    pub fn kept_context(&self) -> usize {
        self.fit.context_kept
    }

    /// How many messages of the context are not.
    pub fn dropped_context(&self) -> usize {
        self.context.len() - self.fit.context_kept
    }

    /// The bytes that the line of a message of the context takes or would take.
    pub fn line_bytes(&self, index: usize) -> Option<usize> {
        self.context.get(index).map(|message| self.assembler.line.len(message))
    }

    /// How many bytes of the current message are in it, and how many it has.
    pub fn message_bytes(&self) -> (usize, usize) {
        (self.fit.message_bytes, self.message.len())
    }

    /// What should be told: a message that is not whole, a system text that is too long for a flag.
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

    /// Whether the current message is in it as a whole; if not, why.
    pub fn whole_message(&self) -> Result<(), OverBudget> {
        let (status, needed_bytes) = (self.status(), self.fit.needed_bytes);
        match status {
            PromptStatus::Fits | PromptStatus::ContextTrimmed => Ok(()),
            _ => Err(OverBudget { status, max_bytes: self.max_bytes, needed_bytes }),
        }
    }

    /// The bytes of the prompt itself, without a system text that travels apart.
    pub fn prompt_bytes(&self) -> usize {
        self.fit.bytes.total() - self.flag_bytes()
    }

    /// The bytes of a system text that travels apart.
    pub fn flag_bytes(&self) -> usize {
        self.flag_pieces().map(str::len).into_iter().sum()
    }

    /// Builds the prompt.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.prompt_bytes());
        self.for_each_piece(|piece| text.push_str(piece.text()));
        text
    }

    /// Gives the prompt piece by piece, in order; joined, the pieces are the prompt.
    pub fn for_each_piece(&self, mut take: impl FnMut(PromptPiece<'_>)) {
        let Ok(()) = self.pieces(|piece| -> Result<(), Infallible> {
            take(piece);
            Ok(())
        });
    }

    /// Writes the prompt piece by piece, without building it. The pieces are small: give a buffered
    /// writer.
    pub fn write_to(&self, writer: &mut impl io::Write) -> io::Result<()> {
        self.pieces(|piece| writer.write_all(piece.text().as_bytes()))
    }

    /// The system text, where it travels apart and there is one.
    pub fn system_flag(&self) -> Option<String> {
        let flag = self.flag_pieces().concat();
        (!flag.is_empty()).then_some(flag)
    }

    /// Builds prompt and system text.
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
            SystemPlace::Flag => self.system.pieces,
            SystemPlace::Section(_) => [""; 3],
        }
    }

    /// Gives the prompt piece by piece, in order. The only place that knows how sections are joined.
    fn pieces<E>(&self, mut write: impl FnMut(PromptPiece<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut between = "";
        if let SystemPlace::Section(header) = &self.assembler.system
            && self.system.len() > 0
        {
            open_section(&mut between, header, &mut write)?;
            self.system.pieces.into_iter().try_for_each(|text| write(PromptPiece::System(text)))?;
        }
        if !self.team_task.is_empty() {
            open_section(&mut between, &self.assembler.team_task, &mut write)?;
            write(PromptPiece::TeamTask(self.team_task))?;
        }
        let first = self.dropped_context();
        for (index, message) in self.context.iter().enumerate().skip(first) {
            match index == first {
                true => open_section(&mut between, &self.assembler.context, &mut write)?,
                false => write(PromptPiece::Fixed("\n"))?,
            }
            let [names @ .., text] = self.assembler.line.pieces(message);
            names.into_iter().try_for_each(|text| write(PromptPiece::Fixed(text)))?;
            write(PromptPiece::Context { index, text })?;
        }
        if self.fit.message_bytes > 0 {
            open_section(&mut between, &self.assembler.message, &mut write)?;
            write(PromptPiece::Message(&self.message[..self.fit.message_bytes]))?;
        }
        Ok(())
    }
}

fn open_section<E>(
    between: &mut &'static str,
    header: &Header,
    write: &mut impl FnMut(PromptPiece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    write(PromptPiece::Fixed(between))?;
    *between = "\n\n";
    header.pieces().into_iter().try_for_each(|text| write(PromptPiece::Fixed(text)))
}

impl<'a> SystemText<'a> {
    fn of(input: &'a AssemblerInput<'a>) -> Self {
        let text = |text: &'a Option<Cow<'a, str>>| trim(text.as_deref().unwrap_or_default());
        let instruction = text(&input.system_instruction);
        let file = text(&input.instruction_file_text);
        let between = if instruction.is_empty() || file.is_empty() { "" } else { "\n\n" };
        Self { pieces: [instruction, between, file] }
    }

    fn len(&self) -> usize {
        self.pieces.map(str::len).into_iter().sum()
    }
}
