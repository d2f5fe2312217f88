//! What is done when nobody waits for it: the search index is filled behind the appends, and the
//! server is asked to clean away what purges left in its files. Best effort: a search catches the
//! index up, and the server cleans by itself sooner or later.

use std::rc::Rc;
use std::time::Duration;

use super::hub::Hub;
use super::link::Link;
use super::trouble::Trouble;
use super::words::{self, Turn};

/// After so long without an append the chores begin.
const IDLE: Duration = Duration::from_millis(500);
/// How many entries are indexed between two looks for appends.
const CHUNK: usize = 128;

/// Rows that nobody can see any more go out of the tables and their indexes.
const CLEAN: [&str; 4] = [
    "SET statement_timeout = 0",
    "VACUUM tertulia.entry",
    "VACUUM tertulia.words",
    "SET statement_timeout = '60s'",
];

/// Goes on as long as the store is open.
pub(super) async fn go_on(hub: Rc<Hub>) {
    loop {
        hub.chores.notified().await;
        while tokio::time::timeout(IDLE, hub.chores.notified()).await.is_ok() {}
        if let Err(trouble) = fill(&hub).await {
            tracing::debug!(?trouble, "the search index was not filled");
        }
        if hub.is_purged.take()
            && let Err(trouble) = clean(&hub).await
        {
            tracing::warn!(?trouble, "what was purged is not cleaned away yet");
        }
    }
}

async fn fill(hub: &Hub) -> Result<(), Trouble> {
    loop {
        let index = async |link: &mut Link| words::index_some(link, CHUNK, Turn::Pass).await;
        if !hub.once(index).await?.is_behind {
            return Ok(());
        }
    }
}

async fn clean(hub: &Hub) -> Result<(), Trouble> {
    hub.once(async |link: &mut Link| {
        for step in CLEAN {
            // Longer than any other answer: a large table takes its time.
            link.client.batch_execute(step).await?;
        }
        Ok(())
    })
    .await
}
