//! Enums as JSON objects: one field has the name of the variant, the others are its fields. The table of an enum lists
//! every variant, so a new variant does not compile until it is listed.

use std::borrow::Cow;

use tertulia_agent::PermissionAnswer;
use tertulia_session::json::{FieldError, Object, Problem, RawValue};

use super::field::{Field, Writer};
use crate::guard::Dollars;
use crate::{Note, PauseReason, Question, SpeakerError};

/// An enum that is written as an object.
pub(super) trait Variants: Sized {
    /// Writes the object; the field `tag` has the name of the variant.
    fn write_object(&self, tag: &str, out: &mut Writer);

    /// Reads the fields of the variant with this name; `None` if there is no such variant.
    fn read_fields(name: &str, object: &mut Object<'_>) -> Result<Option<Self>, FieldError>;
}

macro_rules! variants {
    ($enum:ident: $($variant:ident = $name:literal { $($field:ident = $key:literal),* })*) => {
        impl $crate::wire::variants::Variants for $enum {
            fn write_object(&self, tag: &str, out: &mut $crate::wire::field::Writer) {
                out.open();
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.field(tag, &$name);
                        $(out.field($key, $field);)*
                    })*
                }
                out.close();
            }

            fn read_fields(
                name: &str,
                #[allow(unused_variables, reason = "an enum may have no fields")]
                object: &mut tertulia_session::json::Object<'_>,
            ) -> Result<Option<Self>, tertulia_session::json::FieldError> {
                Ok(match name {
                    $($name => Some(Self::$variant {
                        $($field: $crate::wire::field::take(object, $key)?),*
                    }),)*
                    _ => None,
                })
            }
        }
    };
}
pub(super) use variants;

/// Enums that are fields of messages.
macro_rules! nested {
    ($enum:ident, $tag:literal, $expected:literal) => {
        impl Field for $enum {
            fn write(&self, out: &mut Writer) {
                self.write_object($tag, out);
            }

            fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
                let mut object = super::field::object(raw, $expected)?;
                let name = object.need_text($tag)?;
                Self::read_fields(&name, &mut object)?.ok_or_else(|| {
                    FieldError::new(Problem::NotOneOf { allowed: $expected, got: name })
                        .within($tag)
                })
            }
        }
    };
}

variants! { Note:
    UnknownName = "unknownName" { entry = "entry", name = "name", nearest = "nearest" }
    AmbiguousName = "ambiguousName" { entry = "entry", name = "name", members = "members" }
    Duplicate = "duplicate" { entry = "entry", member = "member", turn = "turn" }
    Adjacent = "adjacent" { entry = "entry", member = "member", turn = "turn" }
    Overflow = "overflow" { entry = "entry", member = "member", limit = "limit" }
    Demoted = "demoted" { entry = "entry", turn = "turn", member = "member", asked = "asked" }
    TooManyNames = "tooManyNames" { entry = "entry", ignored = "ignored" }
    LookAlike = "lookAlike" { entry = "entry", marker = "marker", name = "name" }
    MarkerIgnored = "markerIgnored" { entry = "entry", marker = "marker" }
    FromIgnored = "fromIgnored" { entry = "entry", name = "name" }
    TeamTaskIgnored = "teamTaskIgnored" { entry = "entry" }
    Partial = "partial" { turn = "turn", entry = "entry" }
    Late = "late" { turn = "turn", entry = "entry" }
    AskIgnores = "askIgnores" { entry = "entry", ignored = "ignored" }
    Declined = "declined" { entry = "entry", turns = "turns" }
    Failed = "failed" { turn = "turn", member = "member", class = "class", is_paused = "isPaused" }
    PassedOn = "passedOn" { turn = "turn", member = "member", to = "to", resets_at = "resetsAt" }
    Worktree = "worktree" { turn = "turn", text = "text" }
    NothingToCancel = "nothingToCancel" { turn = "turn" }
    CannotRepeat = "cannotRepeat" { turn = "turn", reason = "reason" }
    UnknownSpender = "unknownSpender" { member = "member" }
}
nested!(Note, "what", "a note of this version");

variants! { PauseReason:
    Answer = "answer" { turn = "turn", entry = "entry", by = "by" }
    LoopGuard = "loopGuard" { turns = "turns" }
    PairLoop = "pairLoop" { pair = "pair", turns = "turns" }
    Spending = "spending" { limit = "limit", member = "member", spent = "spent", allowed = "allowed", stopped = "stopped" }
    Unresolved = "unresolved" { entry = "entry", names = "names" }
    NobodyToAnswer = "nobodyToAnswer" { entry = "entry" }
    WhoSpeaks = "whoSpeaks" { entry = "entry", error = "error" }
    Failed = "failed" { turn = "turn", member = "member", class = "class" }
    LimitedAfterTools = "limitedAfterTools" { turn = "turn", member = "member", tools = "tools", next = "next" }
    Limited = "limited" { member = "member", resets_at = "resetsAt" }
    Cancelled = "cancelled" { turn = "turn", waiting = "waiting" }
    Resumed = "resumed" { interrupted = "interrupted", waiting = "waiting" }
    ResumedSeveral = "resumedSeveral" { interrupted = "interrupted", waiting = "waiting" }
    Paused = "paused" { waiting = "waiting" }
}
nested!(PauseReason, "why", "a question of this version");

variants! { SpeakerError:
    Unknown = "unknown" { name = "name", nearest = "nearest", people = "people" }
    Agent = "agent" { name = "name", people = "people" }
    Several = "several" { people = "people" }
}
nested!(SpeakerError, "what", "an error of this version");

impl Field for Question {
    fn write(&self, out: &mut Writer) {
        out.open();
        out.field("to", &self.to);
        out.field("reason", &self.why);
        out.close();
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let mut object = super::field::object(raw, "a question")?;
        let to = super::field::take(&mut object, "to")?;
        Ok(Self { to, why: super::field::take(&mut object, "reason")? })
    }
}

impl Field for PermissionAnswer {
    fn write(&self, out: &mut Writer) {
        out.open();
        let (answer, choice) = match self {
            Self::Choose(id) => ("choose", Some(id.clone())),
            Self::Deny => ("deny", None),
            Self::EndTurn => ("endTurn", None),
        };
        out.field("what", &answer);
        out.field("choice", &choice);
        out.close();
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let mut object = super::field::object(raw, "an answer")?;
        let got = object.need_text("what")?;
        match got.as_str() {
            "choose" => Ok(Self::Choose(super::field::take(&mut object, "choice")?)),
            "deny" => Ok(Self::Deny),
            "endTurn" => Ok(Self::EndTurn),
            _ => {
                let allowed = "choose, deny or endTurn";
                Err(FieldError::new(Problem::NotOneOf { allowed, got }).within("what"))
            }
        }
    }
}

impl Field for Dollars {
    fn write(&self, out: &mut Writer) {
        self.millionths().write(out);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        u64::read(raw).map(Self::from_millionths)
    }
}

impl Field for Cow<'static, str> {
    fn write(&self, out: &mut Writer) {
        out.text(self);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        String::read(raw).map(Cow::Owned)
    }
}
