//! Stored sessions as JSON, for the command line and rpc. Times are milliseconds since 1970.

use serde::Serialize;
use tertulia_session::search::terms::TermKind;
use tertulia_session::{EntryId, Timestamp};
use tertulia_store::{Appended, Hit, SessionId, SessionInfo, Verified};

/// A session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord<'a> {
    session_id: &'a str,
    entries: u64,
    created_at: i64,
    updated_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail_entry_id: Option<&'a str>,
    head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
}

impl<'a> From<&'a SessionInfo> for SessionRecord<'a> {
    fn from(info: &'a SessionInfo) -> Self {
        Self {
            session_id: info.id.as_str(),
            entries: info.entries,
            created_at: info.created_at.millis(),
            updated_at: info.updated_at.millis(),
            tail_entry_id: info.tail.as_ref().map(EntryId::as_str),
            head: info.chain_hash.to_string(),
            title: info.title.as_deref(),
            project: info.project.as_deref(),
        }
    }
}

/// An entry that was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HitRecord<'a> {
    session_id: &'a str,
    entry_id: &'a str,
    seq: u64,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<i64>,
    score: u64,
    snippet: SnippetRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<MatchRecord<'a>>>,
}

/// A word of a query that was found.
#[derive(Serialize)]
struct MatchRecord<'a> {
    asked: &'a str,
    found: &'a str,
    kind: &'static str,
    times: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    weight: u64,
    score: u64,
}

/// Returns the JSON word for a kind of term.
pub fn term_kind_word(kind: TermKind) -> &'static str {
    match kind {
        TermKind::Word => "word",
        TermKind::Number => "number",
        TermKind::Identifier => "identifier",
        TermKind::Path => "path",
    }
}

/// A piece of a text. The marks are byte positions in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnippetRecord<'a> {
    text: &'a str,
    marks: Vec<[usize; 2]>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut_before: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut_after: bool,
}

impl<'a> From<&'a Hit> for HitRecord<'a> {
    fn from(hit: &'a Hit) -> Self {
        let snippet = &hit.snippet;
        Self {
            session_id: hit.session.as_str(),
            entry_id: hit.entry_id.as_str(),
            seq: hit.seq,
            r#type: &hit.type_name,
            speaker: hit.speaker.as_deref(),
            timestamp: hit.timestamp.as_ref().map(Timestamp::millis),
            score: hit.score,
            snippet: SnippetRecord {
                text: &snippet.text,
                marks: snippet.marks.iter().map(|mark| [mark.start, mark.end]).collect(),
                cut_before: snippet.cut_before,
                cut_after: snippet.cut_after,
            },
            matches: None,
        }
    }
}

impl<'a> HitRecord<'a> {
    /// Returns the record of a hit with the words that caused its score.
    pub fn explained(hit: &'a Hit) -> Self {
        let matches = hit.matches.iter().map(|one| MatchRecord {
            asked: &one.asked,
            found: &one.found,
            kind: term_kind_word(one.kind),
            times: one.times,
            entries: one.entries,
            weight: one.weight,
            score: one.score,
        });
        Self { matches: Some(matches.collect()), ..Self::from(hit) }
    }
}

/// The result of a check.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedRecord<'a> {
    session_id: &'a str,
    entries: u64,
    purged: u64,
    head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<DamageRecord<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DamageRecord<'a> {
    place: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<&'a str>,
    reason: &'a str,
}

impl<'a> VerifiedRecord<'a> {
    /// Returns the record of a check.
    pub fn new(session: &'a SessionId, verified: &'a Verified) -> Self {
        Self {
            session_id: session.as_str(),
            entries: verified.entries,
            purged: verified.purged,
            head: verified.chain_hash.to_string(),
            damage: verified.damage.as_ref().map(|damage| DamageRecord {
                place: damage.seq,
                entry_id: damage.entry.as_ref().map(EntryId::as_str),
                reason: &damage.reason,
            }),
        }
    }
}

/// The result of an append.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendedRecord<'a> {
    /// The session. Left out if the caller named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
    pub last_appended_entry_id: Option<&'a str>,
    pub appended_count: usize,
}

impl<'a> AppendedRecord<'a> {
    /// Returns the record of an append.
    pub fn new(session: Option<&'a SessionId>, appended: &'a Appended) -> Self {
        Self {
            session_id: session.map(SessionId::as_str),
            last_appended_entry_id: appended.last_entry_id.as_ref().map(EntryId::as_str),
            appended_count: appended.appended_count,
        }
    }
}
