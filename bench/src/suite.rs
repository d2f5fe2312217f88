//! The list of all themes, in order.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use crate::arguments::{Form, Scale};
use crate::report::{Theme, all_hold, json_lines, table};
use crate::{assemble, build, memory, recall, rendering, strip, tokens, window};

/// Measures everything, writes the report and returns whether all limits hold.
pub(crate) fn run(
    scale: &Scale,
    form: Form,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let themes = measure(scale)?;
    let text = match form {
        Form::Table => table(&themes),
        Form::JsonLines => json_lines(&themes),
    };
    writer.write_all(text.as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(scale: &Scale) -> Result<Vec<Theme>, Box<dyn Error>> {
    // Must count a text before any other code does.
    let first_text = tokens::measure_first();
    // Memory is measured before the rest, as long as the heap is small and not fragmented.
    eprintln!("measuring memory …");
    let memory = memory::measure(scale)?;
    eprintln!("measuring windows …");
    let window = window::measure(scale)?;
    eprintln!("measuring prompts …");
    let assemble = assemble::measure(scale)?;
    eprintln!("measuring markers …");
    let price = strip::measure_price(scale);
    let growth = strip::measure_growth(scale);
    eprintln!("measuring builds …");
    let building = build::measure(scale)?;
    let rendering = rendering::measure()?;
    let summaries = build::measure_summary(scale);
    eprintln!("measuring recall …");
    let recalling = recall::measure(scale);
    eprintln!("measuring tokens …");
    let counting = tokens::measure_price(scale);
    let counting_growth = tokens::measure_growth(scale);
    let counting_alone = tokens::measure_against_bpe_openai(scale);
    Ok(vec![
        memory,
        window,
        assemble,
        price,
        growth,
        building,
        rendering,
        summaries,
        recalling,
        first_text,
        counting,
        counting_growth,
        counting_alone,
    ])
}
