//! Reads what a process did to a folder tree from a strace log: writes, syncs, new, renamed and
//! removed files, and its output in between. Only parses text; [`super::disk`] creates images from
//! it.

use std::collections::HashMap;

use super::call::{Call, Handle, returned, returned_number, unescaped};
use crate::error::FaultsError;

/// The traced calls. Those of the last lines are traced only to be detected: the model does not
/// know them.
pub(crate) const CALLS: &str = "pwrite64,write,read,lseek,fsync,fdatasync,ftruncate,fallocate,openat,\
                                unlink,unlinkat,rename,renameat,renameat2,link,linkat,mkdir,mkdirat,\
                                exit_group,\
                                pwritev,pwritev2,writev,sendfile,copy_file_range,sync_file_range,open,\
                                creat,truncate,rmdir,symlink,symlinkat";

/// One step, in order of execution. Paths are relative to the traced folder, whose own path is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    /// A write at the end of the file, wherever that is.
    Append {
        file: String,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        length: usize,
    },
    /// Space was allocated: the file has at least this length.
    Extend {
        file: String,
        length: usize,
    },
    /// A file was opened and possibly created.
    Make {
        file: String,
    },
    MakeFolder {
        folder: String,
    },
    Remove {
        file: String,
    },
    /// Both names are in the same folder.
    Rename {
        from: String,
        to: String,
    },
    Link {
        from: String,
        to: String,
    },
    /// Of a file or a folder.
    Sync {
        file: String,
    },
    /// A sync that failed: the content of the disk is unknown, and no later sync tells.
    SyncFailed {
        file: String,
    },
    /// Output on standard output (1) or standard error (2).
    Said {
        stream: u32,
        text: String,
    },
    /// The process ended with success.
    EndedWell,
}

/// Reads a log of `strace -f -y -xx`.
pub(crate) fn read(log: &str, folder: &str) -> Result<Vec<Step>, FaultsError> {
    let mut reader = Reader { folder, steps: Vec::new(), offsets: HashMap::new() };
    // Calls that had not returned when a call of another thread was logged.
    let mut begun: HashMap<&str, Call> = HashMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(head) = rest.strip_suffix("<unfinished ...>") {
            let Some(call) = Call::read(head, None) else { continue };
            // Its effect may exist from now on; a sync and a change of names take effect only when
            // the call returns.
            if !call.is_sync() && !call.changes_names() {
                reader.take(&call)?;
            }
            begun.insert(thread, call);
        } else if rest.starts_with("<... ") {
            let Some(call) = begun.remove(thread) else { continue };
            if call.is_sync() || call.changes_names() {
                reader.ended(&call, rest)?;
            }
            reader.note(&call, rest)?;
        } else if let Some(call) = Call::read(rest, rest.find(") ")) {
            reader.ended(&call, rest)?;
            reader.note(&call, rest)?;
        }
    }
    Ok(reader.steps)
}

/// Returns the folder of the file with this name, from some call in the log.
pub(crate) fn folder_of(log: &str, name: &str) -> Option<String> {
    let escaped: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let end = log.find(&escaped)?;
    let begin = log.get(..end)?.rfind(['"', '<'])?;
    String::from_utf8(unescaped(log.get(begin + 1..end)?)?).ok()
}

struct Reader<'f> {
    folder: &'f str,
    steps: Vec<Step>,
    /// Offset of the next `write` of each handle; `None` means the end of the file.
    offsets: HashMap<u32, Option<usize>>,
}

impl Reader<'_> {
    /// Records the effect of a call, by its result.
    fn ended(&mut self, call: &Call, line: &str) -> Result<(), FaultsError> {
        if call.name == "exit_group" {
            if call.argument(0)? == "0" {
                self.steps.push(Step::EndedWell);
            }
            return Ok(());
        }
        if returned(line).is_some() {
            return self.take(call);
        }
        if !call.is_sync() {
            return Ok(());
        }
        let before = self.steps.len();
        self.take(call)?;
        for step in self.steps.iter_mut().skip(before) {
            if let Step::Sync { file } = step {
                *step = Step::SyncFailed { file: std::mem::take(file) };
            }
        }
        Ok(())
    }

    /// Tracks the offsets of handles.
    fn note(&mut self, call: &Call, line: &str) -> Result<(), FaultsError> {
        let Some(value) = returned_number(line) else { return Ok(()) };
        match call.name.as_str() {
            "openat" => {
                let is_at_end = call.argument(2)?.contains("O_APPEND");
                let number = u32::try_from(value).map_err(|_| call.odd())?;
                self.offsets.insert(number, (!is_at_end).then_some(0));
            }
            "lseek" | "read" => {
                if let Handle::At { number, .. } = call.handle()?
                    && let Some(Some(offset)) = self.offsets.get_mut(&number)
                {
                    *offset = if call.name == "lseek" { value } else { *offset + value };
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns a path relative to the folder; `None` if it is outside.
    fn inside(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(self.folder)?;
        if rest.is_empty() {
            return Some(String::new());
        }
        // Shared memory is rebuilt by the first process that opens the file.
        rest.strip_prefix('/').filter(|name| !name.ends_with("-shm")).map(str::to_owned)
    }

    /// Records the effect of a call in the folder, if any.
    fn take(&mut self, call: &Call) -> Result<(), FaultsError> {
        match call.name.as_str() {
            "exit_group" | "read" | "lseek" => Ok(()),
            "openat" => self.take_open(call),
            "unlink" | "mkdir" => self.take_name(call, &call.path(0)?),
            "unlinkat" | "mkdirat" => self.take_name(call, &call.path(1)?),
            "rename" | "link" => self.take_pair(call, &call.path(0)?, &call.path(1)?),
            "renameat" | "renameat2" | "linkat" => {
                self.take_pair(call, &call.path(1)?, &call.path(3)?)
            }
            "open" | "creat" | "truncate" | "rmdir" => match self.inside(&call.path(0)?) {
                Some(_) => Err(call.odd()),
                None => Ok(()),
            },
            "symlink" => self.inside(&call.path(1)?).map_or(Ok(()), |_| Err(call.odd())),
            "symlinkat" => self.inside(&call.path(2)?).map_or(Ok(()), |_| Err(call.odd())),
            _ => self.take_handle(call),
        }
    }

    fn take_open(&mut self, call: &Call) -> Result<(), FaultsError> {
        let flags = call.argument(2)?;
        let Some(file) = self.inside(&call.path(1)?) else { return Ok(()) };
        if flags.contains("O_TMPFILE") {
            return Err(call.odd());
        }
        if flags.contains("O_CREAT") {
            self.steps.push(Step::Make { file: file.clone() });
        }
        if flags.contains("O_TRUNC") {
            self.steps.push(Step::Truncate { file, length: 0 });
        }
        Ok(())
    }

    fn take_name(&mut self, call: &Call, path: &str) -> Result<(), FaultsError> {
        let Some(name) = self.inside(path) else { return Ok(()) };
        self.steps.push(match call.name.starts_with("mkdir") {
            true => Step::MakeFolder { folder: name },
            false if call.argument(2).is_ok_and(|flags| flags.contains("AT_REMOVEDIR")) => {
                return Err(call.odd());
            }
            false => Step::Remove { file: name },
        });
        Ok(())
    }

    fn take_pair(&mut self, call: &Call, from: &str, to: &str) -> Result<(), FaultsError> {
        match (self.inside(from), self.inside(to)) {
            (None, None) => Ok(()),
            (Some(from), Some(to)) if parent(&from) == parent(&to) => {
                let is_link = call.name.starts_with("link");
                self.steps.push(match is_link {
                    true => Step::Link { from, to },
                    false => Step::Rename { from, to },
                });
                Ok(())
            }
            // Two folders change at different moments on a disk; nobody here needs that.
            _ => Err(call.odd()),
        }
    }

    fn take_handle(&mut self, call: &Call) -> Result<(), FaultsError> {
        let Handle::At { number, path } = call.handle()? else { return Ok(()) };
        if call.name == "write" && matches!(number, 1 | 2) {
            let text = String::from_utf8_lossy(&call.bytes(1)?).into_owned();
            self.steps.push(Step::Said { stream: number, text });
            return Ok(());
        }
        let Some(file) = self.inside(&path) else { return Ok(()) };
        let step = match call.name.as_str() {
            "fsync" | "fdatasync" => Step::Sync { file },
            "pwrite64" => Step::Write { file, offset: call.number(3)?, bytes: call.bytes(1)? },
            "write" => {
                let bytes = call.bytes(1)?;
                match self.offsets.get_mut(&number) {
                    Some(Some(offset)) => {
                        let at = *offset;
                        *offset += bytes.len();
                        Step::Write { file, offset: at, bytes }
                    }
                    Some(None) => Step::Append { file, bytes },
                    // An inherited handle: its offset is unknown.
                    None => return Err(call.odd()),
                }
            }
            "ftruncate" => Step::Truncate { file, length: call.number(1)? },
            // Any other mode punches holes or moves bytes.
            "fallocate" if call.argument(1)? == "0" => {
                Step::Extend { file, length: call.number(2)? + call.number(3)? }
            }
            _ => return Err(call.odd()),
        };
        self.steps.push(step);
        Ok(())
    }
}

/// Returns the folder of a path.
pub(super) fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;
