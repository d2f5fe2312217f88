//! Draws lines of a terminal as SVG. Every paragraph appears a moment after the previous one. Without animation, or
//! if the reader prefers no motion, all are visible at once.

use std::fmt::Write as _;

const CELL: f32 = 8.0;
const LINE: f32 = 19.0;
const MARGIN: f32 = 16.0;
/// Seconds between two paragraphs.
const PAUSE: f32 = 1.2;

#[derive(Clone, Copy)]
pub(super) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the colours of background, border, text and prompt.
    fn colours(self) -> [&'static str; 4] {
        match self {
            Self::Light => ["#ffffff", "#d0d7de", "#1f2328", "#1a7f37"],
            Self::Dark => ["#0d1117", "#30363d", "#e6edf3", "#3fb950"],
        }
    }
}

/// Neighbouring cells with the same look.
struct Run {
    column: usize,
    text: String,
    is_bold: bool,
}

/// One line of the screen.
pub(super) struct Line(Vec<Run>);

impl Line {
    pub(super) fn read(emulator: &vt100::Parser, row: usize) -> Self {
        let (_, columns) = emulator.screen().size();
        let row = u16::try_from(row).unwrap();
        let mut runs: Vec<Run> = Vec::new();
        for column in 0..columns.get() {
            let cell = emulator.screen().cell(row, column).unwrap();
            if cell.is_wide_continuation() {
                continue;
            }
            let text = if cell.has_contents() { cell.contents() } else { " " };
            match runs.last_mut().filter(|run| run.is_bold == cell.bold()) {
                Some(run) => run.text.push_str(text),
                None => {
                    let is_bold = cell.bold();
                    runs.push(Run { column: column.into(), text: text.to_owned(), is_bold });
                }
            }
        }
        runs.retain(|run| !run.text.trim().is_empty());
        for run in &mut runs {
            run.column += run.text.len() - run.text.trim_start().len();
            run.text = run.text.trim().to_owned();
        }
        Self(runs)
    }
}

/// Returns the whole picture: the command after a prompt, then its lines.
pub(super) fn draw(command: &str, lines: &[Line], columns: u16, theme: Theme) -> String {
    let width = f32::from(columns) * CELL + 2.0 * MARGIN;
    let last = lines.iter().rposition(|line| !line.0.is_empty()).map_or(0, |last| last + 1);
    let lines = &lines[..last];
    let rows = u16::try_from(lines.len() + 2).unwrap();
    let height = f32::from(rows) * LINE + 2.0 * MARGIN;
    let [background, border, text, prompt] = theme.colours();
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{command} in a terminal">
<style>
text {{ font: 13.3px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: {text}; white-space: pre }}
.bold {{ font-weight: bold }}
.prompt {{ fill: {prompt} }}
g {{ animation: appear 0.3s both }}
@keyframes appear {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
@media (prefers-reduced-motion: reduce) {{ g {{ animation: none }} }}
</style>
<rect x="0.5" y="0.5" width="{}" height="{}" rx="8" fill="{background}" stroke="{border}"/>
"#,
        width - 1.0,
        height - 1.0
    );
    let first = MARGIN + LINE * 0.75;
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{first}\"><tspan class=\"prompt\">$</tspan> <tspan class=\"bold\">{command}</tspan></text>"
    );
    let mut paragraphs = 0_u8;
    let mut is_open = false;
    for (row, line) in (2_u16..).zip(lines) {
        if line.0.is_empty() {
            svg.push_str(if is_open { "</g>\n" } else { "" });
            is_open = false;
            continue;
        }
        if !is_open {
            paragraphs += 1;
            let delay = f32::from(paragraphs) * PAUSE;
            let _ = writeln!(svg, "<g style=\"animation-delay: {delay:.1}s\">");
            is_open = true;
        }
        draw_line(&mut svg, line, first + f32::from(row) * LINE);
    }
    svg.push_str(if is_open { "</g>\n</svg>\n" } else { "</svg>\n" });
    svg
}

fn draw_line(svg: &mut String, line: &Line, y: f32) {
    for run in &line.0 {
        let x = MARGIN + f32::from(u16::try_from(run.column).unwrap()) * CELL;
        let class = if run.is_bold { " class=\"bold\"" } else { "" };
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", escape(&run.text));
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
