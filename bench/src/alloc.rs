//! The system's allocator with a count beside it. It counts only inside [`counted`] and only what the
//! calling thread does, so that it costs the timed cases one look at a thread local.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of work did to the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// Bytes that it allocated and did not free, less those that it freed and had not allocated.
    pub(crate) live_bytes: i64,
    /// The most bytes that were live at a time.
    pub(crate) peak_bytes: i64,
    /// Bytes that it asked for, freed or not; a block that grew counts again as a whole.
    pub(crate) total_bytes: u64,
    /// How often it asked.
    pub(crate) count: u64,
}

/// Does the work and says what it allocated; what it gives back counts as live. Does not nest.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    ALLOCATED.set(Some(Allocated::default()));
    let result = work();
    (result, ALLOCATED.take().unwrap_or_default())
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// `None` while nobody counts. Constant and without a destructor: reading it never allocates.
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

// SAFETY: every method hands its arguments on to the system's allocator and gives back what that
// gave; `note` neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller promises what the system's allocator asks for.
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
        // SAFETY: as in `dealloc`; the caller promises that the size is a valid one.
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
