//! An allocator that counts. It counts only inside [`counted`] and only for the calling thread, so that it costs
//! the timed cases only one read of a thread-local value.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The heap usage of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// Allocated bytes minus freed bytes.
    pub(crate) live_bytes: i64,
    /// The maximum number of bytes that were live at the same time.
    pub(crate) peak_bytes: i64,
    /// All allocated bytes, freed or not; a block that grew counts again with its whole size.
    pub(crate) total_bytes: u64,
    /// The number of allocations.
    pub(crate) count: u64,
}

/// Runs the work and returns its heap usage; its result counts as live. Calls cannot be nested.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    ALLOCATED.set(Some(Allocated::default()));
    let result = work();
    (result, ALLOCATED.take().unwrap_or_default())
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// `None` outside of [`counted`]. It is constant and has no destructor, so reading it never allocates.
    static ALLOCATED: Cell<Option<Allocated>> = const { Cell::new(None) };
}

fn note(asked: usize, freed: usize) {
    let Some(so_far) = ALLOCATED.get() else {
        return;
    };
    let live_bytes = so_far.live_bytes + asked as i64 - freed as i64;
    ALLOCATED.set(Some(Allocated {
        live_bytes,
        peak_bytes: so_far.peak_bytes.max(live_bytes),
        total_bytes: so_far.total_bytes + asked as u64,
        count: so_far.count + u64::from(asked > 0),
    }));
}

// SAFETY: every method passes its arguments to the system's allocator and returns its result; `note` neither
// allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the block came from the system's allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: as in `dealloc`; the caller guarantees that the size is valid.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_live_and_what_was_dropped_is_not() {
        let (kept, allocated) = counted(|| {
            drop(Vec::<u8>::with_capacity(300));
            Vec::<u8>::with_capacity(100)
        });
        assert_eq!(kept.capacity(), 100);
        let expected = Allocated { live_bytes: 100, peak_bytes: 300, total_bytes: 400, count: 2 };
        assert_eq!(allocated, expected);
    }

    #[test]
    fn a_block_that_grew_is_live_once() {
        let (_kept, allocated) = counted(|| {
            let mut grown = Vec::<u8>::with_capacity(10);
            grown.reserve_exact(50);
            grown
        });
        assert_eq!((allocated.live_bytes, allocated.total_bytes), (50, 60));
    }

    #[test]
    fn work_that_allocates_nothing_counts_nothing() {
        assert_eq!(counted(|| 1 + 1), (2, Allocated::default()));
    }
}
