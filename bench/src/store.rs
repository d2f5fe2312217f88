//! Measures the speed of the store, compared in the same run and on the same disk with plain SQLite of the same
//! durability, and with raw appends to a file. Run by `cargo xtask bench store`.

mod appends;
mod imports;
mod lone;
mod reads;
mod searches;
mod yardsticks;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tertulia_session::{
    Entry, EntryId, EntryKind, Message, NewEntry, Speaker, SpeakerType, Timestamp,
};
use tertulia_store::{Import, NewSession, SessionId, SessionStore, StoreUrl};

use crate::arguments::Scale;
use crate::report::{all_hold, table};

/// Measures all figures in this folder, which must be on the measured disk.
pub(crate) fn run(
    folder: &Path,
    scale: &Scale,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let ground = Ground::new(folder)?;
    eprintln!("measuring appends …");
    let appends = appends::measure(&ground, scale)?;
    eprintln!("measuring imports …");
    let imports = imports::measure(&ground, scale)?;
    eprintln!("filling a store …");
    let filled = ground.filled("large", scale.stored_messages)?;
    eprintln!("measuring reads …");
    let reads = reads::measure(&ground, &filled, scale)?;
    eprintln!("measuring searches …");
    let searches = searches::measure(&filled, scale)?;
    let themes = [appends, imports, reads, searches];
    writer.write_all(table(&themes).as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the times of appends and tail reads as JSON, for a comparison with other programs.
pub(crate) fn times(folder: &Path, writer: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let ground = Ground::new(folder)?;
    let (appends, microseconds) = lone::alone(&ground)?;
    let tail = reads::tail_alone(&ground)?;
    let line = serde_json::json!({
        "appendsPerSecond": appends,
        "appendMicroseconds": microseconds,
        "tailMicroseconds": tail,
    });
    writeln!(writer, "{line}")?;
    Ok(ExitCode::SUCCESS)
}

/// A folder on the disk, removed when it is dropped.
pub(crate) struct Ground {
    folder: PathBuf,
}

impl Ground {
    pub(crate) fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = folder.join(format!("bench-store-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Returns a file name that is not used in this run.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, Box<dyn Error>> {
        let number = fs::read_dir(&self.folder)?.count();
        Ok(self.folder.join(format!("{name}-{number}")))
    }

    /// Returns a copy of a program.
    pub(crate) fn installed(&self, program: &Path) -> Result<PathBuf, Box<dyn Error>> {
        let copy = self.file("program")?;
        fs::copy(program, &copy)?;
        Ok(copy)
    }

    pub(crate) fn store(&self, name: &str) -> Result<(SessionStore, PathBuf), Box<dyn Error>> {
        let file = self.file(name)?;
        Ok((SessionStore::open(&StoreUrl::Sqlite(file.clone()))?, file))
    }

    /// Returns a store with one session of this many entries and one of 1,000 entries, all of them indexed.
    pub(crate) fn filled(&self, name: &str, entries: usize) -> Result<PathBuf, Box<dyn Error>> {
        let (store, file) = self.store(name)?;
        for (session, count) in [("small", 1000), ("large", entries)] {
            let mut import = Import::begin(&store)?;
            for number in 0..count {
                import.push(said(number, &prose(number, 300)))?;
            }
            import.finish(&NewSession { id: Some(session.parse::<SessionId>()?) })?;
        }
        store.catch_up(|_| {})?;
        Ok(file)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // An error is ignored, because nothing can be done about it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the message of this number, after the one before it.
pub(crate) fn said(number: usize, text: &str) -> Entry {
    let speaker = Speaker::new("ann", "Ann", SpeakerType::Human);
    let message = EntryKind::Message(Message::said(speaker, text));
    let time = Timestamp::from_millis(1_760_000_000_000 + number as i64 * 1000);
    let entry = NewEntry::new(message).at(time).with_id(id(number));
    Entry { parent_id: number.checked_sub(1).map(id), ..entry }
}

/// Returns an id that is as random and as long as ids made from content.
pub(crate) fn id(number: usize) -> EntryId {
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    EntryId::from(format!("e-{mixed:016x}{number:016x}"))
}

/// Returns words with frequencies like those of a natural language.
pub(crate) fn prose(number: usize, bytes: usize) -> String {
    let mut state = number as u64 + 1;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Words of a lower rank are more frequent, about as in texts of people.
        let rank = (20_000_f64.powf((state >> 11) as f64 / (1_u64 << 53) as f64)) as u64;
        text.push_str(&format!("w{rank} "));
    }
    text.truncate(bytes);
    text
}
