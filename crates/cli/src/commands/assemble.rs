//! `tertulia assemble`: reads assembler inputs line by line and prints the prompts.

use std::io::Write;

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_context::record::{Detail, PromptRecord, read_assembler_input};
use tertulia_context::{AgentType, Assembler, AssemblerInput, OverBudget, Prompt};
use tertulia_operations::lines::{Line, LineError, Lines};
use tertulia_session::json::{self, FieldError, SyntaxError};

use crate::Streams;
use crate::args::{AssembleArgs, PLAIN};
use crate::error::{CliError, Result};

/// Returns the assembler of an agent type. An unknown type gets plain text and a warning.
pub(super) fn choose_assembler(agent_type: &str, notes: &mut dyn Write) -> Assembler {
    let normalized = AgentType::named(agent_type);
    if matches!(normalized, AgentType::Other(_)) && agent_type != PLAIN {
        let _ = writeln!(
            notes,
            "tertulia: unknown agent type \"{}\"; using plain text. Known types: claude, codex, gemini, \
             {PLAIN}",
            visible(agent_type)
        );
    }
    Assembler::from(&normalized)
}

#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("AssemblerInput: {0}")]
    Field(#[from] FieldError),
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// The output for an input line without a prompt.
#[derive(Serialize)]
struct ErrorRecord {
    line: u64,
    error: String,
}

pub(crate) fn run(args: &AssembleArgs, streams: &mut Streams<'_>) -> Result {
    let assembler = choose_assembler(&args.agent_type, streams.notes());
    let mut lines = Lines::new(streams.stdin, args.limits.max_line_bytes);
    let mut writer = Writer {
        args,
        out: streams.stdout,
        notes: streams.stderr,
        for_person: streams.stdout_is_terminal,
        prompts: 0,
    };
    let (mut total, mut failed) = (0, 0);
    while let Some(line) = lines.next_line().map_err(CliError::Input)? {
        total += 1;
        let number = line.number;
        match read_input(line, &assembler, args.strict) {
            Ok(input) => writer.prompt(&assembler.plan(&input), number)?,
            Err(error) => {
                failed += 1;
                writer.error(&error, number)?;
            }
        }
    }
    writer.finish()?;
    match failed {
        0 => Ok(()),
        _ => Err(CliError::Failed(format!("{failed} of {total} input lines failed"))),
    }
}

fn read_input(
    line: Line<'_>,
    assembler: &Assembler,
    strict: bool,
) -> Result<AssemblerInput<'static>, InputError> {
    let input = read_assembler_input(json::parse(line.text?)?)?;
    if strict {
        assembler.plan(&input).whole_message()?;
    }
    Ok(input)
}

struct Writer<'a> {
    args: &'a AssembleArgs,
    out: &'a mut dyn Write,
    notes: &'a mut dyn Write,
    for_person: bool,
    prompts: u64,
}

impl Writer<'_> {
    fn prompt(&mut self, prompt: &Prompt<'_>, line: u64) -> Result {
        for warning in prompt.warnings() {
            let _ = writeln!(self.notes, "tertulia: line {line}: {warning}");
        }
        if !self.args.text {
            let detail = if self.args.explain { Detail::Sections } else { Detail::Totals };
            return self.json(&PromptRecord::new(prompt, detail));
        }
        if prompt.flag_bytes() > 0 {
            let _ = writeln!(
                self.notes,
                "tertulia: line {line}: the system text ({} bytes) is not part of the prompt; \
                 leave out --text to get it as systemFlag, for --append-system-prompt",
                prompt.flag_bytes()
            );
        }
        let between = if self.prompts > 0 { "\n" } else { "" };
        self.prompts += 1;
        let written = self.out.write_all(between.as_bytes()).and_then(|()| {
            if self.for_person {
                self.out.write_all(visible(&prompt.to_text()).as_bytes())
            } else {
                prompt.write_to(&mut self.out)
            }
        });
        written.map_err(CliError::output)
    }

    fn error(&mut self, error: &InputError, line: u64) -> Result {
        let reported = match error {
            InputError::Line(_) => error.to_string(),
            _ => format!("line {line}: {error}"),
        };
        let _ = writeln!(self.notes, "tertulia: {}", visible(&reported));
        if self.args.text {
            return Ok(());
        }
        // The n-th output line answers the n-th input line, even if that one is invalid.
        self.json(&ErrorRecord { line, error: error.to_string() })
    }

    /// Ends the output with a line break on a terminal, so that the shell prompt is on its own line.
    fn finish(&mut self) -> Result {
        if self.args.text && self.for_person && self.prompts > 0 {
            writeln!(self.out).map_err(CliError::output)?;
        }
        Ok(())
    }

    fn json(&mut self, record: &impl Serialize) -> Result {
        serde_json::to_writer(&mut *self.out, record)
            .map_err(|error| CliError::output(error.into()))?;
        self.out.write_all(b"\n").map_err(CliError::output)
    }
}
