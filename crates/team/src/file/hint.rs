//! "Did you mean …?" for fields and words of a team file, and how a value is quoted in an error. Pure
//! text.

use crate::names::{fold, nearest_name};

/// So much of a value is repeated in an error, in characters.
const QUOTED_CHARS: usize = 40;

/// Words that people bring along from elsewhere, folded, and what they are called here.
const ALSO_CALLED: &[(&str, &str)] = &[
    ("apikey", "key_variable"),
    ("apikeyenv", "key_variable"),
    ("arguments", "args"),
    ("additionalargs", "args"),
    ("basedir", "cwd"),
    ("claudecode", "claude"),
    ("cmd", "command"),
    ("dir", "cwd"),
    ("endpoint", "base_url"),
    ("environment", "env"),
    ("folder", "cwd"),
    ("geminicli", "gemini"),
    ("googlegemini", "gemini"),
    ("maxrounds", "turns"),
    ("openaicodex", "codex"),
    ("person", "human"),
    ("program", "command"),
    ("prompt", "instruction"),
    ("system", "instruction"),
    ("systeminstruction", "instruction"),
    ("systemprompt", "instruction"),
    ("themecolor", "color"),
    ("type", "kind"),
    ("url", "base_url"),
    ("user", "human"),
    ("workdir", "cwd"),
    ("write", "edit"),
];

/// `; did you mean …?`, or nothing.
pub(super) fn did_you_mean<'a>(
    written: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    nearest_of(written, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

pub(super) fn nearest_of<'a>(
    written: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<Box<str>> {
    let wanted = fold(written);
    let nearest = nearest_name(written, known.clone().map(|name| (name, name)));
    let called = ALSO_CALLED.iter().find(|(other, _)| *other == wanted).map(|(_, name)| *name);
    let mut others = known.filter(|name| called == Some(name) || is_shuffled(&wanted, &fold(name)));
    nearest.or_else(|| others.next()).map(Box::from)
}

/// Whether both have the same letters: `agnet` for `agent`.
fn is_shuffled(written: &str, known: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    written.len() == known.len() && sorted(written) == sorted(known)
}

/// A value as an error repeats it: short, in quotes, without what a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let cut = text.chars().nth(QUOTED_CHARS).is_some();
    let start: String = text.chars().take(QUOTED_CHARS).collect();
    let end = if cut { "…" } else { "" };
    format!("\"{}{end}\"", start.escape_debug().to_string().replace("\\'", "'"))
}
