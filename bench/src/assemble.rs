//! Checks that assembling a prompt over its budget takes linear time, costs little more than copying the kept text,
//! and does not allocate the prompt to write it.

use std::error::Error;
use std::io;

use tertulia_context::{Assembler, AssemblerInput, PromptStatus};

use crate::alloc::counted;
use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, in_turns};
use crate::report::{Figure, Theme, Unit, grouped};
use crate::sample::assembler_input;

const COPY_LIMIT: f64 = 2.5;

/// Measures all figures of assembling.
pub(crate) fn measure(scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let few = over_budget_input(scale.context_messages)?;
    let many = over_budget_input(GROWTH * scale.context_messages)?;
    Ok(Theme {
        title: "Assembling a prompt of twice its budget",
        figures: vec![
            growth(scale, &few, &many),
            against_copying(scale, &few),
            against_copying(scale, &many),
            written(&many)?,
        ],
    })
}

/// Returns a context of this many messages, and half the budget that its prompt would need.
pub(crate) fn over_budget_input(
    messages: usize,
) -> Result<AssemblerInput<'static>, Box<dyn Error>> {
    let mut input = assembler_input(messages);
    let whole = Assembler::claude().plan(&input).bytes().total();
    input.max_bytes = whole as u64 / 2;
    let status = Assembler::claude().plan(&input).status();
    if status == PromptStatus::ContextTrimmed {
        Ok(input)
    } else {
        Err(format!("the context should be trimmed, but the prompt is {}", status.as_str()).into())
    }
}

/// Compares the large context with the small one. Both fit into the processor's cache. If they did not, copying
/// alone would take 18 times as long for 16 times the text, or even longer if other programs use the cache.
fn growth(scale: &Scale, few: &AssemblerInput<'_>, many: &AssemblerInput<'_>) -> Figure {
    let claude = Assembler::claude();
    let pair =
        in_turns(scale.time, GROWTH_LIMIT, || claude.assemble(few), || claude.assemble(many));
    let [few, many] = [few, many].map(|input| grouped(input.context_messages.len()));
    Figure::ratio(format!("{many} messages against {few}"), &pair, GROWTH_LIMIT)
}

/// Compares with the minimum: copying the kept strings into an existing buffer that is large enough. Assembling
/// also has to allocate the prompt, select the messages, and write the text between them.
fn against_copying(scale: &Scale, input: &AssemblerInput<'_>) -> Figure {
    let claude = Assembler::claude();
    let plan = claude.plan(input);
    let kept = &input.context_messages[plan.dropped_context()..];
    let mut buffer = String::with_capacity(plan.prompt_bytes());
    let copy = || {
        buffer.clear();
        for message in kept {
            buffer.push_str(&message.from);
            buffer.push_str(message.to.as_deref().unwrap_or_default());
            buffer.push_str(&message.content);
        }
        buffer.push_str(&input.current_message);
        buffer.push_str(input.team_task.as_deref().unwrap_or_default());
        buffer.len()
    };
    let pair = in_turns(scale.time, COPY_LIMIT, copy, || claude.assemble(input));
    let messages = grouped(input.context_messages.len());
    let name = format!("{messages} messages against copying the kept strings");
    Figure::ratio(name, &pair, COPY_LIMIT)
}

fn written(input: &AssemblerInput<'_>) -> Result<Figure, Box<dyn Error>> {
    let claude = Assembler::claude();
    let plan = claude.plan(input);
    let mut sink = CountingSink { bytes: 0 };
    let (result, allocated) = counted(|| plan.write_to(&mut sink));
    result?;
    if sink.bytes != plan.prompt_bytes() {
        return Err(format!(
            "a prompt of {} bytes was written as {} bytes",
            plan.prompt_bytes(),
            sink.bytes
        )
        .into());
    }
    let total = allocated.total_bytes as f64;
    Ok(Figure::new("allocated while it is written", total, Unit::Bytes)
        .at_most(0.0)
        .of(format!("a prompt of {} B", grouped(sink.bytes))))
}

/// A writer that only counts the bytes.
struct CountingSink {
    bytes: usize,
}

impl io::Write for CountingSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
