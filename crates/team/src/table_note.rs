//! What stands in the log of a table besides messages and turns: that a person said "go on", in which
//! folder the table stands, how many turns it may take. `custom` entries, so that no prompt sees them;
//! written by the machine and the driver, read by a replay and by whoever looks for a table.

use serde_json::{Value, json};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryKind};

/// Something about the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableNote {
    /// The person said "go on"; the count tells one from the next.
    Continue { count: u64 },
    /// The session was opened again while turns waited that could have started; the count tells one from
    /// the next.
    Reopened { count: u64 },
    /// The table stands in this folder from now on.
    Folder { path: Box<str> },
    /// A person is asked after so many turns at the latest; `None`: as the team says.
    TurnsMax { turns: Option<u32> },
}

/// How all of them begin, which few other entries do.
const HEAD: &str = r#"{"table":"#;

impl TableNote {
    /// What the entry holds.
    pub(crate) fn to_kind(&self) -> EntryKind {
        let text = match self {
            Self::Continue { count } => format!(r#"{HEAD}"continue","count":{count}}}"#),
            Self::Reopened { count } => format!(r#"{HEAD}"reopened","count":{count}}}"#),
            Self::Folder { path } => format!(r#"{HEAD}"folder","path":{}}}"#, json!(path)),
            Self::TurnsMax { turns } => format!(r#"{HEAD}"turns_max","turns":{}}}"#, json!(turns)),
        };
        EntryKind::Custom(Json::parse(&text).ok())
    }

    /// What an entry says of the table, if it does.
    pub(crate) fn of(kind: &EntryKind) -> Option<Self> {
        let EntryKind::Custom(Some(payload)) = kind else { return None };
        let text = payload.as_str();
        if !text.starts_with(HEAD) {
            return None;
        }
        let fields: Value = serde_json::from_str(text).ok()?;
        match fields.get("table")?.as_str()? {
            "continue" => Some(Self::Continue { count: fields.get("count")?.as_u64()? }),
            "reopened" => Some(Self::Reopened { count: fields.get("count")?.as_u64()? }),
            "folder" => Some(Self::Folder { path: fields.get("path")?.as_str()?.into() }),
            "turns_max" => {
                let turns = fields.get("turns")?;
                let number = turns.as_u64().and_then(|turns| u32::try_from(turns).ok());
                (turns.is_null() || number.is_some()).then_some(Self::TurnsMax { turns: number })
            }
            _ => None,
        }
    }
}

/// What an entry says of the table, in words.
pub fn table_words(entry: &Entry) -> Option<String> {
    Some(match TableNote::of(&entry.kind)? {
        TableNote::Continue { .. } => "a person said: continue".to_owned(),
        TableNote::Reopened { .. } => "the session was opened again".to_owned(),
        TableNote::Folder { path } => format!("project folder: {path}"),
        TableNote::TurnsMax { turns: None } => "turns are limited by the team alone".to_owned(),
        TableNote::TurnsMax { turns: Some(1) } => "a person is asked after one turn".to_owned(),
        TableNote::TurnsMax { turns: Some(turns) } => {
            format!("a person is asked after {turns} turns")
        }
    })
}

/// The folder that the table stands in from this entry on, if it says so.
pub fn table_folder(entry: &Entry) -> Option<Box<str>> {
    match TableNote::of(&entry.kind)? {
        TableNote::Folder { path } => Some(path),
        TableNote::Continue { .. } | TableNote::Reopened { .. } | TableNote::TurnsMax { .. } => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for note in [
            TableNote::Continue { count: 3 },
            TableNote::Reopened { count: 0 },
            TableNote::Folder { path: "/projects/\"a\"\n".into() },
            TableNote::TurnsMax { turns: Some(7) },
            TableNote::TurnsMax { turns: None },
        ] {
            assert_eq!(TableNote::of(&note.to_kind()), Some(note));
        }
    }

    #[test]
    fn other_entries_say_nothing_of_the_table() {
        for text in [
            r#"{"table":"continue"}"#,
            r#"{"table":"turns_max","turns":"7"}"#,
            r#"{"table":"turns_max","turns":-1}"#,
            r#"{"table":"round"}"#,
            r#"{"table":1}"#,
            r#"{"agent":"thought"}"#,
            "[]",
        ] {
            let kind = EntryKind::Custom(Json::parse(text).ok());
            assert_eq!(TableNote::of(&kind), None, "{text}");
        }
        assert_eq!(TableNote::of(&EntryKind::Custom(None)), None);
    }
}
