//! What a writer did to its folder, from the log of strace: writes, syncs, new and removed files, and
//! between them what it acknowledged. Only reads text; [`super::disk`] makes images of it.

use std::collections::HashMap;

use crate::error::FaultsError;
use crate::ledger::Line;

/// The calls that are traced.
pub(super) const CALLS: &str = "pwrite64,pwritev,write,fsync,fdatasync,sync_file_range,ftruncate,\
                                fallocate,openat,unlink,unlinkat,rename,renameat,renameat2";

/// One step, in the order in which they happened. Files are named without their folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: usize,
    },
    /// A file was opened that may have been made by it.
    Make {
        file: String,
    },
    Remove {
        file: String,
    },
    Sync {
        file: String,
    },
    /// A sync that returned an error: nobody knows what is on the disk, and no later sync tells.
    SyncFailed {
        file: String,
    },
    SyncFolder,
    /// Something was said to whoever waits.
    Said(Line),
}

/// Reads a log of `strace -f -y -xx`.
pub(super) fn read(log: &str, folder: &str) -> Result<Vec<Step>, FaultsError> {
    let mut steps = Vec::new();
    // Calls that had not returned when another thread's was logged.
    let mut begun: HashMap<&str, Call> = HashMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(head) = rest.strip_suffix("<unfinished ...>") {
            let Some(call) = Call::read(head, None) else { continue };
            // Its effect may be there from now on; a sync helps only once it has returned.
            match call.is_sync() {
                true => drop(begun.insert(thread, call)),
                false => steps.extend(call.step(folder)?),
            }
        } else if rest.starts_with("<... ") {
            if let Some(call) = begun.remove(thread) {
                steps.extend(call.ended(folder, rest)?);
            }
        } else if let Some(call) = Call::read(rest, rest.find(") ")) {
            steps.extend(call.ended(folder, rest)?);
        }
    }
    Ok(steps)
}

/// The folder of the file of this name, which some call in the log names.
pub(super) fn folder_of(log: &str, name: &str) -> Option<String> {
    let escaped: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let end = log.find(&escaped)?;
    let begin = log.get(..end)?.rfind(['"', '<'])?;
    String::from_utf8(unescaped(log.get(begin + 1..end)?)?).ok()
}

fn succeeded(line: &str) -> bool {
    line.rsplit_once(" = ").is_some_and(|(_, value)| !value.starts_with(['-', '?']))
}

/// A call and its arguments.
#[derive(Clone, Debug)]
struct Call {
    name: String,
    arguments: Vec<String>,
}

impl Call {
    fn read(text: &str, end: Option<usize>) -> Option<Self> {
        let (name, _) = text.split_once('(')?;
        let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let inner = text.get(name.len() + 1..end.unwrap_or(text.len()))?;
        // Texts and paths are all in hexadecimal, so a comma is always between two arguments.
        let arguments = inner.split(", ").map(|one| one.trim().to_owned()).collect();
        Some(Self { name: name.to_owned(), arguments })
    }

    fn is_sync(&self) -> bool {
        matches!(self.name.as_str(), "fsync" | "fdatasync")
    }

    fn argument(&self, index: usize) -> Result<&str, FaultsError> {
        self.arguments.get(index).map(String::as_str).ok_or_else(|| self.odd())
    }

    fn odd(&self) -> FaultsError {
        let arguments: String = self.arguments.join(", ").chars().take(200).collect();
        FaultsError::unfit(format!("the trace holds `{}({arguments})`", self.name))
    }

    fn number(&self, index: usize) -> Result<usize, FaultsError> {
        self.argument(index)?.parse().map_err(|_| self.odd())
    }

    /// What it did, by how it ended.
    fn ended(&self, folder: &str, line: &str) -> Result<Option<Step>, FaultsError> {
        if succeeded(line) {
            return self.step(folder);
        }
        let step = if self.is_sync() { self.step(folder)? } else { None };
        Ok(step.map(|step| match step {
            Step::Sync { file } => Step::SyncFailed { file },
            // SQLite does not hear of an error of a folder. The name of a file is safe all the same on
            // the file systems in use, since the file itself is synced; that is not for us to prove.
            other => other,
        }))
    }

    /// What it did in the folder, if it did something there.
    fn step(&self, folder: &str) -> Result<Option<Step>, FaultsError> {
        let path = match self.name.as_str() {
            "unlink" => text_of(self.argument(0)?),
            "openat" | "unlinkat" => text_of(self.argument(1)?),
            name if name.starts_with("rename") => text_of(self.argument(0)?),
            _ => self.path_of_handle()?,
        };
        let path = path.ok_or_else(|| self.odd())?;
        if self.name == "write" && self.argument(0)?.starts_with("1<") {
            let said = bytes_of(self.argument(1)?).and_then(|bytes| String::from_utf8(bytes).ok());
            let line = said.and_then(|said| Line::read(said.trim_end()));
            return line.map(|line| Some(Step::Said(line))).ok_or_else(|| self.odd());
        }
        if path == folder {
            return Ok(self.is_sync().then_some(Step::SyncFolder));
        }
        let Some(file) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else {
            return Ok(None);
        };
        // What lies in shared memory is made anew by whoever opens the file first.
        if file.ends_with("-shm") {
            return Ok(None);
        }
        let file = file.to_owned();
        Ok(match self.name.as_str() {
            "pwrite64" => {
                let bytes = bytes_of(self.argument(1)?).ok_or_else(|| self.odd())?;
                Some(Step::Write { file, offset: self.number(3)?, bytes })
            }
            "ftruncate" => Some(Step::Truncate { file, length: self.number(1)? }),
            "fsync" | "fdatasync" => Some(Step::Sync { file }),
            "unlink" | "unlinkat" => Some(Step::Remove { file }),
            "openat" if self.argument(2)?.contains("O_CREAT") => Some(Step::Make { file }),
            "openat" => None,
            // A call that the model of the disk does not know would make it lie.
            _ => return Err(self.odd()),
        })
    }

    /// `3<\x2f\x74…>`
    fn path_of_handle(&self) -> Result<Option<String>, FaultsError> {
        let argument = self.argument(0)?;
        let path = argument.split_once('<').and_then(|(_, path)| path.strip_suffix('>'));
        Ok(path.and_then(unescaped).and_then(|bytes| String::from_utf8(bytes).ok()))
    }
}

fn text_of(argument: &str) -> Option<String> {
    String::from_utf8(bytes_of(argument)?).ok()
}

/// `"\x2f\x74"`; nothing if strace cut it.
fn bytes_of(argument: &str) -> Option<Vec<u8>> {
    unescaped(argument.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    if !text.contains("\\x") {
        return Some(text.as_bytes().to_vec());
    }
    let mut parts = text.split("\\x");
    // Before the first there must be nothing.
    parts.next().filter(|before| before.is_empty())?;
    parts.map(|hex| (hex.len() == 2).then(|| u8::from_str_radix(hex, 16).ok())?).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    fn check(log: &str, expected: &[Step]) {
        let log = log.replace("DB", &hex("/d/a.db")).replace("DIR", &hex("/d"));
        assert_eq!(read(&log, "/d").unwrap(), expected);
    }

    #[test]
    fn writes_and_syncs_are_read() {
        check(
            "7 pwrite64(5<DB>, \"\\x01\\x02\", 2, 512) = 2\n7 fsync(5<DB>) = 0\n7 fsync(6<DIR>) = 0\n",
            &[
                Step::Write { file: "a.db".to_owned(), offset: 512, bytes: vec![1, 2] },
                Step::Sync { file: "a.db".to_owned() },
                Step::SyncFolder,
            ],
        );
    }

    #[test]
    fn a_sync_counts_when_it_returns_and_a_write_when_it_begins() {
        check(
            "7 fsync(5<DB> <unfinished ...>\n8 ftruncate(5<DB>, 0 <unfinished ...>\n\
             7 <... fsync resumed>) = 0\n8 <... ftruncate resumed>) = 0\n",
            &[
                Step::Truncate { file: "a.db".to_owned(), length: 0 },
                Step::Sync { file: "a.db".to_owned() },
            ],
        );
    }

    #[test]
    fn calls_that_failed_and_files_of_others_are_passed_over() {
        let other = hex("/etc/hosts");
        let log = format!(
            "7 ftruncate(5<DB>, 0) = -1 EIO (Input/output error)\n7 unlink(\"DB\") = -1 ENOENT (No such)\n\
             7 openat(AT_FDCWD<DIR>, \"{other}\", O_RDWR|O_CREAT, 0600) = 3<{other}>\n"
        );
        check(&log, &[]);
    }

    #[test]
    fn a_sync_that_failed_is_told_apart() {
        let failed = Step::SyncFailed { file: "a.db".to_owned() };
        check("7 fsync(5<DB>) = -1 EIO (Input/output error) (INJECTED)\n", &[failed]);
    }

    #[test]
    fn what_was_said_is_read() {
        let said = hex("stored s1 w-0 4\n");
        let batch = crate::batch::Batch::new("w-0", 4);
        let line = Line::Stored { session: "s1".to_owned(), batch };
        check(&format!("7 write(1<DIR>, \"{said}\", 16) = 16\n"), &[Step::Said(line)]);
    }

    #[test]
    fn a_call_that_the_model_does_not_know_is_an_error() {
        let file = hex("/d/a.db");
        assert!(read(&format!("7 rename(\"{file}\", \"{file}\") = 0\n"), "/d").is_err());
        assert!(read(&format!("7 pwrite64(5<{file}>, \"\\x01\"..., 9, 0) = 9\n"), "/d").is_err());
    }
}
