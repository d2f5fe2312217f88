//! Escaped formats: no content can forge a section, a message or a name.

mod examples;
mod forged;
mod hostile;
mod parser;

use tertulia_context::Assembler;

/// Returns the formats of team sessions.
fn formats() -> [Assembler; 4] {
    let formats =
        [Assembler::claude(), Assembler::codex(), Assembler::gemini(), Assembler::labelled_text()];
    formats.map(Assembler::escaped)
}
