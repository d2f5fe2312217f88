//! Runtime hints: information that may change from turn to turn. They are one message at the very end and are never
//! stored, so that everything before them keeps the same bytes.

use std::fmt;

use tertulia_session::json::{self, Json, Object, RawValue};
use tertulia_session::{Message, Part, Role};

use super::ContextError;
use super::frozen::{key_lines, text_of};
use super::window::generated_message;

/// A hint that this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    pub name: &'static str,
    pub kind: HintKind,
    pub meaning: &'static str,
}

/// The type that a hint must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HintKind {
    Text,
    /// A whole number of 0 or more.
    Number,
    Texts,
}

/// Provides the hints of a turn if the input contains none.
pub trait ProvideHints: fmt::Debug + Send + Sync {
    /// Returns the hints: a JSON object, or `None`.
    fn hints(&self) -> Option<Json>;
}

const fn hint(name: &'static str, kind: HintKind, meaning: &'static str) -> Hint {
    Hint { name, kind, meaning }
}

/// The hints that this version knows. Others are sent as they are.
pub const HINTS: [Hint; 12] = [
    hint("activeFile", HintKind::Text, "the file that the user looks at"),
    hint("cwd", HintKind::Text, "the working folder, if it changes within a session"),
    hint("gitBranch", HintKind::Text, "the branch that is checked out"),
    hint("gitStatus", HintKind::Text, "the changes that are not committed"),
    hint("locale", HintKind::Text, "the user's language, such as de-DE"),
    hint("maxSteps", HintKind::Number, "the maximum number of model calls of a run"),
    hint("note", HintKind::Text, "anything else that the model should know now"),
    hint("openFiles", HintKind::Texts, "the files that are open"),
    hint("step", HintKind::Number, "the number of this model call in the run"),
    hint("time", HintKind::Text, "the time as the user would say it"),
    hint("timeZone", HintKind::Text, "the user's time zone, such as Europe/Madrid"),
    hint("tokensLeft", HintKind::Number, "the number of tokens that the run may still use"),
];

pub(super) fn hints_message(
    hints: Option<&Json>,
    time: Option<String>,
) -> Result<Option<Message>, ContextError> {
    let mut lines = match hints {
        Some(hints) => {
            check(hints)?;
            key_lines(hints, FIELD)?
        }
        None => Vec::new(),
    };
    if let Some(time) = time
        && let Err(place) = lines.binary_search_by(|(key, _)| key.as_str().cmp("time"))
    {
        lines.insert(place, ("time".to_owned(), time));
    }
    let text = (!lines.is_empty()).then(|| Part::text(text_of(&lines)));
    Ok(text.map(|text| generated_message(Role::System, "runtime_hints", [text])))
}

const FIELD: &str = "runtimeHints";

fn check(hints: &Json) -> Result<(), ContextError> {
    let Some(mut object) = Object::try_from(hints.raw()).ok() else {
        // A value that is not an object is an error of the code that reads the fields.
        return Ok(());
    };
    for hint in HINTS {
        if let Some(raw) = object.take_some(hint.name)
            && !hint.kind.fits(raw)
        {
            let problem = format!("must be {}; got {}", hint.kind, json::Kind::from(raw));
            return Err(ContextError::field(format!("{FIELD}.{}", hint.name), problem));
        }
    }
    Ok(())
}

impl HintKind {
    fn fits(self, raw: &RawValue) -> bool {
        match self {
            Self::Text => json::text(raw).is_ok(),
            Self::Number => json::whole_number(raw).is_ok(),
            Self::Texts => json::elements(raw)
                .is_ok_and(|list| list.into_iter().all(|text| json::text(text).is_ok())),
        }
    }
}

impl fmt::Display for HintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Number => "a whole number of 0 or more",
            Self::Texts => "a list of strings",
        })
    }
}
