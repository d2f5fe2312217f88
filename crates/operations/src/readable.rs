//! Sessions as documents for people: Markdown for a pull request, and one HTML file. `sessions export` passes the
//! entries of a branch one by one, so a long session needs no more memory than its largest entry. Pure: times are
//! passed as texts.
//!
//! No message can become markup of the document: in Markdown it stays below its heading, and in HTML it is text.

mod blocks;
mod call;
mod clean;
mod html;
mod markdown;
mod prose;
mod survey;
#[cfg(test)]
mod tests;

use tertulia_session::Entry;

use blocks::{Block, Blocks};

pub use survey::Survey;

/// The language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Markdown,
    Html,
}

/// The data of the session in a document.
#[derive(Clone, Debug)]
pub struct About<'a> {
    pub title: &'a str,
    pub session: &'a str,
    /// The time when the session was created, and the time of its last message.
    pub created: String,
    pub ended: Option<String>,
    pub survey: Survey,
    /// Whether long outputs are written in full.
    pub is_full: bool,
}

/// A time, for people and for programs.
#[derive(Clone, Copy, Debug)]
pub struct When<'a> {
    pub local: &'a str,
    pub iso: &'a str,
}

/// Writes a session as a document, entry by entry.
#[derive(Debug)]
pub struct Document<'a> {
    about: About<'a>,
    language: Language,
    blocks: Blocks,
    page: html::Page,
}

impl<'a> Document<'a> {
    /// Creates the writer of a document.
    pub fn new(language: Language, about: About<'a>) -> Self {
        Self { about, language, blocks: Blocks::default(), page: html::Page::default() }
    }

    /// Returns the start of the document.
    pub fn begin(&mut self) -> String {
        match self.language {
            Language::Markdown => markdown::begin(&self.about),
            Language::Html => self.page.begin(&self.about),
        }
    }

    /// Returns the text for an entry of the branch. Empty if the entry contains nothing to read.
    pub fn entry(&mut self, entry: &Entry, when: When<'_>) -> String {
        let mut blocks = std::mem::take(&mut self.blocks);
        let mut text = String::new();
        blocks.entry(entry, when, &mut |block| self.write(&block, &mut text));
        self.blocks = blocks;
        text
    }

    /// Returns the end of the document.
    pub fn end(&mut self) -> String {
        let mut blocks = std::mem::take(&mut self.blocks);
        let mut text = String::new();
        blocks.end(&mut |block| self.write(&block, &mut text));
        if self.language == Language::Html {
            self.page.end(&mut text);
        }
        text
    }

    fn write(&mut self, block: &Block<'_>, text: &mut String) {
        match self.language {
            Language::Markdown => markdown::write(&self.about, block, text),
            Language::Html => self.page.write(&self.about, block, text),
        }
    }
}

/// Returns the number of messages and calls, and the cost.
fn counts(survey: &Survey) -> String {
    let counted = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let mut counts = counted(survey.messages, "message", "messages");
    if survey.calls > 0 {
        counts.push_str(&format!(", {}", counted(survey.calls, "tool call", "tool calls")));
    }
    if survey.cost > 0.0 {
        counts.push_str(&format!(", ${:.2}", survey.cost));
    }
    counts
}
