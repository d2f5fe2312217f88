//! The state of a native session after a turn, and its JSON for the log.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tertulia_dialect::stream::{Scope, Usage};
use tertulia_session::json::Json;

use super::{Settings, Totals};

/// The state in which a turn left the session that an agent keeps itself. The next turn continues the session only if
/// it still has this state.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeHead {
    /// The word of the agent, such as `claude`.
    pub agent: Box<str>,
    /// The agent's own id of the session.
    pub session: Box<str>,
    /// Its file; `None` if it has none, or none that is known.
    pub path: Option<PathBuf>,
    /// Size of the file, or of the session as the agent exports it.
    pub bytes: u64,
    /// BLAKE3 hash of these bytes in hex. For a session of a process: the hash of what was said in it, or nothing if no
    /// other process can load it.
    pub hash: Box<str>,
    /// Number of records with messages.
    pub messages: u64,
    /// Id of the last record with a message, if the format has ids.
    pub last_record: Option<Box<str>>,
    /// Whether the agent replaced its history by a summary during the turn.
    pub is_compacted: bool,
    /// Identifies the file of the program.
    pub program: Box<str>,
    pub(crate) settings: Settings,
    /// Identifies the process, for a session without a known file.
    pub process: Option<Box<str>>,
    /// The totals that the agent has reported for the session.
    pub totals: Totals,
}

/// A head that this version cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the state of a native session cannot be read: {0} is missing or has another form; start the turn fresh"
)]
pub struct HeadError(&'static str);

const COUNTS: [&str; 5] = ["input", "cacheRead", "cacheWrite", "output", "thinking"];

impl NativeHead {
    /// Returns whether another process may load the session of a process.
    pub(crate) fn can_load(&self) -> bool {
        self.process.is_some() && !self.hash.is_empty()
    }

    /// Returns its JSON, without fields that have no value.
    pub fn to_json(&self) -> Json {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() && value != Value::Bool(false) {
                object.insert(name.to_owned(), value);
            }
        };
        put("agent", (&*self.agent).into());
        put("session", (&*self.session).into());
        put("path", self.path.as_ref().map(|path| path.to_string_lossy().into_owned()).into());
        put("bytes", self.bytes.into());
        put("hash", (&*self.hash).into());
        put("messages", self.messages.into());
        put("lastRecord", self.last_record.as_deref().into());
        put("isCompacted", self.is_compacted.into());
        put("program", (&*self.program).into());
        put("settings", self.settings.to_value());
        put("process", self.process.as_deref().into());
        put("usage", self.totals.usage.map_or(Value::Null, usage_value));
        put("costUsd", self.totals.cost_usd.into());
        Json::serialized(&Value::Object(object)).unwrap_or_else(|| Json::text(""))
    }

    /// Reads the JSON of a head. Ignores unknown fields.
    pub fn from_json(json: &Json) -> Result<Self, HeadError> {
        let value: Value = serde_json::from_str(json.as_str()).map_err(|_| HeadError("it"))?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(Box::<str>::from);
        let count = |name: &str| value.get(name).and_then(Value::as_u64);
        Ok(Self {
            agent: text("agent").ok_or(HeadError("agent"))?,
            session: text("session").ok_or(HeadError("session"))?,
            path: text("path").map(|path| PathBuf::from(&*path)),
            bytes: count("bytes").ok_or(HeadError("bytes"))?,
            hash: text("hash").ok_or(HeadError("hash"))?,
            messages: count("messages").ok_or(HeadError("messages"))?,
            last_record: text("lastRecord"),
            is_compacted: value.get("isCompacted").and_then(Value::as_bool).unwrap_or(false),
            program: text("program").ok_or(HeadError("program"))?,
            settings: Settings::from_value(value.get("settings")),
            process: text("process"),
            totals: Totals {
                usage: value.get("usage").map(usage_of),
                cost_usd: value.get("costUsd").and_then(Value::as_f64),
            },
        })
    }
}

fn usage_value(usage: Usage) -> Value {
    let Usage { input, cache_read, cache_write, output, thinking, scope: _ } = usage;
    let counts = [input, cache_read, cache_write, output, thinking];
    let known = COUNTS.iter().zip(counts).filter_map(|(name, count)| Some((*name, count?)));
    Value::Object(known.map(|(name, count)| (name.to_owned(), count.into())).collect())
}

fn usage_of(value: &Value) -> Usage {
    let [input, cache_read, cache_write, output, thinking] =
        COUNTS.map(|name| value.get(name).and_then(Value::as_u64));
    Usage { input, cache_read, cache_write, output, thinking, scope: Scope::Session }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> NativeHead {
        let usage = Usage {
            input: Some(7),
            output: Some(u64::MAX),
            scope: Scope::Session,
            ..Usage::default()
        };
        NativeHead {
            agent: "codex".into(),
            session: "01a1".into(),
            path: Some("/made-up/\"x\"/s.jsonl".into()),
            bytes: 1 << 60,
            hash: "ab".into(),
            messages: 3,
            last_record: Some("r-1".into()),
            is_compacted: true,
            program: "p".into(),
            settings: Settings::from_value(Some(&serde_json::json!({ "model": "m" }))),
            process: Some("1".into()),
            totals: Totals { usage: Some(usage), cost_usd: Some(0.25) },
        }
    }

    #[test]
    fn a_head_survives_its_json() {
        let bare = NativeHead {
            path: None,
            last_record: None,
            is_compacted: false,
            process: None,
            totals: Totals::default(),
            ..head()
        };
        for head in [head(), bare] {
            assert_eq!(NativeHead::from_json(&head.to_json()), Ok(head));
        }
    }

    #[test]
    fn a_head_without_a_needed_field_is_refused_by_name() {
        for json in ["[]", "7", "{}", r#"{"agent":1}"#] {
            let error = NativeHead::from_json(&Json::parse(json).unwrap()).unwrap_err();
            assert_eq!(error, HeadError("agent"), "{json}");
        }
    }
}
