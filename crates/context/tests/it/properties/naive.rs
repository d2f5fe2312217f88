//! A slow and simple implementation of the contract to compare with: it strips character by character, and assembles
//! by trying one thing after the other. Calls no code of the crate.

use tertulia_context::{AssemblerInput, ContextMessage, PromptStatus};

/// The characters of JavaScript's `\s`.
const WHITESPACE: [char; 25] = [
    '\u{9}', '\u{a}', '\u{b}', '\u{c}', '\u{d}', '\u{20}', '\u{a0}', '\u{1680}', '\u{2000}',
    '\u{2001}', '\u{2002}', '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}',
    '\u{2009}', '\u{200a}', '\u{2028}', '\u{2029}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{feff}',
];

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(&WHITESPACE[..])
}

/// Returns whether a text contains a marker of any kind, closed or as the label of a block.
pub(crate) fn holds_marker(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    (0..chars.len()).any(|at| {
        from_at(&chars, at).is_some()
            || task_at(&chars, at).is_some()
            || block_at(&chars, at).is_some()
            || next_at(&chars, at).is_some()
            || body_at(&chars, at, "[DROP:", 0).is_some()
    })
}

/// Strips markers by the compact rule.
pub(crate) fn strip_compact(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let chars = without(&chars, from_at);
    let chars = without(&chars, task_at);
    let chars = without(&chars, block_at);
    let chars = without(&chars, next_at);
    fold(&String::from_iter(chars))
}

/// Returns the characters without the parts that `find` finds. For a position, `find` returns the end of the part
/// that begins there.
fn without(chars: &[char], find: impl Fn(&[char], usize) -> Option<usize>) -> Vec<char> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if let Some(end) = find(chars, at) {
            at = end;
        } else {
            kept.push(chars[at]);
            at += 1;
        }
    }
    kept
}

fn from_at(chars: &[char], at: usize) -> Option<usize> {
    body_at(chars, at, "[FROM:", 1)
}

fn task_at(chars: &[char], at: usize) -> Option<usize> {
    body_at(chars, at, "[TEAM_TASK:", 0)
}

fn next_at(chars: &[char], at: usize) -> Option<usize> {
    body_at(chars, at, "[NEXT:", 0)
}

/// Returns the end of a block, which consists of its label and everything before the next opening bracket.
fn block_at(chars: &[char], at: usize) -> Option<usize> {
    let mut end = opening_at(chars, at, "[TEAM_TASK]")?;
    while end < chars.len() && chars[end] != '[' {
        end += 1;
    }
    Some(end)
}

/// Returns the end of a marker with a body of at least this many characters.
fn body_at(chars: &[char], at: usize, opening: &str, least: usize) -> Option<usize> {
    let start = opening_at(chars, at, opening)?;
    let mut end = start;
    while end < chars.len() && chars[end] != ']' {
        end += 1;
    }
    (end < chars.len() && end - start >= least).then_some(end + 1)
}

fn opening_at(chars: &[char], at: usize, opening: &str) -> Option<usize> {
    let mut place = at;
    for expected in opening.chars() {
        if chars.get(place)?.to_ascii_uppercase() != expected {
            return None;
        }
        place += 1;
    }
    Some(place)
}

fn fold(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let chars: Vec<char> = line.chars().collect();
        let mut folded = String::new();
        let mut at = 0;
        while at < chars.len() {
            let mut end = at;
            while end < chars.len() && WHITESPACE.contains(&chars[end]) {
                end += 1;
            }
            if end - at >= 2 {
                folded.push(' ');
                at = end;
            } else {
                folded.push(chars[at]);
                at += 1;
            }
        }
        lines.push(trim(&folded).to_owned());
    }
    lines.retain(|line| !line.is_empty());
    trim(&lines.join("\n")).to_owned()
}

/// A format, defined independently.
pub(crate) struct Format {
    pub(crate) system_is_flag: bool,
    pub(crate) headers: [&'static str; 4],
    pub(crate) line: fn(&ContextMessage<'_>) -> String,
}

/// The expected result.
#[derive(Debug, PartialEq)]
pub(crate) struct Assembled {
    pub(crate) prompt: String,
    pub(crate) flag: Option<String>,
    pub(crate) kept: usize,
    pub(crate) status: PromptStatus,
}

pub(crate) fn format_of(agent_type: &str, message_header: &'static str) -> Format {
    let arrow = |message: &ContextMessage<'_>| {
        let to = message.to.as_deref().unwrap_or("all");
        format!("- {} -> {to}: {}", message.from, message.content)
    };
    let dash = |message: &ContextMessage<'_>| format!("- {}: {}", message.from, message.content);
    let bare = |message: &ContextMessage<'_>| format!("{}: {}", message.from, message.content);
    let brackets = ["[SYSTEM]\n", "[TEAM_TASK]\n", "[CONTEXT]\n", "[MESSAGE]\n"];
    let words = ["Instructions:\n", "Team Task:\n", "Conversation so far:\n", message_header];
    match agent_type {
        "claude-code" => Format { system_is_flag: true, headers: brackets, line: arrow },
        "openai-codex" => Format { system_is_flag: false, headers: brackets, line: arrow },
        "google-gemini" => Format { system_is_flag: false, headers: words, line: dash },
        _ => Format { system_is_flag: false, headers: [""; 4], line: bare },
    }
}

impl Format {
    /// Tries everything in the order of the contract until something fits.
    pub(crate) fn assemble(&self, input: &AssemblerInput<'_>) -> Assembled {
        let message = trim(&input.current_message);
        let count = input.context_messages.len();
        for kept in (0..=count).rev() {
            let status =
                if kept == count { PromptStatus::Fits } else { PromptStatus::ContextTrimmed };
            let tried = self.render(input, kept, message, status);
            if fits(&tried, input) {
                return tried;
            }
        }
        for end in (1..message.len()).rev().filter(|end| message.is_char_boundary(*end)) {
            let tried = self.render(input, 0, &message[..end], PromptStatus::MessageTruncated);
            if fits(&tried, input) {
                return tried;
            }
        }
        let dropped = self.render(input, 0, "", PromptStatus::MessageDropped);
        if fits(&dropped, input) {
            return dropped;
        }
        Assembled { status: PromptStatus::OverBudget, ..dropped }
    }

    fn render(
        &self,
        input: &AssemblerInput<'_>,
        kept: usize,
        message: &str,
        status: PromptStatus,
    ) -> Assembled {
        let text = |text: &Option<std::borrow::Cow<'_, str>>| {
            trim(text.as_deref().unwrap_or("")).to_owned()
        };
        let mut system = vec![text(&input.system_instruction), text(&input.instruction_file_text)];
        system.retain(|text| !text.is_empty());
        let system = system.join("\n\n");
        let lines = &input.context_messages[input.context_messages.len() - kept..];
        let lines: Vec<String> = lines.iter().map(self.line).collect();
        let inline = if self.system_is_flag { String::new() } else { system.clone() };
        let bodies = [inline, text(&input.team_task), lines.join("\n"), message.to_owned()];
        let sections: Vec<String> = self
            .headers
            .iter()
            .zip(bodies)
            .filter(|(_, body)| !body.is_empty())
            .map(|(header, body)| format!("{header}{body}"))
            .collect();
        let flag = (self.system_is_flag && !system.is_empty()).then_some(system);
        Assembled { prompt: sections.join("\n\n"), flag, kept, status }
    }
}

fn fits(tried: &Assembled, input: &AssemblerInput<'_>) -> bool {
    let flag = tried.flag.as_deref().map_or(0, str::len);
    (tried.prompt.len() + flag) as u64 <= input.max_bytes
}
