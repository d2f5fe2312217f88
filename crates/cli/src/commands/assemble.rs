//! `tertulia assemble`: what an assembler takes, line by line, and the prompts that come of it.

use std::io::Write;

use serde::Serialize;
use tertulia_context::record::{AssemblerOutputRecord, read_assembler_input};
use tertulia_context::{Assembler, AssemblerInput, AssemblerOutput, OverBudget};
use tertulia_session::json::{self, FieldError, SyntaxError};

use super::prompt_format::choose_assembler;
use crate::Streams;
use crate::args::AssembleArgs;
use crate::error::CliError;
use crate::lines::{Line, LineError, Lines};
use crate::terminal::visible;

/// Why a line gives no prompt.
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

/// What stands in the output for a line that gives no prompt.
#[derive(Serialize)]
struct ErrorRecord {
    line: u64,
    error: String,
}

pub(crate) fn run(args: &AssembleArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let assembler = choose_assembler(&args.agent_type, streams.stderr);
    let mut lines = Lines::new(streams.stdin, args.limits.max_line_bytes);
    let mut writer = Writer { args, out: streams.stdout, talk: streams.stderr, written: 0 };
    let (mut total, mut failed) = (0, 0);
    while let Some(line) = lines.next().map_err(CliError::Input)? {
        total += 1;
        let number = line.number;
        match assemble(args, &assembler, line) {
            Ok(output) => writer.prompt(&output, number)?,
            Err(error) => {
                failed += 1;
                writer.error(&error, number)?;
            }
        }
    }
    if args.text && streams.stdout_is_terminal {
        writeln!(streams.stdout).map_err(CliError::output)?;
    }
    if failed > 0 { Err(CliError::Lines { failed, total }) } else { Ok(()) }
}

fn assemble(
    args: &AssembleArgs,
    assembler: &Assembler,
    line: Line<'_>,
) -> Result<AssemblerOutput, InputError> {
    let input: AssemblerInput<'_> = read_assembler_input(json::parse(line.text?)?)?;
    if args.strict {
        Ok(assembler.assemble_strict(&input)?)
    } else {
        Ok(assembler.assemble(&input))
    }
}

struct Writer<'a> {
    args: &'a AssembleArgs,
    out: &'a mut dyn Write,
    talk: &'a mut dyn Write,
    written: u64,
}

impl Writer<'_> {
    fn prompt(&mut self, output: &AssemblerOutput, line: u64) -> Result<(), CliError> {
        if !self.args.text {
            return self.json(&AssemblerOutputRecord(output));
        }
        if let Some(flag) = &output.system_flag {
            let _ = writeln!(
                self.talk,
                "tertulia: line {line}: the system text ({} bytes) travels apart from this prompt, \
                 for --append-system-prompt; without --text it is systemFlag in the output",
                flag.len()
            );
        }
        if self.written > 0 {
            self.out.write_all(b"\n").map_err(CliError::output)?;
        }
        self.written += 1;
        self.out.write_all(output.prompt.as_bytes()).map_err(CliError::output)
    }

    fn error(&mut self, error: &InputError, line: u64) -> Result<(), CliError> {
        let told = match error {
            InputError::Line(_) => error.to_string(),
            _ => format!("line {line}: {error}"),
        };
        let _ = writeln!(self.talk, "tertulia: {}", visible(&told));
        if self.args.text {
            return Ok(());
        }
        // The n-th line out answers the n-th line in, also where that one was wrong.
        self.json(&ErrorRecord { line, error: error.to_string() })
    }

    fn json(&mut self, record: &impl Serialize) -> Result<(), CliError> {
        serde_json::to_writer(&mut *self.out, record)
            .map_err(|error| CliError::output(error.into()))?;
        self.out.write_all(b"\n").map_err(CliError::output)
    }
}
