//! OpenAI's vocabularies. A pattern cuts a text into pieces, and the tokens of each piece are counted. The tables
//! are made by the build script and used in place, without loading. Only [`super`] uses this code.

mod encode;
mod known;
mod layout;
mod split;
mod tables;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;

use self::known::KnownPieces;
use self::tables::{CL100K_TABLES, O200K_TABLES, Tables};

/// A vocabulary. Its tables are first used with the first text.
pub(in crate::tokens) struct OpenAi {
    tables: &'static Tables,
    pattern: Pattern,
    known: &'static LocalKey<RefCell<KnownPieces>>,
    is_loaded: AtomicBool,
}

/// A pattern that cuts a text into pieces.
#[derive(Clone, Copy)]
enum Pattern {
    O200k,
    Cl100k,
}

thread_local! {
    static O200K_KNOWN: RefCell<KnownPieces> = RefCell::default();
    static CL100K_KNOWN: RefCell<KnownPieces> = RefCell::default();
}

pub(in crate::tokens) static O200K: OpenAi = OpenAi {
    tables: &O200K_TABLES,
    pattern: Pattern::O200k,
    known: &O200K_KNOWN,
    is_loaded: AtomicBool::new(false),
};

pub(in crate::tokens) static CL100K: OpenAi = OpenAi {
    tables: &CL100K_TABLES,
    pattern: Pattern::Cl100k,
    known: &CL100K_KNOWN,
    is_loaded: AtomicBool::new(false),
};

impl OpenAi {
    pub(in crate::tokens) fn count(&self, text: &str) -> Option<u64> {
        self.is_loaded.store(true, Ordering::Relaxed);
        let (text, tables) = (text.as_bytes(), self.tables);
        Some(self.known.with_borrow_mut(|known| match self.pattern {
            // Each pattern is compiled separately, because counting a piece takes only nanoseconds.
            Pattern::O200k => count_pieces(tables, known, text, split::o200k),
            Pattern::Cl100k => count_pieces(tables, known, text, split::cl100k),
        }))
    }

    /// Returns whether a text was counted already, so that the tables are in memory.
    pub(in crate::tokens) fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Relaxed)
    }
}

fn count_pieces(
    tables: &Tables,
    known: &mut KnownPieces,
    text: &[u8],
    piece_end: impl Fn(&[u8], usize) -> usize,
) -> u64 {
    let (mut from, mut tokens) = (0, 0);
    while from < text.len() {
        let to = piece_end(text, from);
        tokens += known.count(tables, text, from, to);
        from = to;
    }
    tokens
}

#[cfg(test)]
mod tests;
