//! The differences of version 1 of the record: the cause of a turn was a text, `word key=value …: sentence`, and
//! events of turns, session settings and the title were `custom` entries. All of them are read into the same entries
//! as version 2, and written exactly as they were read.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::json::{FieldError, Json, Kind, Object, boolean, text, whole_number};
use crate::{
    Cause, EntryId, EntryKind, Fields, Intent, QueueRule, RouteSource, SessionSetting, Setting,
    Turn, TurnActivity, TurnEvent,
};

type ReadCause = (Option<EntryId>, Cause, Option<Json>);

/// Reads the text of a cause. A text that version 1 cannot have written is kept as it is.
pub(super) fn read_cause(raw: &RawValue) -> Result<ReadCause, FieldError> {
    let text = text(raw)?;
    let source = Json::text(&text);
    Ok(match parse_cause(&text) {
        Some((turn_id, cause)) => (turn_id, cause, Some(source)),
        None => (None, Cause::Other(source), None),
    })
}

fn parse_cause(text: &str) -> Option<(Option<EntryId>, Cause)> {
    let cause_text = CauseText::parse(text);
    let entry = || cause_text.id("entry");
    let cause = match cause_text.word {
        "repeat" => {
            let (turn, entry) = (cause_text.id("turn")?, entry()?);
            return Some((
                None,
                Cause::Repeated {
                    turn,
                    entry,
                    by: cause_text.by(),
                    intent: cause_text.word_of("intent")?,
                },
            ));
        }
        "chosen" => Cause::Chosen { rule: cause_text.word_of::<QueueRule>("rule")? },
        "answered" => Cause::Answered { entry: entry()? },
        "failed" => Cause::failed(cause_text.get("class")?),
        "cancelled" => Cause::Cancelled { all: false },
        "cancelled_all" => Cause::Cancelled { all: true },
        "dropped" => Cause::Dropped { entry: entry()?, by: cause_text.by() },
        "declined" => Cause::Declined { entry: entry()?, by: cause_text.by() },
        "passed_over" => Cause::PassedOver,
        "cut_off" => Cause::CutOff { entry: entry()? },
        "table_stopped" => Cause::ProgramStopped,
        word => {
            let route: RouteSource = word.parse().ok()?;
            let intent: Intent = cause_text.word_of("intent")?;
            return Some((
                None,
                Cause::Asked { entry: entry()?, by: cause_text.by(), route, intent },
            ));
        }
    };
    Some((Some(cause_text.id("turn")?), cause))
}

struct CauseText<'t> {
    word: &'t str,
    pairs: Vec<(&'t str, &'t str)>,
}

impl<'t> CauseText<'t> {
    fn parse(text: &'t str) -> Self {
        let cause_text = text.split_once(": ").map_or(text, |(cause_text, _)| cause_text);
        let mut words = cause_text.split(' ');
        let word = words.next().unwrap_or_default();
        Self { word, pairs: words.filter_map(|pair| pair.split_once('=')).collect() }
    }

    fn get(&self, key: &str) -> Option<String> {
        let (_, value) = self.pairs.iter().find(|(name, _)| *name == key)?;
        let mut bytes = Vec::with_capacity(value.len());
        let mut rest = value.bytes();
        while let Some(byte) = rest.next() {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let read = if byte == b'%' { digit()? * 16 + digit()? } else { byte.into() };
            bytes.push(u8::try_from(read).ok()?);
        }
        String::from_utf8(bytes).ok()
    }

    fn id(&self, key: &str) -> Option<EntryId> {
        self.get(key).map(EntryId::from)
    }

    fn by(&self) -> Option<Box<str>> {
        self.get("by").map(Into::into)
    }

    fn word_of<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }
}

impl Turn {
    /// Writes the cause in the form of version 1, without the sentence. In every version, the ids of turns are
    /// computed from this form. So replaying a version 1 log gives the ids that are in it.
    #[must_use]
    pub fn with_cause_of_version_1(mut self) -> Self {
        let (word, entry, by) = match &self.cause {
            Cause::Asked { entry, by, route, .. } => (route.as_str(), Some(entry), by.as_deref()),
            Cause::Repeated { entry, by, .. } => ("repeat", Some(entry), by.as_deref()),
            Cause::FellBack { entry, by, .. } => ("fell_back", Some(entry), by.as_deref()),
            Cause::AwaitsReset { entry, by, .. } => ("awaits_reset", Some(entry), by.as_deref()),
            Cause::Consulted { entry, by, .. } => ("consulted", Some(entry), by.as_deref()),
            Cause::GraceEnded { entry } => ("grace_ended", Some(entry), None),
            Cause::Chosen { .. } => ("chosen", None, None),
            Cause::Answered { entry } => ("answered", Some(entry), None),
            Cause::Failed { .. } => ("failed", None, None),
            Cause::Overspent { .. } => ("overspent", None, None),
            Cause::Cancelled { all: false } => ("cancelled", None, None),
            Cause::Cancelled { all: true } => ("cancelled_all", None, None),
            Cause::Dropped { entry, by } => ("dropped", Some(entry), by.as_deref()),
            Cause::Declined { entry, by } => ("declined", Some(entry), by.as_deref()),
            Cause::PassedOver => ("passed_over", None, None),
            Cause::Limited { .. } => ("limited", None, None),
            Cause::CutOff { entry } => ("cut_off", Some(entry), None),
            Cause::ProgramStopped => ("table_stopped", None, None),
            Cause::Other(_) => return self,
        };
        let turn = match &self.cause {
            Cause::Repeated { turn, .. }
            | Cause::FellBack { turn, .. }
            | Cause::AwaitsReset { turn, .. } => Some(turn),
            Cause::Consulted { turn, .. } => turn.as_ref(),
            _ => self.turn_id.as_ref(),
        };
        let (key, value) = match &self.cause {
            Cause::Asked { intent, .. }
            | Cause::Repeated { intent, .. }
            | Cause::FellBack { intent, .. }
            | Cause::AwaitsReset { intent, .. } => ("intent", Some(intent.as_str())),
            Cause::Consulted { round, .. } => ("round", Some(round.as_str())),
            Cause::Chosen { rule } => ("rule", Some(rule.as_str())),
            Cause::Failed { class, .. } => ("class", Some(&**class)),
            _ => ("", None),
        };
        let mut cause_text = word.to_owned();
        write_pair(&mut cause_text, "turn", turn.map(EntryId::as_str));
        write_pair(&mut cause_text, "entry", entry.map(EntryId::as_str));
        write_pair(&mut cause_text, "by", by);
        write_pair(&mut cause_text, key, value);
        self.cause_source = Some(Json::text(&cause_text));
        self
    }
}

/// Writes a key and its value. Ids and names may contain anything, so characters that could end a value are written
/// as `%` and two hex digits.
fn write_pair(cause_text: &mut String, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    cause_text.push(' ');
    cause_text.push_str(key);
    cause_text.push('=');
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./+".contains(&byte) {
            cause_text.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(cause_text, "%{byte:02X}");
        }
    }
}

/// Reads a `custom` entry: data of version 1, or of another program.
pub(super) fn read_custom(id: &EntryId, payload: Option<&RawValue>) -> EntryKind {
    let source = payload.map(Json::from);
    let Some(Ok(fields)) = payload.map(Object::try_from) else { return EntryKind::Custom(source) };
    let is_turn_event = fields.names().any(|name| name == "agent");
    let (fields, unknown) = (CustomFields(fields), Fields::NONE);
    if is_turn_event {
        return match fields.turn_event() {
            Some((turn_id, member, activity)) => {
                EntryKind::TurnEvent(TurnEvent { turn_id, member, activity, source, unknown })
            }
            None => EntryKind::Custom(source),
        };
    }
    match fields.setting(id) {
        Some(setting) => EntryKind::SessionSetting(SessionSetting { setting, source, unknown }),
        None => EntryKind::Custom(source),
    }
}

/// The fields of a `custom` payload. A field of another type than version 1 wrote counts as missing.
struct CustomFields<'a>(Object<'a>);

impl<'a> CustomFields<'a> {
    fn text(&mut self, name: &str) -> Option<Box<str>> {
        self.0.take_text(name).ok()?.map(Into::into)
    }

    fn json(&mut self, name: &str) -> Option<Json> {
        self.0.take(name).map(Json::from)
    }

    fn count(&mut self, name: &str) -> Option<u64> {
        self.0.take_with(name, whole_number).ok()?
    }

    fn turn_event(mut self) -> Option<(EntryId, Box<str>, TurnActivity)> {
        let activity = match &*self.text("agent")? {
            "began" => {
                TurnActivity::Began { session: self.text("session")?, model: self.text("model") }
            }
            "tool_started" => TurnActivity::ToolStarted {
                id: self.text("id")?,
                name: self.text("name")?,
                input: self.json("input")?,
            },
            "tool_finished" => TurnActivity::ToolFinished {
                id: self.text("id")?,
                name: self.text("name"),
                output: self.text("output"),
                is_error: self.0.take_with("isError", boolean).ok()??,
            },
            "tool_denied" => {
                TurnActivity::ToolDenied { name: self.text("name")?, reason: self.text("reason") }
            }
            "permission_asked" => TurnActivity::PermissionAsked { title: self.text("title")? },
            "permission_answered" => TurnActivity::PermissionAnswered {
                title: self.text("title")?,
                choice: self.text("choice"),
            },
            "thought" => TurnActivity::Thought { text: self.text("text")? },
            "warned" => {
                TurnActivity::Warned { class: self.text("class"), message: self.text("message")? }
            }
            "failed" => TurnActivity::Failed {
                class: self.text("class")?,
                message: self.text("message")?,
                cure: self.text("cure")?,
            },
            "retried" => TurnActivity::Retried { budget: self.count("budget")? },
            "sent_again" => TurnActivity::Resent {
                prompt_hash: self.text("promptHash")?,
                prompt_recipe: self.json("promptRecipe")?,
            },
            _ => return None,
        };
        Some((EntryId::from(&*self.text("turn")?), self.text("member")?, activity))
    }

    fn setting(mut self, id: &EntryId) -> Option<Setting> {
        let Some(word) = self.text("table") else {
            id.as_str().strip_prefix("title-")?.parse::<u64>().ok()?;
            return Some(Setting::Title { title: self.text("title")? });
        };
        Some(match &*word {
            "continue" => Setting::Continued { count: self.count("count")? },
            "reopened" => Setting::Reopened { count: self.count("count")? },
            "folder" => Setting::Folder { path: self.text("path")? },
            "turns_max" => {
                let turns = self.0.take("turns")?;
                let number = whole_number(turns).ok().and_then(|turns| u32::try_from(turns).ok());
                let is_setting = number.is_some() || Kind::from(turns) == Kind::Null;
                return is_setting.then_some(Setting::TurnsMax { turns: number });
            }
            _ => return None,
        })
    }
}
