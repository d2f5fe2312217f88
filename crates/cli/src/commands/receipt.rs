//! `tertulia receipt`: shows the outcome of every item of an import or a handover.

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_operations::handover::{
    Compared, Item, ItemKind, ItemStatus, Link, Receipt, StoredReceipt, Tally, Verification, links,
};
use tertulia_operations::names::{Latest, NameError, find_session_or_latest, find_stored_entry};
use tertulia_session::{Entry, EntryId, NativeDirection};
use tertulia_store::{ListFilter, Range, SessionId, SessionStore};

use super::drawing::{Paint, bar, padded, share};
use super::sessions::{counted, write_json};
use crate::Streams;
use crate::args::ReceiptArgs;
use crate::error::{CliError, Result};
use crate::load_team::project_here;
use crate::native_environment::native_environment;
use crate::store_location::StoreLocation;

/// The maximum number of losses that are listed.
const LOSSES_SHOWN: usize = 5;

pub(crate) fn run(args: &ReceiptArgs, streams: &mut Streams<'_>) -> Result {
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let (session, entries, id) = find(&store, args.id.as_deref())?;
    let stored = match StoredReceipt::read(&entries, &id) {
        Some(Ok(stored)) => stored,
        Some(Err(error)) => return Err(CliError::Failed(format!("{id}: {error}"))),
        None => return Err(CliError::Failed(format!("{id} is not a receipt"))),
    };
    let verification = match args.verify {
        true => Some(stored.verify(&entries, &native_environment()?)),
        false => None,
    };
    if args.json {
        write_json(streams, &ReceiptRecord::new(&session, &stored, verification.as_ref()))?;
    } else {
        print(&session, &stored, streams)?;
        if let Some(verification) = &verification {
            print_verification(&stored, verification, streams)?;
        }
    }
    match verification {
        Some(found) if !found.is_ok() => {
            Err(CliError::Failed("the sessions no longer match the receipt".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Finds the session and the entry of a receipt: by its ID in any session, or the newest one of a session.
fn find(store: &SessionStore, given: Option<&str>) -> Result<(SessionId, Vec<Entry>, EntryId)> {
    let project = project_here();
    match find_session_or_latest(store, given, Latest::OfProject(&project)) {
        Ok(session) => {
            let entries = load(store, &session)?;
            let newest = links(&entries).pop().map(|link| link.entry);
            let none = || {
                CliError::Failed(format!(
                    "session {session} has no receipt, because it was neither imported nor handed over"
                ))
            };
            let id = newest.ok_or_else(none)?;
            Ok((session, entries, id))
        }
        Err(error @ NameError::Store(_)) => Err(error.into()),
        Err(unknown) => {
            let Some(given) = given else { return Err(unknown.into()) };
            for info in store.list(&ListFilter::default())? {
                if let Ok(id) = find_stored_entry(store, &info.id, given) {
                    let entries = load(store, &info.id)?;
                    return Ok((info.id, entries, id));
                }
            }
            Err(match unknown {
                NameError::UnknownSession { nearest: None, .. } => CliError::Failed(format!(
                    "there is no session and no receipt {given}; `tertulia sessions list --all` shows all sessions"
                )),
                unknown => unknown.into(),
            })
        }
    }
}

pub(super) fn load(store: &SessionStore, session: &SessionId) -> Result<Vec<Entry>> {
    let stored = store.load(session, &Range::All)?;
    Ok(stored.into_iter().map(|one| one.entry).collect())
}

fn print(session: &SessionId, stored: &StoredReceipt, streams: &mut Streams<'_>) -> Result {
    let link = &stored.link;
    let what = match link.direction {
        NativeDirection::Imported => "imported from",
        NativeDirection::Written => "handed over to",
    };
    let agent = link.format.agent_name();
    let line = format!("{session} · {what} {agent} session {}", link.native_session_id);
    super::sessions::write_line(streams, &line)?;
    write_summary(&stored.receipt, streams)
}

/// Writes the receipt for people: one line for each kind, and the largest losses.
pub(super) fn write_summary(receipt: &Receipt, streams: &mut Streams<'_>) -> Result {
    let paint = Paint::new(streams.stdout_has_colour);
    let mut text = String::new();
    let total = receipt.total();
    let statuses = receipt.by_status();
    let figures = ItemStatus::WORDS.iter().zip(statuses);
    let figures = figures.filter(|(_, tally)| tally.items > 0);
    let figures = figures.map(|(word, tally)| format!("{} {word}", tally.items));
    text.push_str(&format!(
        "{}, {} bytes: {}\n\n",
        counted(total.items, "item", "items"),
        total.bytes,
        figures.collect::<Vec<_>>().join(" · ")
    ));
    let header = "kind             items        bytes    kept  reshaped  shortened  left out";
    text.push_str(&format!("{}\n", paint.faint(header)));
    for (kind, tallies) in receipt.by_kind() {
        text.push_str(&kind_line(kind, &tallies, total, &paint));
    }
    let losses = receipt.largest_losses(LOSSES_SHOWN);
    if !losses.is_empty() {
        text.push_str("\nlargest losses\n");
    }
    for item in losses {
        text.push_str(&loss_line(item, &paint));
    }
    write!(streams.stdout, "{text}").map_err(CliError::output)
}

fn kind_line(kind: ItemKind, tallies: &[Tally; 4], total: Tally, paint: &Paint) -> String {
    let sum = tallies.iter().fold(Tally::default(), |sum, one| Tally {
        items: sum.items + one.items,
        bytes: sum.bytes.saturating_add(one.bytes),
    });
    let count = |index: usize| match tallies[index].items {
        0 => "–".to_owned(),
        items => items.to_string(),
    };
    let whole = usize::try_from(total.bytes).unwrap_or(usize::MAX);
    let part = usize::try_from(sum.bytes).unwrap_or(usize::MAX);
    let counts = format!(
        "{:>6} {:>12} {:>7} {:>9} {:>10} {:>9}",
        sum.items,
        sum.bytes,
        count(0),
        count(1),
        count(2),
        count(3)
    );
    let bar = paint.faint(&format!("{:>5} {}", share(part, whole), bar(part, whole)));
    format!("{} {counts}  {bar}\n", padded(kind.as_str(), 15)).trim_end().to_owned() + "\n"
}

fn loss_line(item: &Item, paint: &Paint) -> String {
    let word = ItemStatus::WORDS[item.status.index()];
    let reason = visible(item.status.reason().unwrap_or_default());
    format!(
        "  entry {:<6} {} {:>10} bytes {}: {reason}\n",
        item.entry,
        padded(item.kind.as_str(), 15),
        item.lost_bytes(),
        paint.warning(word),
    )
}

fn print_verification(
    stored: &StoredReceipt,
    found: &Verification,
    streams: &mut Streams<'_>,
) -> Result {
    let mut lines = Vec::new();
    match found.changed_entries.as_slice() {
        [] => {
            lines.push("this session: every entry has the size that the receipt records".to_owned())
        }
        changed => {
            let shown: Vec<String> = changed.iter().take(8).map(u64::to_string).collect();
            let entries = counted(changed.len() as u64, "entry", "entries");
            let more = if changed.len() > shown.len() { ", …" } else { "" };
            lines.push(format!(
                "this session: {entries} changed since, for example by a redaction: {}{more}",
                shown.join(", ")
            ));
        }
    }
    let agent = stored.link.format.agent_name();
    lines.push(match &found.native {
        Ok(Compared::Bytes(bytes)) => format!("{agent}: the first {bytes} bytes are the same"),
        Ok(Compared::Records(records)) => {
            format!("{agent}: {} the same", are(*records, "record", "records"))
        }
        Ok(Compared::Said(said)) => {
            let items = "text, call or result";
            format!("{agent}: {} there", are(*said, items, "texts, calls and results"))
        }
        Err(problem) => format!("{agent}: {problem}"),
    });
    lines.iter().try_for_each(|line| super::sessions::write_line(streams, line))
}

/// Returns a number of items as the beginning of a sentence about all of them.
fn are(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("the {one} is"),
        count => format!("all {count} {many} are"),
    }
}

/// A receipt as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptRecord<'a> {
    receipt_id: &'a str,
    session_id: &'a str,
    agent: &'static str,
    native_session_id: &'a str,
    direction: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    total: Tally,
    totals: TotalsRecord,
    items: Vec<ItemRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<VerifiedRecord<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TotalsRecord {
    kept: Tally,
    reshaped: Tally,
    shortened: Tally,
    left_out: Tally,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemRecord<'a> {
    entry: u64,
    kind: &'static str,
    bytes: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedRecord<'a> {
    ok: bool,
    changed_entries: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    native_problem: Option<&'a str>,
}

impl TotalsRecord {
    pub(super) fn new(receipt: &Receipt) -> Self {
        let [kept, reshaped, shortened, left_out] = receipt.by_status();
        Self { kept, reshaped, shortened, left_out }
    }
}

impl<'a> ReceiptRecord<'a> {
    fn new(
        session: &'a SessionId,
        stored: &'a StoredReceipt,
        verification: Option<&'a Verification>,
    ) -> Self {
        let Link { entry, format, native_session_id, direction, path, .. } = &stored.link;
        let items = stored.receipt.items.iter().map(|item| ItemRecord {
            entry: item.entry,
            kind: item.kind.as_str(),
            bytes: item.bytes,
            outcome: ["kept", "reshaped", "shortened", "left_out"][item.status.index()],
            kept_bytes: match item.status {
                ItemStatus::Shortened { kept_bytes, .. } => Some(kept_bytes),
                _ => None,
            },
            reason: item.status.reason(),
        });
        Self {
            receipt_id: entry.as_str(),
            session_id: session.as_str(),
            agent: format.as_str(),
            native_session_id,
            direction: direction.as_str(),
            path: path.as_deref(),
            total: stored.receipt.total(),
            totals: TotalsRecord::new(&stored.receipt),
            items: items.collect(),
            verified: verification.map(|found| VerifiedRecord {
                ok: found.is_ok(),
                changed_entries: &found.changed_entries,
                native_problem: found.native.as_ref().err().map(String::as_str),
            }),
        }
    }
}
