//! A process that reads damaged copies of a store, one after the other, and compares the results
//! with what was written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tertulia_store::{
    ListFilter, Range, SearchQuery, SessionId, SessionStore, StoreError, StoredEntry,
};

use super::{Kind, database, journal_of};
use crate::error::FaultsError;
use crate::options::Options;
use crate::scratch::{Scratch, clear, open, put};

/// Every n-th file is also searched.
const SEARCHED_EVERY: usize = 16;

type Truth = BTreeMap<SessionId, Vec<StoredEntry>>;

/// How damage was first detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Opening,
    Reading,
    Verifying,
    Checking,
    /// Not detected: all entries are present and unchanged.
    Harmless,
    /// Not detected, and only a time or a count next to an entry has changed.
    Beside,
    /// The journal ends earlier, and the newest entries are missing.
    ShorterJournal,
}

impl Found {
    fn name(self) -> &'static str {
        match self {
            Self::Opening => "found on opening",
            Self::Reading => "on reading",
            Self::Verifying => "by verify",
            Self::Checking => "by check",
            Self::Harmless => "without effect",
            Self::Beside => "changed a time or count only",
            Self::ShorterJournal => "cut the journal short",
        }
    }
}

/// Runs the role.
pub(crate) fn inside(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("damage-inside", arguments, &["kind", "folder", "positions"])?;
    let kind = Kind::parse(options.needed("kind")?);
    let kind = kind.ok_or_else(|| FaultsError::Usage("this is not a kind of damage".to_owned()))?;
    let folder = PathBuf::from(options.needed("folder")?);
    let positions = options.needed("positions")?;
    let positions =
        std::fs::read_to_string(positions).map_err(FaultsError::at(Path::new(positions)))?;
    let read = |file: &Path| std::fs::read(file).map_err(FaultsError::at(file));
    let bytes = read(&database(&folder))?;
    let journal = journal_of(&folder).exists().then(|| read(&journal_of(&folder))).transpose()?;
    let scratch = Scratch::in_memory()?;
    let mut look = Look { kind, bytes, journal, scratch, truth: Truth::new() };
    look.lay_out(None)?;
    look.truth = truth(&open(&database(look.scratch.path()))?)?;
    let mut counts: BTreeMap<Found, u64> = BTreeMap::new();
    let mut readable = 0;
    for (index, position) in positions.lines().enumerate() {
        let position =
            position.parse().map_err(|_| FaultsError::unexpected("a position is no number"))?;
        look.lay_out(Some(position))?;
        let seen = look.at(index % SEARCHED_EVERY == 0);
        if let Some(what) = seen.broken(kind) {
            println!("broken\t{} at {position}: {what}", kind.name());
        }
        readable += seen.good;
        *counts.entry(seen.found).or_default() += 1;
    }
    println!("{}\t{}", kind.name(), counts.values().sum::<u64>());
    for (found, count) in counts {
        println!("{}\t{count}", found.name());
    }
    println!("entries read all the same\t{readable}");
    Ok(true)
}

fn truth(store: &SessionStore) -> Result<Truth, StoreError> {
    let sessions = store.list(&ListFilter::default())?;
    sessions
        .into_iter()
        .map(|info| Ok((info.id.clone(), store.load(&info.id, &Range::All)?)))
        .collect()
}

/// The store and its damage.
struct Look {
    kind: Kind,
    bytes: Vec<u8>,
    journal: Option<Vec<u8>>,
    scratch: Scratch,
    truth: Truth,
}

/// Observations of a damaged store.
struct Seen {
    found: Found,
    /// Entries returned as written.
    good: u64,
    /// Entries returned changed.
    changed: Vec<String>,
    /// Whether entries or sessions are missing or superfluous.
    is_other: bool,
    is_beside: bool,
}

impl Seen {
    fn broken(&self, kind: Kind) -> Option<String> {
        if !self.changed.is_empty() {
            return Some(format!("served as good: {:?}", self.changed));
        }
        let is_silent = self.found >= Found::Harmless && self.is_other;
        (is_silent && kind != Kind::JournalBit)
            .then(|| "entries are missing without an error".to_owned())
    }
}

impl Look {
    /// Writes the files into an empty folder, damaged at a position.
    fn lay_out(&self, position: Option<u64>) -> Result<(), FaultsError> {
        let folder = self.scratch.path();
        clear(folder)?;
        let (mut bytes, mut journal) = (self.bytes.clone(), self.journal.clone());
        if let Some(position) = position {
            match (self.kind, &mut journal) {
                (Kind::JournalBit, Some(journal)) => self.kind.apply(journal, position),
                _ => self.kind.apply(&mut bytes, position),
            }
        }
        put(&database(folder), &bytes)?;
        journal.map_or(Ok(()), |journal| put(&journal_of(folder), &journal))
    }

    fn at(&self, is_searched: bool) -> Seen {
        let mut seen = Seen {
            found: Found::Harmless,
            good: 0,
            changed: Vec::new(),
            is_other: false,
            is_beside: false,
        };
        let Ok(store) = open(&database(self.scratch.path())) else {
            return Seen { found: Found::Opening, ..seen };
        };
        let mut ways = Vec::new();
        match store.list(&ListFilter::default()) {
            Ok(list) => seen.is_other |= list.len() != self.truth.len(),
            Err(_) => ways.push(Found::Reading),
        }
        for id in self.truth.keys() {
            ways.extend(read(&store, id, &self.truth, &mut seen));
            match store.verify(id) {
                Ok(verified) if verified.damage.is_none() => {}
                _ => ways.push(Found::Verifying),
            }
        }
        if !store.check().is_ok_and(|lines| lines.is_empty()) {
            ways.push(Found::Checking);
        }
        if is_searched {
            // The index is not guaranteed, but a search must return too.
            let query = SearchQuery { text: "a*".to_owned(), ..SearchQuery::default() };
            let _ = store.search(&query);
        }
        let nothing = match (self.kind, seen.is_other, seen.is_beside) {
            (Kind::JournalBit, true, _) => Found::ShorterJournal,
            (_, _, true) => Found::Beside,
            _ => Found::Harmless,
        };
        seen.found = ways.into_iter().min().unwrap_or(nothing);
        seen
    }
}

/// Reads a session up to the first error, and compares.
fn read(store: &SessionStore, id: &SessionId, truth: &Truth, seen: &mut Seen) -> Option<Found> {
    let log = truth.get(id).map_or(&[][..], Vec::as_slice);
    let entries = match store.entries(id, &Range::All) {
        Ok(entries) => entries,
        Err(StoreError::SessionNotFound(_)) => {
            seen.is_other = true;
            return None;
        }
        Err(_) => return Some(Found::Reading),
    };
    let mut count = 0;
    for (index, entry) in entries.enumerate() {
        let Ok(entry) = entry else { return Some(Found::Reading) };
        count += 1;
        match log.get(index) {
            Some(written) if written.entry == entry.entry && written.seq == entry.seq => {
                seen.good += 1;
                seen.is_beside |= *written != entry;
            }
            // Entries at another position or in another session are for verify and check to detect.
            _ if truth.values().flatten().any(|one| one.entry == entry.entry) => {
                seen.is_other = true;
            }
            _ => seen.changed.push(entry.entry.id.to_string()),
        }
    }
    seen.is_other |= count != log.len();
    None
}
