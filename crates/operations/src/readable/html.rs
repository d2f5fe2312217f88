//! A session as one HTML file that needs no other file and no network. Its policy allows only the style and the
//! script of this page. So even if a mistake in this code let a message become markup, its scripts could not run.
//! Everything except the search works without scripts.

use std::fmt::Write as _;

use tertulia_session::{Image, ImageSource};

use super::blocks::{Block, Heading, Outcome, Tool};
use super::call::{Snippet, SnippetKind};
use super::clean::{clean, one_line, shorten};
use super::prose::{escape, escaped};
use super::{About, counts, prose};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The hashes of the style and the script. A test compares them.
const STYLE_HASH: &str = "sha256-E0vdGBYfmfqhx3AXnrGdtX085tRK9YA4JKyAd9/veD8=";
const SCRIPT_HASH: &str = "sha256-cm8Mq1+7pIRuBqzTxPFH7zStCZMhe5GoujTvkNam1lQ=";
/// The number of colours in the style.
const COLOURS: usize = 8;
/// Maximum size of a picture. Larger pictures are left out, unless long outputs are written in full.
const PICTURE_BYTES_MAX: usize = 512 * 1024;

/// The state of the page while it is written.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Whether an article is open.
    is_open: bool,
    articles: usize,
}

impl Page {
    /// Returns the head of the page, the title, and the data of the session.
    pub(super) fn begin(&mut self, about: &About<'_>) -> String {
        let title = escaped(&one_line(about.title));
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{STYLE_HASH}'; \
             script-src '{SCRIPT_HASH}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#talk\">Skip to the conversation</a>\n<header>\n<h1><bdi>{title}</bdi></h1>\n"
        );
        let survey = &about.survey;
        let _ = write!(page, "<p>Session <code>{}</code> · ", escaped(about.session));
        page.push_str(&escaped(&about.created));
        if let Some(ended) = &about.ended {
            let _ = write!(page, " – {}", escaped(ended));
        }
        let _ = writeln!(page, " · {}</p>", escaped(&counts(survey)));
        if !survey.speakers.is_empty() {
            page.push_str("<ul class=\"members\" aria-label=\"Members\">");
            for (number, name) in survey.speakers.iter().enumerate() {
                let name = escaped(&one_line(name));
                let _ = write!(page, "<li class=\"c{}\"><bdi>{name}</bdi></li>", number % COLOURS);
            }
            page.push_str("</ul>\n");
        }
        if !survey.models.is_empty() {
            let models: Vec<String> =
                survey.models.iter().map(|model| escaped(&one_line(model))).collect();
            let _ = writeln!(page, "<p>Models: {}</p>", models.join(", "));
        }
        page.push_str(
            "</header>\n<div id=\"tools\" role=\"search\" hidden>\n\
             <label for=\"query\">Search</label>\n\
             <input id=\"query\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"Search  /\">\n\
             <output id=\"count\" for=\"query\" aria-live=\"polite\"></output>\n\
             <button id=\"open\" type=\"button\" aria-pressed=\"false\">Open all</button>\n</div>\n\
             <main id=\"talk\" tabindex=\"-1\">\n",
        );
        page
    }

    /// Writes the end of the page.
    pub(super) fn end(&mut self, into: &mut String) {
        self.close(into);
        into.push_str("</main>\n<p id=\"nothing\" hidden>Nothing found.</p>\n<script>");
        into.push_str(SCRIPT);
        into.push_str("</script>\n</body>\n</html>\n");
    }

    /// Writes a block.
    pub(super) fn write(&mut self, about: &About<'_>, block: &Block<'_>, into: &mut String) {
        match block {
            Block::Heading(heading) => self.heading(about, heading, into),
            Block::Prose(text) => {
                into.push_str("<div class=\"prose\" dir=\"auto\">\n");
                prose::write(text, into);
                into.push_str("</div>\n");
            }
            Block::Thinking(text) => details("thinking", "Thinking", text, into),
            Block::Summary(text) => {
                self.close(into);
                into.push_str("<article class=\"aside\">\n");
                details("summary", "Summary of earlier messages", text, into);
                into.push_str("</article>\n");
            }
            Block::Tool(tool) => write_tool(tool, about.is_full, into),
            Block::Picture(image) => write_picture(image, about.is_full, into),
            Block::Note(note) | Block::SessionNote(note) => {
                if matches!(block, Block::SessionNote(_)) {
                    self.close(into);
                }
                let _ = writeln!(into, "<p class=\"note\" dir=\"auto\">{}</p>", escaped(note));
            }
        }
    }

    fn heading(&mut self, about: &About<'_>, heading: &Heading<'_>, into: &mut String) {
        self.close(into);
        self.is_open = true;
        self.articles += 1;
        let (number, colour) = (self.articles, about.survey.number(heading.name) % COLOURS);
        let name = escaped(&one_line(heading.name));
        let cut = if heading.is_partial { " <em>cut off</em>" } else { "" };
        let (iso, local) = (escaped(heading.when.iso), escaped(heading.when.local));
        let id = escaped(&one_line(&heading.id));
        let _ = writeln!(
            into,
            "<article class=\"c{colour}\" id=\"m{number}\" aria-labelledby=\"n{number}\">\n\
             <h2 id=\"n{number}\"><bdi>{name}</bdi>{cut} \
             <a href=\"#m{number}\" title=\"{id}\"><time datetime=\"{iso}\">{local}</time></a></h2>"
        );
    }

    fn close(&mut self, into: &mut String) {
        if std::mem::take(&mut self.is_open) {
            into.push_str("</article>\n");
        }
    }
}

fn details(class: &str, title: &str, text: &str, into: &mut String) {
    let _ = write!(
        into,
        "<details class=\"{class}\"><summary>{title}</summary>\n<div class=\"prose\" dir=\"auto\">\n"
    );
    prose::write(text, into);
    into.push_str("</div>\n</details>\n");
}

fn write_tool(tool: &Tool, is_full: bool, into: &mut String) {
    let is_error = tool.outcome.as_ref().is_some_and(|outcome| outcome.is_error);
    let class = if is_error { "tool failed" } else { "tool" };
    let (name, title) = match &tool.call {
        Some(call) => (call.name.as_str(), call.title.as_str()),
        None => ("result", ""),
    };
    let _ = write!(into, "<details class=\"{class}\"><summary><b><bdi>{}</bdi></b>", escaped(name));
    if !title.is_empty() {
        let _ = write!(into, " <code><bdi>{}</bdi></code>", escaped(title));
    }
    if is_error {
        into.push_str(" <em>failed</em>");
    }
    into.push_str("</summary>\n");
    for snippet in tool.call.iter().flat_map(|call| &call.input) {
        write_snippet(snippet, is_full, into);
    }
    match &tool.outcome {
        Some(outcome) => write_outcome(outcome, is_full, into),
        None => into.push_str("<p class=\"label\">No result.</p>\n"),
    }
    into.push_str("</details>\n");
}

fn write_outcome(outcome: &Outcome, is_full: bool, into: &mut String) {
    let label = match (&outcome.output, outcome.is_error) {
        (None, _) if outcome.pictures.is_empty() => "Empty result",
        (_, true) => "Error",
        (_, false) => "Result",
    };
    let _ = writeln!(into, "<p class=\"label\">{label}</p>");
    if let Some(output) = &outcome.output {
        write_snippet(output, is_full, into);
    }
    for picture in &outcome.pictures {
        write_picture(picture, is_full, into);
    }
}

fn write_snippet(snippet: &Snippet, is_full: bool, into: &mut String) {
    let shown = shorten(&snippet.text, is_full);
    write_pre(snippet.kind, shown.head, into);
    if let Some(rest) = shown.rest {
        let _ = writeln!(into, "<p class=\"left-out\">{}</p>", escaped(&rest.note()));
        write_pre(snippet.kind, rest.tail, into);
    }
}

fn write_pre(kind: SnippetKind, text: &str, into: &mut String) {
    let class = match kind {
        SnippetKind::Text => "text",
        SnippetKind::Command => "command",
        SnippetKind::Diff => "diff",
        SnippetKind::Json => "json",
    };
    let _ = write!(into, "<pre class=\"{class}\" tabindex=\"0\"><code>");
    if kind != SnippetKind::Diff {
        escape(text, into);
    } else {
        for line in text.lines() {
            let class = match line.as_bytes() {
                [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => "file",
                [b'+', ..] => "add",
                [b'-', ..] => "del",
                [b'@', b'@', ..] | [b'*', b'*', b'*', b' ', ..] => "at",
                _ => "",
            };
            if class.is_empty() {
                escape(line, into);
                into.push('\n');
            } else {
                let _ = writeln!(into, "<span class=\"{class}\">{}</span>", escaped(line));
            }
        }
    }
    into.push_str("</code></pre>\n");
}

/// Writes a picture with its data. A picture with only an address is not shown, because the page loads nothing.
fn write_picture(image: &Image, is_full: bool, into: &mut String) {
    const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let mime_type = &*image.mime_type;
    let is_base64 = |data: &str| {
        data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    };
    let reason = match &image.source {
        ImageSource::Data(data) if !TYPES.contains(&mime_type) || !is_base64(data) => mime_type,
        ImageSource::Data(data) if data.len() > PICTURE_BYTES_MAX && !is_full => {
            "large; --full writes everything"
        }
        ImageSource::Data(data) => {
            let _ = writeln!(
                into,
                "<p><img alt=\"picture\" loading=\"lazy\" src=\"data:{mime_type};base64,{data}\"></p>"
            );
            return;
        }
        ImageSource::Url(url) => url,
    };
    let reason = escaped(&one_line(&clean(reason)));
    let _ = writeln!(into, "<p class=\"note\">[picture: {reason}]</p>");
}
