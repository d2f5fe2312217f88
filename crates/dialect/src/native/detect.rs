//! Recognises the format of a file by its content.

use tertulia_session::json::{self, Object};

use super::{NativeFormat, aider, claude, cline, codex, copilot, gemini, goose, opencode, pi};

/// Returns the format of a file with this beginning. `None` if no agent writes such files. A few lines, or the first
/// 64 KiB of a document, are sufficient.
pub fn detect(beginning: &[u8]) -> Option<NativeFormat> {
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(beginning.get(..error.valid_up_to())?).ok()?,
    };
    let text = text.trim_start_matches('\u{feff}');
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(20) {
        let Ok(raw) = json::parse(line) else { continue };
        let Ok(object) = Object::try_from(raw) else { continue };
        let found = NativeFormat::ALL.into_iter().find(|format| is_line(*format, &object));
        if found.is_some() {
            return found;
        }
    }
    NativeFormat::ALL.into_iter().find(|format| is_document(*format, text))
}

/// Returns whether a line is a record of this format.
fn is_line(format: NativeFormat, object: &Object<'_>) -> bool {
    match format {
        NativeFormat::Claude => claude::is_record(object),
        NativeFormat::Codex => codex::is_record(object),
        NativeFormat::Gemini => gemini::is_record(object),
        NativeFormat::Opencode => opencode::is_record(object),
        NativeFormat::Copilot => copilot::is_record(object),
        NativeFormat::Pi => pi::is_record(object),
        NativeFormat::Goose => goose::is_record(object),
        NativeFormat::Cline | NativeFormat::Aider => false,
    }
}

/// Returns whether a text begins like a document of this format. The text may be cut at any position.
fn is_document(format: NativeFormat, text: &str) -> bool {
    match format {
        NativeFormat::Gemini => gemini::is_document(text),
        NativeFormat::Opencode => opencode::is_document(text),
        NativeFormat::Goose => goose::is_document(text),
        NativeFormat::Cline => cline::is_document(text),
        NativeFormat::Aider => aider::is_document(text),
        NativeFormat::Claude | NativeFormat::Codex | NativeFormat::Copilot | NativeFormat::Pi => {
            false
        }
    }
}
