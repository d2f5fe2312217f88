//! Splits files into records: lines, or the pieces of a document that is read as a whole.

use std::ops::Range;

use super::{NativeFormat, ReadSession, aider, cline, gemini, goose, opencode};

/// The way in which a file is split into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Every line is a record, so the file is read line by line.
    Lines,
    /// The file is read as a whole by [`super::NativeReader::read_document`].
    Document,
}

/// Returns the layout of a file of this format with this beginning.
pub fn layout(format: NativeFormat, beginning: &[u8]) -> Layout {
    let text = String::from_utf8_lossy(beginning);
    let is_document = match format {
        NativeFormat::Gemini => gemini::is_document(&text),
        NativeFormat::Opencode => opencode::is_document(&text),
        NativeFormat::Goose => goose::is_document(&text),
        NativeFormat::Cline | NativeFormat::Aider => true,
        NativeFormat::Claude | NativeFormat::Codex | NativeFormat::Copilot | NativeFormat::Pi => {
            false
        }
    };
    if is_document { Layout::Document } else { Layout::Lines }
}

/// A piece of a document. All pieces in order form the document, byte for byte, except empty lines at the end of a
/// history of aider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub range: Range<usize>,
    /// The range of its record in the document. `None` for a piece without a record, such as the end of a list.
    pub value: Option<Range<usize>>,
}

impl Piece {
    /// Creates a piece without a record.
    pub(super) fn without_record(range: Range<usize>) -> Self {
        Self { range, value: None }
    }

    /// Creates a piece that contains a record.
    pub(super) fn record(range: Range<usize>, value: Range<usize>) -> Self {
        Self { range, value: Some(value) }
    }
}

/// Splits a document of this format, and reads the data of the session.
pub(super) fn pieces(format: NativeFormat, text: &str, facts: &mut ReadSession) -> Vec<Piece> {
    match format {
        NativeFormat::Gemini => gemini::split(text, facts),
        NativeFormat::Opencode => opencode::split(text, facts),
        NativeFormat::Goose => goose::split(text, facts),
        NativeFormat::Cline => cline::split(text, facts),
        NativeFormat::Aider => aider::split(text),
        NativeFormat::Claude | NativeFormat::Codex | NativeFormat::Copilot | NativeFormat::Pi => {
            vec![Piece::without_record(0..text.len())]
        }
    }
}

/// Returns the position of the last record of a document, if its agent may still be writing that record. The records
/// before it stay the same when the document grows. `None` for documents that are written in one step.
pub fn unfinished(format: NativeFormat, bytes: &[u8]) -> Option<usize> {
    if format != NativeFormat::Aider {
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The text ends within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let found = aider::unfinished(text);
    found.or((text.len() < bytes.len()).then_some(text.len()))
}
