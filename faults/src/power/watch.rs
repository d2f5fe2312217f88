//! A watchdog for judges: opening what a power cut left must return. A hang would block the
//! harness, so the watchdog names the image and exits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for judging an image.
const LIMIT: Duration = Duration::from_secs(30);

type Running = Mutex<BTreeMap<u64, (Instant, String)>>;

/// The images being judged, and their start times.
pub(crate) struct Watch {
    running: Arc<Running>,
    next: AtomicU64,
}

impl Watch {
    /// Starts the watchdog; it ends when this value is dropped.
    pub(crate) fn begin() -> Self {
        let running = Arc::<Running>::default();
        let watched = Arc::downgrade(&running);
        thread::spawn(move || watch(&watched));
        Self { running, next: AtomicU64::new(0) }
    }

    /// Runs work that must end.
    pub(crate) fn over<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running().insert(number, (Instant::now(), name.to_owned()));
        let done = work();
        running().remove(&number);
        done
    }
}

fn watch(running: &Weak<Running>) {
    while let Some(running) = running.upgrade() {
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, name)) = running.values().find(|(since, _)| since.elapsed() > LIMIT) {
            println!("BROKEN: the store hangs on {name}");
            std::process::exit(1);
        }
        drop(running);
        thread::sleep(Duration::from_millis(200));
    }
}
