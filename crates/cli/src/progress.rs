//! A progress bar on standard error for work that takes longer than a second, on a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar appears after this time.
const PATIENCE: Duration = Duration::from_secs(1);

const BYTES: &str = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
const BYTES_OPEN: &str = "{msg} {spinner} {bytes}, {elapsed}";
const ENTRIES_OPEN: &str = "{msg} {spinner} {human_pos} entries, {elapsed}";

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    done: u64,
}

impl Progress {
    /// Shows progress in bytes; without a size, only the amount.
    pub(crate) fn bytes(is_wanted: bool, what: &'static str, size: Option<u64>) -> Self {
        Self::new(is_wanted, what, size, if size.is_some() { BYTES } else { BYTES_OPEN })
    }

    pub(crate) fn entries(is_wanted: bool, what: &'static str) -> Self {
        Self::new(is_wanted, what, None, ENTRIES_OPEN)
    }

    fn new(is_wanted: bool, what: &'static str, size: Option<u64>, template: &str) -> Self {
        let bar = is_wanted.then(|| {
            let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
            // The templates above are valid; the fallback is never used.
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.with_message(what)
        });
        Self { bar, started: Instant::now(), done: 0 }
    }

    pub(crate) fn add(&mut self, more: u64) {
        self.done += more;
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            if self.started.elapsed() < PATIENCE {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(self.done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
