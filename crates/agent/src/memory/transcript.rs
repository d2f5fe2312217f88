//! The file of a native session: its state after a turn, and how it differs from that state later. Every byte up to the
//! recorded state has to be the same. Behind it, only records that the agent writes for itself may follow.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use tertulia_dialect::native::{NativeFormat, Tail, read_tail};

use super::{Drift, NativeHead};

/// Maximum size of what a turn may append. Longer appends are not read, so the session cannot be continued.
const TAIL_BYTES_MAX: u64 = 512 * 1024 * 1024;
const LOOK: Duration = Duration::from_millis(5);

/// A file that was read to its end.
#[derive(Debug)]
pub(crate) struct Scan {
    /// Number of bytes up to the last line feed.
    pub(crate) bytes: u64,
    /// Hash of these bytes in hex.
    pub(crate) hash: Box<str>,
    pub(crate) tail: Tail,
    format: NativeFormat,
    appended: Vec<u8>,
    is_complete: bool,
}

/// Reads a file. The part that `before` describes must not have changed.
pub(crate) fn scan(
    format: NativeFormat,
    path: &Path,
    before: Option<&NativeHead>,
) -> Result<Scan, Drift> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Drift::Missing { path: Some(path.to_owned()) },
        _ => Drift::Unreadable { path: Some(path.to_owned()), reason: error.to_string().into() },
    };
    let mut file = File::open(path).map_err(failed)?;
    let state = file.metadata().map_err(failed)?;
    if !state.is_file() {
        return Err(Drift::Unreadable {
            path: Some(path.to_owned()),
            reason: "it is no file".into(),
        });
    }
    let length = state.len();
    let known = before.map_or(0, |head| head.bytes);
    if length < known {
        return Err(Drift::Shortened { path: path.to_owned() });
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.by_ref().take(known)).map_err(failed)?;
    if before.is_some_and(|head| *hasher.finalize().to_hex() != *head.hash) {
        return Err(changed(format, path, before));
    }
    let mut appended = Vec::new();
    file.take(TAIL_BYTES_MAX + 1).read_to_end(&mut appended).map_err(failed)?;
    if appended.len() as u64 > TAIL_BYTES_MAX {
        let reason = "more was added than Tertulia reads".into();
        return Err(Drift::Unreadable { path: Some(path.to_owned()), reason });
    }
    let whole = appended.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let is_complete = whole == appended.len();
    hasher.update(appended.get(..whole).unwrap_or_default());
    let last_record = before.and_then(|head| head.last_record.as_deref());
    let tail = read_tail(format, &appended, last_record.or(before.map(|_| "")));
    let (bytes, hash) = (known + whole as u64, hasher.finalize().to_hex().as_str().into());
    Ok(Scan { bytes, hash, tail, format, appended, is_complete })
}

/// Returns whether the known part was edited or the file is that of another session.
fn changed(format: NativeFormat, path: &Path, before: Option<&NativeHead>) -> Drift {
    const BEGINNING_BYTES: u64 = 256 * 1024;
    let beginning = crate::process::read_prefix(path, BEGINNING_BYTES).unwrap_or_default();
    let found = read_tail(format, &beginning, None).session;
    match (found, before) {
        (Some(found), Some(head)) if found != head.session => Drift::OtherSession { found },
        _ => Drift::Edited { path: Some(path.to_owned()) },
    }
}

/// Compares a file with the state in which the last turn left it.
pub(crate) fn check(format: NativeFormat, path: &Path, head: &NativeHead) -> Result<(), Drift> {
    let tail = scan(format, path, Some(head))?.tail;
    match tail {
        Tail { is_compacted: true, .. } => Err(Drift::Compacted),
        Tail { is_forked: true, .. } => Err(Drift::Forked),
        Tail { messages: 0, .. } => Ok(()),
        Tail { messages, .. } => Err(Drift::Continued { messages }),
    }
}

/// Reads a file after a turn. Waits until the agent has written the turn: its prompt, which contains `trace`, and its
/// answer, if it has answered. Fails if that takes longer than `wait`.
pub(crate) fn scan_turn(
    format: NativeFormat,
    path: &Path,
    before: Option<&NativeHead>,
    trace: Option<&str>,
    is_answered: bool,
    wait: Duration,
) -> Result<Scan, Drift> {
    let until = Instant::now() + wait;
    loop {
        let scanned = scan(format, path, before);
        let is_over = Instant::now() >= until;
        match scanned {
            Ok(scan) if scan.has_turn(trace, is_answered) => return Ok(scan),
            Ok(_) if is_over => {
                let reason = "the agent did not write the turn into it".into();
                return Err(Drift::Unreadable { path: Some(path.to_owned()), reason });
            }
            Err(Drift::Missing { .. }) | Ok(_) if !is_over => std::thread::sleep(LOOK),
            Err(drift) => return Err(drift),
            Ok(scan) => return Ok(scan),
        }
    }
}

impl Scan {
    /// Returns whether these bytes contain a turn: its prompt, and its answer if it was answered.
    pub(crate) fn has_turn(&self, trace: Option<&str>, is_answered: bool) -> bool {
        let has_prompt = match trace {
            Some(trace) => self.has_prompt(trace),
            None => self.tail.messages > 0,
        };
        self.is_complete && has_prompt && (self.tail.is_answered || !is_answered)
    }

    /// Returns whether these bytes contain the prompt of the turn with this trace. Codex records the beginning of a turn
    /// before its prompt, so the trace alone does not prove it.
    fn has_prompt(&self, trace: &str) -> bool {
        let Some(turn) = from_line_with(&self.appended, trace.as_bytes()) else { return false };
        self.format != NativeFormat::Codex || read_tail(self.format, turn, Some("")).prompts > 0
    }
}

/// Returns the lines from the first one on that contains this word.
fn from_line_with<'b>(bytes: &'b [u8], word: &[u8]) -> Option<&'b [u8]> {
    let at = bytes.windows(word.len().max(1)).position(|window| window == word)?;
    let start = bytes.get(..at)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.get(start..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::Settings;

    const CLAUDE: &str = r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s-1"}
{"type":"user","uuid":"u-1","parentUuid":null,"sessionId":"s-1","isSidechain":false,"message":{"role":"user","content":"Why?"}}
{"type":"assistant","uuid":"a-1","parentUuid":"u-1","sessionId":"s-1","isSidechain":false,"message":{"id":"m-1","role":"assistant","content":[{"type":"text","text":"So."}]}}
{"type":"last-prompt","lastPrompt":"Why?","sessionId":"s-1"}
"#;
    const CODEX: &str = r#"{"timestamp":"2026-03-02T10:00:01.000Z","ordinal":0,"type":"session_meta","payload":{"id":"s-1"}}
{"timestamp":"2026-03-02T10:00:02.000Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why?"}]}}
{"timestamp":"2026-03-02T10:00:03.000Z","ordinal":2,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]}}
"#;
    const FILES: [(NativeFormat, &str); 2] =
        [(NativeFormat::Claude, CLAUDE), (NativeFormat::Codex, CODEX)];

    fn head(scan: &Scan) -> NativeHead {
        NativeHead {
            agent: "a".into(),
            session: "s-1".into(),
            path: None,
            bytes: scan.bytes,
            hash: scan.hash.clone(),
            messages: scan.tail.messages,
            last_record: scan.tail.last_record.clone(),
            is_compacted: false,
            program: "p".into(),
            settings: Settings::default(),
            process: None,
            totals: crate::Totals::default(),
        }
    }

    /// Returns the result of a check after the file got this content.
    fn check_after(format: NativeFormat, before: &str, after: &[u8]) -> Result<(), Drift> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, before).unwrap();
        let head = head(&scan(format, &path, None).unwrap());
        assert_eq!(check(format, &path, &head), Ok(()));
        std::fs::write(&path, after).unwrap();
        check(format, &path, &head)
    }

    #[test]
    fn a_turn_is_found_once_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let wait = Duration::ZERO;
        let find = |bytes: &str, trace: &str| {
            std::fs::write(&path, bytes).unwrap();
            scan_turn(NativeFormat::Claude, &path, None, Some(trace), true, wait).is_ok()
        };
        assert!(find(CLAUDE, "u-1"));
        assert!(!find(CLAUDE, "u-2"), "another prompt");
        assert!(!find(CLAUDE.trim_end(), "u-1"), "the last line is not complete");
        let lines: Vec<&str> = CLAUDE.split_inclusive('\n').collect();
        assert!(!find(&lines[..2].concat(), "u-1"), "the answer is missing");
    }

    #[test]
    fn a_file_of_another_session_is_named() {
        for (format, file) in FILES {
            let other = file.replace("s-1", "s-2");
            let drift = check_after(format, file, other.as_bytes());
            assert_eq!(drift, Err(Drift::OtherSession { found: "s-2".into() }));
        }
    }

    proptest! {
        #[test]
        fn any_change_of_the_known_part_is_noticed(
            number in 0..2_usize,
            place in any::<prop::sample::Index>(),
            kind in 0..5,
            byte in any::<u8>(),
        ) {
            let (format, file) = FILES[number];
            let at = place.index(file.len());
            let mut after = file.as_bytes().to_vec();
            match kind {
                0 => after[at] ^= byte | 1,
                1 => drop(after.remove(at)),
                2 => after.insert(at, byte),
                3 => after.truncate(at),
                _ => after.rotate_left(at),
            }
            prop_assume!(!after.starts_with(file.as_bytes()));
            prop_assert!(check_after(format, file, &after).is_err());
        }

        #[test]
        fn only_records_of_the_agent_itself_may_follow(
            number in 0..2_usize,
            lines in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        ) {
            let (format, file) = FILES[number];
            let all: Vec<&str> = file.split_inclusive('\n').collect();
            let added: Vec<&str> = lines.iter().map(|line| *line.get(&all)).collect();
            let is_own = |line: &&str| !line.contains("\"role\"");
            let after = [&[file], &added[..]].concat().concat();
            let is_unchanged = added.iter().all(is_own);
            prop_assert_eq!(check_after(format, file, after.as_bytes()).is_ok(), is_unchanged);
        }
    }
}
