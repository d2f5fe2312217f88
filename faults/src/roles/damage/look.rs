//! A process that looks at damaged copies of a store, one after the other, and compares what it gets
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

/// Every so-manieth file is searched as well.
const SEARCHED_EVERY: usize = 16;

type Truth = BTreeMap<SessionId, Vec<StoredEntry>>;

/// How damage came to light, the earliest way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Opening,
    Reading,
    Verifying,
    Checking,
    /// It did not: all entries are there and as they were.
    Harmless,
    /// It did not, and only a time or a count beside an entry is another.
    Beside,
    /// The journal ends earlier, and with it the newest entries are gone.
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

/// Carries out the role.
pub(crate) fn inside(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("damage-inside", arguments, &["kind", "folder", "places"])?;
    let kind = Kind::parse(options.needed("kind")?);
    let kind = kind.ok_or_else(|| FaultsError::Usage("that is no kind of damage".to_owned()))?;
    let folder = PathBuf::from(options.needed("folder")?);
    let places = options.needed("places")?;
    let places = std::fs::read_to_string(places).map_err(FaultsError::at(Path::new(places)))?;
    let read = |file: &Path| std::fs::read(file).map_err(FaultsError::at(file));
    let bytes = read(&database(&folder))?;
    let journal = journal_of(&folder).exists().then(|| read(&journal_of(&folder))).transpose()?;
    let scratch = Scratch::in_memory()?;
    let mut look = Look { kind, bytes, journal, scratch, truth: Truth::new() };
    look.lay_out(None)?;
    look.truth = truth(&open(&database(look.scratch.path()))?)?;
    let mut counts: BTreeMap<Found, u64> = BTreeMap::new();
    let mut readable = 0;
    for (index, place) in places.lines().enumerate() {
        let place = place.parse().map_err(|_| FaultsError::unfit("a place is no number"))?;
        look.lay_out(Some(place))?;
        let seen = look.at(index % SEARCHED_EVERY == 0);
        if let Some(what) = seen.broken(kind) {
            println!("broken\t{} at {place}: {what}", kind.name());
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

/// The store and how it is damaged.
struct Look {
    kind: Kind,
    bytes: Vec<u8>,
    journal: Option<Vec<u8>>,
    scratch: Scratch,
    truth: Truth,
}

/// What was seen of a damaged store.
struct Seen {
    found: Found,
    /// Entries that came back as they were written.
    good: u64,
    /// Entries that came back changed.
    changed: Vec<String>,
    /// Whether entries or sessions are missing, or too many.
    is_other: bool,
    is_beside: bool,
}

impl Seen {
    fn broken(&self, kind: Kind) -> Option<String> {
        if !self.changed.is_empty() {
            return Some(format!("served as good: {:?}", self.changed));
        }
        let is_silent = self.found >= Found::Harmless && self.is_other;
        (is_silent && kind != Kind::JournalBit).then(|| "entries are gone silently".to_owned())
    }
}

impl Look {
    /// Puts the files into an empty folder, damaged at a place.
    fn lay_out(&self, place: Option<u64>) -> Result<(), FaultsError> {
        let folder = self.scratch.path();
        clear(folder)?;
        let (mut bytes, mut journal) = (self.bytes.clone(), self.journal.clone());
        if let Some(place) = place {
            match (self.kind, &mut journal) {
                (Kind::JournalBit, Some(journal)) => self.kind.apply(journal, place),
                _ => self.kind.apply(&mut bytes, place),
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
            // The index is no promise, but looking into it must come to an end too.
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
            // What stands at another place, or in another session, is for verify and check to find.
            _ if truth.values().flatten().any(|one| one.entry == entry.entry) => {
                seen.is_other = true;
            }
            _ => seen.changed.push(entry.entry.id.to_string()),
        }
    }
    seen.is_other |= count != log.len();
    None
}
