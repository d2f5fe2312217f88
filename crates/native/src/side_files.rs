//! The files of sub-agents that older versions of Claude Code wrote next to the sessions of a project. The first record
//! of each names its session.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use tertulia_dialect::native::NativeFormat;
use tertulia_session::json::{self, Object};

use crate::places::{collect, is_side_file};
use crate::read::open;
use crate::{FoundSession, Place};

/// A first record that is longer is not read.
const FIRST_MAX: u64 = 256 << 10;

/// Adds the files of sub-agents to the sessions that started them.
pub(crate) fn attach(sessions: &mut [FoundSession]) {
    let mut folders: HashMap<PathBuf, Vec<&mut FoundSession>> = HashMap::new();
    for session in sessions.iter_mut().filter(|session| session.format == NativeFormat::Claude) {
        let Place::File(path) = &session.place else { continue };
        let Some(folder) = path.parent().map(Path::to_owned) else { continue };
        folders.entry(folder).or_default().push(session);
    }
    for (folder, mut sessions) in folders {
        let mut files = Vec::new();
        collect(&folder, 0, &is_side_file, &mut files);
        files.sort();
        for file in files {
            let Some(id) = session_of(&file) else { continue };
            let is_its = |session: &&mut &mut FoundSession| {
                session.place.path() != file
                    && session.place.path().file_stem().is_some_and(|stem| *stem == *id)
            };
            let found = sessions.iter_mut().find(is_its);
            if let Some(session) = found {
                session.side_files.push(file);
            }
        }
    }
}

/// Returns the session that the first record of a file names.
fn session_of(file: &Path) -> Option<String> {
    let mut first = Vec::new();
    BufReader::new(open(file).ok()?.take(FIRST_MAX)).read_until(b'\n', &mut first).ok()?;
    let record = json::parse(std::str::from_utf8(&first).ok()?).ok()?;
    Object::try_from(record).ok()?.take_text("sessionId").ok()?
}
