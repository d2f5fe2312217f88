//! Lists all sessions of all agents on this machine, by reading the first and last bytes of each file.

use std::path::PathBuf;
use std::thread;

use tertulia_dialect::native::NativeFormat;

use crate::database::remove_abandoned;
use crate::locate::{in_database, sort};
use crate::peek::peek;
use crate::places::{Candidate, candidates};
use crate::side_files::attach;
use crate::{Environment, FoundSession, NativeError, tree};

/// Number of files for each thread. Fewer files are not worth another thread.
const FILES_PER_THREAD: usize = 200;
const THREADS_MAX: usize = 8;

/// The sessions on this machine.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, newest first.
    pub sessions: Vec<FoundSession>,
    /// Files and databases that could not be read.
    pub problems: Vec<NativeError>,
}

/// Finds the sessions of these agents. Continues after a file that cannot be read.
pub fn list(environment: &Environment, formats: &[NativeFormat]) -> Listing {
    remove_abandoned(environment.temporary());
    let mut listing = Listing::default();
    let mut files: Vec<(NativeFormat, PathBuf)> = Vec::new();
    for format in formats {
        for candidate in candidates(environment, *format) {
            match candidate {
                Candidate::File(path) => files.push((*format, path)),
                Candidate::Tree(path) => {
                    listing.add(tree::peek(&path).map(|session| vec![session]))
                }
                Candidate::Database(path) => {
                    listing.add(in_database(environment, &path));
                }
            }
        }
    }
    let cores = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let threads = (files.len() / FILES_PER_THREAD).clamp(1, cores);
    let share = files.len().div_ceil(threads).max(1);
    let glance = |part: &[(NativeFormat, PathBuf)]| -> Vec<Result<FoundSession, NativeError>> {
        part.iter().map(|(format, path)| peek(path, *format)).collect()
    };
    thread::scope(|scope| {
        let parts: Vec<_> =
            files.chunks(share).map(|part| scope.spawn(move || glance(part))).collect();
        for part in parts {
            // A thread that panicked has no result. The results of the others are used.
            for found in part.join().unwrap_or_default() {
                listing.add(found.map(|session| vec![session]));
            }
        }
    });
    attach(&mut listing.sessions);
    sort(&mut listing.sessions);
    listing
}

impl Listing {
    fn add(&mut self, found: Result<Vec<FoundSession>, NativeError>) {
        match found {
            Ok(sessions) => self.sessions.extend(sessions.into_iter().filter(is_begun)),
            // The file was removed meanwhile.
            Err(error) if error.is_missing() => {}
            Err(error) => self.problems.push(error),
        }
    }
}

/// Returns whether a session has any content.
fn is_begun(session: &FoundSession) -> bool {
    session.size != Some(0)
}
