//! Log lines on standard error, for whoever sets `TERTULIA_LOG` (such as `debug` or
//! `tertulia::context=debug`). Silent otherwise.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging if the environment asks for it.
pub(crate) fn start() {
    let Some(targets) = std::env::var("TERTULIA_LOG").ok().and_then(|text| text.parse().ok())
    else {
        return;
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time();
    // Tests run several commands in one process; the first one's log stays.
    let _ = tracing_subscriber::registry().with(lines).with::<Targets>(targets).try_init();
}
