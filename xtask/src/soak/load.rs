//! Threads that only use CPU time. They end when they are dropped, or with the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Busy threads.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts this number of threads.
    pub(super) fn start(count: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..count).map(spin).collect();
        Self { is_over, threads }
    }

    pub(super) fn count(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // They cannot panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_ends_when_it_is_dropped() {
        let load = Load::start(2);
        let is_over = Arc::clone(&load.is_over);
        assert_eq!(load.count(), 2);
        drop(load);
        assert_eq!(Arc::strong_count(&is_over), 1);
    }
}
