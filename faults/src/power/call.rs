//! One line of a log of `strace -f -y -xx`: a call, its arguments and its return value. Only parses
//! text; [`super::trace`] interprets it.

use crate::error::FaultsError;

/// A call and its arguments.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    arguments: Vec<String>,
}

/// The file that a handle refers to.
pub(super) enum Handle {
    At {
        number: u32,
        path: String,
    },
    /// It has no name any more, so no image contains it.
    Removed,
}

impl Call {
    pub(super) fn read(text: &str, end: Option<usize>) -> Option<Self> {
        let (name, _) = text.split_once('(')?;
        let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let inner = text.get(name.len() + 1..end.unwrap_or(text.len()))?;
        // Texts and paths are hexadecimal, so a comma always separates two arguments.
        let arguments = inner.split(", ").map(|one| one.trim().to_owned()).collect();
        Some(Self { name: name.to_owned(), arguments })
    }

    pub(super) fn is_sync(&self) -> bool {
        matches!(self.name.as_str(), "fsync" | "fdatasync")
    }

    /// Returns whether it changes names, and so takes effect when it returns.
    pub(super) fn changes_names(&self) -> bool {
        ["rename", "link", "mkdir"].iter().any(|word| self.name.starts_with(word))
    }

    pub(super) fn argument(&self, index: usize) -> Result<&str, FaultsError> {
        self.arguments.get(index).map(String::as_str).ok_or_else(|| self.odd())
    }

    /// Returns the error for a call that the model does not know and would misrepresent.
    pub(super) fn odd(&self) -> FaultsError {
        let arguments: String = self.arguments.join(", ").chars().take(200).collect();
        FaultsError::unexpected(format!("the trace holds `{}({arguments})`", self.name))
    }

    pub(super) fn number(&self, index: usize) -> Result<usize, FaultsError> {
        self.argument(index)?.parse().map_err(|_| self.odd())
    }

    pub(super) fn bytes(&self, index: usize) -> Result<Vec<u8>, FaultsError> {
        bytes_of(self.argument(index)?).ok_or_else(|| self.odd())
    }

    /// Parses the first argument: `3<\x2f\x74…>`
    pub(super) fn handle(&self) -> Result<Handle, FaultsError> {
        let argument = self.argument(0)?;
        if argument.ends_with("(deleted)") {
            return Ok(Handle::Removed);
        }
        let read = || {
            let (number, path) = argument.split_once('<')?;
            let path = String::from_utf8(unescaped(path.strip_suffix('>')?)?).ok()?;
            Some(Handle::At { number: number.parse().ok()?, path })
        };
        read().ok_or_else(|| self.odd())
    }

    /// Parses the path in this argument. A relative path starts in the folder of the argument
    /// before it, if the call has one.
    pub(super) fn path(&self, index: usize) -> Result<String, FaultsError> {
        let path = String::from_utf8(self.bytes(index)?).map_err(|_| self.odd())?;
        if path.starts_with('/') {
            return Ok(path);
        }
        let folder = index.checked_sub(1).and_then(|before| self.arguments.get(before));
        let folder = folder.and_then(|text| text.split_once('<')?.1.strip_suffix('>'));
        let folder = folder.and_then(unescaped).and_then(|bytes| String::from_utf8(bytes).ok());
        folder.map(|folder| format!("{folder}/{path}")).ok_or_else(|| self.odd())
    }
}

/// Returns the return value at the end of a line; `None` if it is an error.
pub(super) fn returned(line: &str) -> Option<&str> {
    let (_, value) = line.rsplit_once(" = ")?;
    (!value.starts_with(['-', '?'])).then_some(value)
}

/// Returns a number that was returned, also before a path: `3<…>`.
pub(super) fn returned_number(line: &str) -> Option<usize> {
    let value = returned(line)?;
    let end = value.find(|one: char| !one.is_ascii_digit()).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

/// Parses `"\x2f\x74"`; `None` if strace truncated it.
fn bytes_of(argument: &str) -> Option<Vec<u8>> {
    unescaped(argument.strip_prefix('"')?.strip_suffix('"')?)
}

pub(super) fn unescaped(text: &str) -> Option<Vec<u8>> {
    if !text.contains("\\x") {
        return Some(text.as_bytes().to_vec());
    }
    let mut parts = text.split("\\x");
    // There must be nothing before the first escape.
    parts.next().filter(|before| before.is_empty())?;
    parts.map(|hex| (hex.len() == 2).then(|| u8::from_str_radix(hex, 16).ok())?).collect()
}
