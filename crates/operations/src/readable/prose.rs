//! Messages as HTML. The text is parsed as Markdown. Tags in it become text, links lead only to web pages and email
//! addresses, and pictures with an address become links.

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::clean::clean;

/// Maximum size of a text that is parsed as Markdown.
pub(super) const BYTES_MAX: usize = 512 * 1024;

/// The extensions of Markdown that agents use.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Writes a text that is Markdown.
pub(super) fn write(text: &str, into: &mut String) {
    let text = clean(text);
    if text.len() > BYTES_MAX {
        into.push_str("<pre tabindex=\"0\">");
        escape(&text, into);
        into.push_str("</pre>\n");
        return;
    }
    let mut writer =
        Writer { into, links: Vec::new(), alignments: Vec::new(), cell: 0, is_head: false };
    for event in Parser::new_ext(&text, options()) {
        writer.event(event);
    }
}

/// Writes a text so that no character of it is markup, in elements and in attributes. The remaining control
/// characters, such as those from Markdown escapes, become U+FFFD.
pub(super) fn escape(text: &str, into: &mut String) {
    let is_special = |c: char| {
        matches!(c, '<' | '>' | '&' | '"' | '\'') || c.is_control() && !matches!(c, '\t' | '\n')
    };
    let mut rest = text;
    while let Some((at, special)) = rest.char_indices().find(|(_, c)| is_special(*c)) {
        into.push_str(rest.get(..at).unwrap_or_default());
        into.push_str(match special {
            '<' => "&lt;",
            '>' => "&gt;",
            '&' => "&amp;",
            '"' => "&quot;",
            '\'' => "&#39;",
            _ => "\u{fffd}",
        });
        rest = rest.get(at + special.len_utf8()..).unwrap_or_default();
    }
    into.push_str(rest);
}

/// Returns a text with every special character escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut into = String::with_capacity(text.len());
    escape(text, &mut into);
    into
}

/// Returns whether a link leads to a web page or an email address.
fn is_safe(address: &str) -> bool {
    let lower: String = address.chars().take(8).flat_map(char::to_lowercase).collect();
    ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
}

struct Writer<'o> {
    into: &'o mut String,
    /// For every open link or picture: whether it is written as a link.
    links: Vec<bool>,
    alignments: Vec<Alignment>,
    cell: usize,
    is_head: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            // Tags are written as text.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => escape(&text, self.into),
            Event::Code(code) => {
                self.into.push_str("<code>");
                escape(&code, self.into);
                self.into.push_str("</code>");
            }
            Event::SoftBreak | Event::HardBreak => self.into.push_str("<br>\n"),
            Event::Rule => self.into.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.into.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let _ = write!(self.into, "<h{}>", heading(level as usize));
            }
            Tag::CodeBlock(kind) => self.code_block(&kind),
            Tag::List(Some(1)) => self.into.push_str("<ol>\n"),
            Tag::List(Some(start)) => {
                let _ = writeln!(self.into, "<ol start=\"{start}\">");
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.link(&dest_url, "picture: "),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.into.push_str("<div class=\"table\" tabindex=\"0\"><table>\n");
            }
            Tag::TableHead => {
                (self.is_head, self.cell) = (true, 0);
                self.into.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.into.push_str("<tr>");
            }
            Tag::TableCell => self.table_cell(),
            other => self.into.push_str(names(&other.to_end()).0),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let _ = writeln!(self.into, "</h{}>", heading(level as usize));
            }
            TagEnd::CodeBlock => self.into.push_str("</code></pre>\n"),
            TagEnd::Link | TagEnd::Image => {
                if self.links.pop() == Some(true) {
                    self.into.push_str("</a>");
                }
            }
            TagEnd::Table => self.into.push_str("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.into.push_str("</tr></thead>\n<tbody>\n");
            }
            TagEnd::TableRow => self.into.push_str("</tr>\n"),
            TagEnd::TableCell => {
                self.cell += 1;
                self.into.push_str(if self.is_head { "</th>" } else { "</td>" });
            }
            other => self.into.push_str(names(&other).1),
        }
    }

    fn code_block(&mut self, kind: &CodeBlockKind<'_>) {
        self.into.push_str("<pre tabindex=\"0\">");
        if let CodeBlockKind::Fenced(language) = kind {
            let word = language.split([' ', ',']).next().unwrap_or_default();
            if !word.is_empty() {
                self.into.push_str("<span class=\"language\">");
                escape(word, self.into);
                self.into.push_str("</span>");
            }
        }
        self.into.push_str("<code>");
    }

    /// Begins a link. A link inside a link becomes text, and so does a link that does not lead to a web page or an
    /// email address.
    fn link(&mut self, address: &CowStr<'_>, before: &str) {
        let is_link = is_safe(address) && !self.links.contains(&true);
        self.links.push(is_link);
        if is_link {
            self.into.push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
            escape(address, self.into);
            self.into.push_str("\">");
        }
        self.into.push_str(before);
    }

    fn table_cell(&mut self) {
        let name = if self.is_head { "th" } else { "td" };
        let class = match self.alignments.get(self.cell) {
            Some(Alignment::Center) => " class=\"center\"",
            Some(Alignment::Right) => " class=\"right\"",
            _ => "",
        };
        let _ = write!(self.into, "<{name}{class}>");
    }
}

/// Returns the level of a heading. Headings of a message are below those of the document.
fn heading(level: usize) -> usize {
    (level + 2).min(6)
}

/// Returns the tags of an element without attributes; empty for an unused element.
fn names(tag: &TagEnd) -> (&'static str, &'static str) {
    match tag {
        TagEnd::Paragraph => ("<p>", "</p>\n"),
        TagEnd::BlockQuote(_) => ("<blockquote>\n", "</blockquote>\n"),
        TagEnd::List(true) => ("<ol>\n", "</ol>\n"),
        TagEnd::List(false) => ("<ul>\n", "</ul>\n"),
        TagEnd::Item => ("<li>", "</li>\n"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        TagEnd::Strikethrough => ("<del>", "</del>"),
        TagEnd::HtmlBlock => ("<p>", "</p>\n"),
        _ => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut written = String::new();
        write(text, &mut written);
        assert_eq!(written.trim_end(), expected, "{text}");
    }

    #[test]
    fn markdown_is_html() {
        check("a *b* **c** `<d>`", "<p>a <em>b</em> <strong>c</strong> <code>&lt;d&gt;</code></p>");
        check("# a", "<h3>a</h3>");
        check("- [x] a\n- b", "<ul>\n<li>☑ a</li>\n<li>b</li>\n</ul>");
        check(
            "```rust\na < b\n```",
            "<pre tabindex=\"0\"><span class=\"language\">rust</span><code>a &lt; b\n</code></pre>",
        );
        check(
            "|a|b|\n|-|-:|\n|1|2|",
            "<div class=\"table\" tabindex=\"0\"><table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr>\
             </thead>\n<tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody></table></div>",
        );
    }

    #[test]
    fn tags_are_text() {
        check("a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>");
        check("<script>\nx\n</script>", "<p>&lt;script&gt;\nx\n&lt;/script&gt;</p>");
    }

    #[test]
    fn links_lead_only_to_pages_and_addresses() {
        let link = r#"<a rel="noopener noreferrer nofollow" href="#;
        check("[a](https://b/?c&d)", &format!("<p>{link}\"https://b/?c&amp;d\">a</a></p>"));
        for address in
            ["javascript:alert(1)", "data:text/html,x", "//b", "file:///etc", "vbscript:x"]
        {
            check(&format!("[a](<{address}>)"), "<p>a</p>");
        }
        check("![a](https://b/c.png)", &format!("<p>{link}\"https://b/c.png\">picture: a</a></p>"));
    }
}
