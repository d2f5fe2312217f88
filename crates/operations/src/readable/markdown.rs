//! A session as Markdown for a pull request. Tool calls are collapsed.

mod contain;

use std::fmt::Write as _;

use super::About;
use super::blocks::{Block, Heading, Outcome, Tool};
use super::call::{Snippet, SnippetKind};
use super::clean::{clean, one_line, shorten};
use super::prose::escaped;
use contain::{contained, plain};

/// Returns the title and the data of the session.
pub(super) fn begin(about: &About<'_>) -> String {
    let survey = &about.survey;
    let mut text = format!("# {}\n\n", plain(&one_line(about.title)));
    let _ = write!(text, "Session `{}`, created {}", code(about.session), about.created);
    if let Some(ended) = &about.ended {
        let _ = write!(text, ", last message {ended}");
    }
    text.push_str(".\n");
    if !survey.speakers.is_empty() {
        let names: Vec<String> =
            survey.speakers.iter().map(|name| plain(&one_line(name))).collect();
        let _ = write!(text, "\nMembers: {}.", names.join(", "));
    }
    if !survey.models.is_empty() {
        let names: Vec<String> =
            survey.models.iter().map(|name| format!("`{}`", code(&one_line(name)))).collect();
        let _ = write!(text, " Models: {}.", names.join(", "));
    }
    let _ = writeln!(text, " {}.", super::counts(survey));
    text
}

/// Writes a block, with an empty line before it.
pub(super) fn write(about: &About<'_>, block: &Block<'_>, into: &mut String) {
    into.push('\n');
    match block {
        Block::Heading(heading) => write_heading(heading, into),
        Block::Prose(text) => into.push_str(&contained(&clean(text))),
        Block::Thinking(text) => details("Thinking", &contained(&clean(text)), into),
        Block::Summary(text) => {
            details("Summary of earlier messages", &contained(&clean(text)), into);
        }
        Block::Tool(tool) => write_tool(tool, about.is_full, into),
        Block::Picture(image) => {
            let _ = writeln!(into, "*[picture {}]*", plain(&one_line(&image.mime_type)));
        }
        Block::Note(note) | Block::SessionNote(note) => {
            let _ = writeln!(into, "*{}*", plain(note));
        }
    }
}

fn write_heading(heading: &Heading<'_>, into: &mut String) {
    let cut = if heading.is_partial { " (cut off)" } else { "" };
    let name = plain(&one_line(heading.name));
    let id = plain(&one_line(&heading.id));
    let _ = writeln!(into, "## {name}{cut}\n\n<sub>{} · {id}</sub>", heading.when.local);
}

fn write_tool(tool: &Tool, is_full: bool, into: &mut String) {
    let is_error = tool.outcome.as_ref().is_some_and(|outcome| outcome.is_error);
    let mark = if is_error { " ✗" } else { "" };
    let (name, title) = match &tool.call {
        Some(call) => (call.name.as_str(), call.title.as_str()),
        None => ("result", ""),
    };
    let mut summary = format!("<b>{}</b>", escaped(name));
    if !title.is_empty() {
        let _ = write!(summary, " <code>{}</code>", escaped(title));
    }
    summary.push_str(mark);
    let mut body = String::new();
    for snippet in tool.call.iter().flat_map(|call| &call.input) {
        write_snippet(snippet, is_full, &mut body);
    }
    match &tool.outcome {
        Some(outcome) => write_outcome(outcome, is_full, &mut body),
        None => body.push_str("*No result.*\n"),
    }
    details(&summary, &body, into);
}

fn write_outcome(outcome: &Outcome, is_full: bool, into: &mut String) {
    if !into.is_empty() {
        into.push('\n');
    }
    into.push_str(if outcome.is_error { "Failed:\n\n" } else { "Result:\n\n" });
    match &outcome.output {
        Some(output) => write_snippet(output, is_full, into),
        None if outcome.pictures.is_empty() => into.push_str("*empty*\n"),
        None => {}
    }
    for picture in &outcome.pictures {
        let _ = writeln!(into, "\n*[picture {}]*", plain(&one_line(&picture.mime_type)));
    }
}

fn write_snippet(snippet: &Snippet, is_full: bool, into: &mut String) {
    let language = match snippet.kind {
        SnippetKind::Text => "text",
        SnippetKind::Command => "sh",
        SnippetKind::Diff => "diff",
        SnippetKind::Json => "json",
    };
    if !into.is_empty() && !into.ends_with("\n\n") {
        into.push('\n');
    }
    let shown = shorten(&snippet.text, is_full);
    contain::fenced(language, shown.head, into);
    if let Some(rest) = shown.rest {
        let _ = write!(into, "\n*{}*\n\n", plain(&rest.note()));
        contain::fenced(language, rest.tail, into);
    }
}

/// Writes a collapsed block. `summary` is HTML in one line.
fn details(summary: &str, body: &str, into: &mut String) {
    let _ = write!(into, "<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n");
}

/// Returns a text that can be put between two backticks.
fn code(text: &str) -> String {
    text.replace('`', "'")
}
