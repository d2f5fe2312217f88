//! Takes and renews the lease of a session. A lease has its own connection, on which it holds an advisory lock, the
//! guard. So it ends at once when the process or its connection ends, and otherwise after [`LENGTH`] by the clock of the
//! server. Every append compares the fencing number (`append.rs`), so a holder that was paused cannot write after its
//! session was taken over.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tokio::sync::oneshot;
use tokio::task;
use tokio::time::{sleep, timeout};

use super::connection::{PgConnection, Values};
use super::error::{PgError, Result};
use super::pool::Pool;
use super::read;
use crate::SessionId;
use crate::clock::random_u64;
use crate::lease::{Fence, Holder, LeaseState, Released, Taken};

/// How long a lease lasts after it was renewed.
const LENGTH: Duration = Duration::from_secs(20);
/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(5);
/// A holder that could not renew its lease for this long gives it up. Shorter than [`LENGTH`], so that its agents have
/// ended before another process takes over.
const GIVE_UP: Duration = Duration::from_secs(15);
/// The time limit for one attempt to renew.
const ATTEMPT: Duration = Duration::from_secs(4);
/// The last attempt after a pause of this process, in which the deadline may have passed.
const LAST_ATTEMPT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(200);

const LOOK: &str = "SELECT lease_guard, lease_holder, \
    greatest(0, extract(epoch FROM lease_ends - clock_timestamp()) * 1000)::bigint, lease_ends IS NOT NULL \
    FROM tertulia.session WHERE id = $1 AND state <> 2";
const TRY_GUARD: &str = "SELECT pg_try_advisory_lock($1)";
const FREE_GUARD: &str = "SELECT pg_advisory_unlock($1)";
/// Has no effect if another process was faster: then the guard is no longer the one that was found.
const TAKE: &str = "UPDATE tertulia.session SET fence = fence + 1, lease_guard = $2, lease_holder = $3, \
    lease_ends = clock_timestamp() + $4::bigint * interval '1 millisecond' \
    WHERE id = $1 AND state <> 2 AND lease_guard IS NOT DISTINCT FROM $5 \
    AND ($6 OR lease_ends IS NULL OR lease_ends <= clock_timestamp()) RETURNING key, fence";
const RENEW: &str = "UPDATE tertulia.session \
    SET lease_ends = clock_timestamp() + $3::bigint * interval '1 millisecond' WHERE key = $1 AND fence = $2";
const RELEASE: &str = "UPDATE tertulia.session \
    SET lease_guard = NULL, lease_holder = NULL, lease_ends = NULL WHERE key = $1 AND fence = $2";

/// What the server knows about the lease of a session.
struct Found {
    guard: Option<i64>,
    holder: Option<Holder>,
}

/// Returns the holder of the lease of a session.
pub(super) async fn holder(
    connection: &mut PgConnection,
    id: &SessionId,
) -> Result<Option<Holder>> {
    Ok(look(connection, id).await?.holder)
}

async fn look(connection: &mut PgConnection, id: &SessionId) -> Result<Found> {
    let Some(row) = connection.query_opt(LOOK, &[&id.as_str()]).await? else {
        return Err(read::missing(id));
    };
    let guard: Option<i64> = row.try_get(0)?;
    let stored = read::optional_text(&row, 1)?.unwrap_or_default();
    let (left, is_leased): (Option<i64>, bool) = (row.try_get(2)?, row.try_get(3)?);
    if !is_leased {
        return Ok(Found { guard, holder: None });
    }
    let ends_in = Duration::from_millis(left.unwrap_or_default().unsigned_abs());
    let is_disconnected = match guard {
        Some(guard) => is_free(connection, guard).await?,
        None => true,
    };
    let (machine, process) = Holder::parse(&stored);
    Ok(Found { guard, holder: Some(Holder { machine, process, ends_in, is_disconnected }) })
}

/// Returns whether nobody holds a guard.
async fn is_free(connection: &mut PgConnection, guard: i64) -> Result<bool> {
    let is_free = hold(connection, guard).await?;
    if is_free {
        connection.query(FREE_GUARD, &[&guard]).await?;
    }
    Ok(is_free)
}

/// Takes a guard. It ends with the connection.
async fn hold(connection: &mut PgConnection, guard: i64) -> Result<bool> {
    Ok(connection.value(TRY_GUARD, &[&guard]).await?.unwrap_or_default())
}

/// Takes the lease of a session; `None` if another process has it.
pub(super) async fn take(pool: &Rc<Pool>, id: &SessionId) -> Result<Option<Taken>> {
    let mut connection = pool.new_connection().await?;
    let begun = Instant::now();
    let found = look(&mut connection, id).await?;
    if found.holder.as_ref().is_some_and(|holder| !holder.has_ended()) {
        return Ok(None);
    }
    let guard = random_u64().cast_signed();
    let has_guard = hold(&mut connection, guard).await?;
    let (process, length) = (Holder::this_process(), millis(LENGTH));
    let is_disconnected = found.holder.as_ref().is_some_and(|holder| holder.is_disconnected);
    let values: Values<'_> =
        &[&id.as_str(), &guard, &process.as_bytes(), &length, &found.guard, &is_disconnected];
    let Some(row) = connection.query_opt(TAKE, values).await? else { return Ok(None) };
    let fence = Fence { session: row.try_get(0)?, number: row.try_get(1)? };
    let state = Arc::<LeaseState>::default();
    let (stop, stopped) = oneshot::channel::<()>();
    let (done, released) = sync_channel(0);
    let renewal = Renewal {
        pool: Rc::clone(pool),
        fence,
        guard,
        has_guard,
        renewed_at: begun,
        state: Arc::clone(&state),
    };
    task::spawn_local(renewal.run(connection, stopped, done));
    let (is_taken_over, stop) = (found.holder.is_some(), Box::new(stop));
    Ok(Some(Taken { fence, is_taken_over, state, stop, released }))
}

/// Renews a lease until it is released or lost.
struct Renewal {
    pool: Rc<Pool>,
    fence: Fence,
    guard: i64,
    /// Whether the present connection has the guard. An earlier connection may have it until the server notices its end.
    has_guard: bool,
    /// When the last successful renewal began, by the clock of this process. The server counts from a later moment.
    renewed_at: Instant,
    state: Arc<LeaseState>,
}

enum Renewed {
    Yes,
    /// Another process has taken over.
    Lost,
    /// The server could not be reached.
    Failed,
}

impl Renewal {
    async fn run(
        mut self,
        connection: PgConnection,
        mut stopped: oneshot::Receiver<()>,
        _done: Released,
    ) {
        let mut connection = Some(connection);
        let mut pause = RENEWAL;
        loop {
            if self.pause(&mut stopped, &mut connection, pause).await {
                if let Some(connection) = &mut connection {
                    let released = timeout(ATTEMPT, self.release(connection)).await;
                    tracing::debug!(?released, "a lease was released");
                }
                return;
            }
            let began = Instant::now();
            match self.renew(&mut connection).await {
                Renewed::Yes => (self.renewed_at, pause) = (began, RENEWAL),
                Renewed::Lost => return self.state.lose(),
                Renewed::Failed if self.renewed_at.elapsed() >= GIVE_UP => {
                    return self.state.lose();
                }
                Renewed::Failed => pause = PAUSE,
            }
        }
    }

    /// Waits until the lease must be renewed, or the connection has ended. Returns whether it is to be released.
    async fn pause(
        &self,
        stopped: &mut oneshot::Receiver<()>,
        connection: &mut Option<PgConnection>,
        pause: Duration,
    ) -> bool {
        let ended = async {
            match connection {
                Some(connection) => connection.ended().await,
                None => std::future::pending().await,
            }
        };
        let wait = select(Box::pin(sleep(pause)), Box::pin(ended));
        let (is_stopped, has_ended) = match select(stopped, wait).await {
            // The sender was dropped.
            Either::Left(_) => (true, false),
            Either::Right((either, _)) => (false, matches!(either, Either::Right(_))),
        };
        if has_ended {
            *connection = None;
        }
        is_stopped
    }

    /// Renews the lease, on a new connection if the last one has ended.
    async fn renew(&mut self, connection: &mut Option<PgConnection>) -> Renewed {
        let left = GIVE_UP.saturating_sub(self.renewed_at.elapsed());
        let limit = left.clamp(LAST_ATTEMPT, ATTEMPT);
        let attempt = async {
            if connection.as_ref().is_none_or(|open| !open.is_open()) {
                *connection = Some(self.pool.new_connection().await?);
                self.has_guard = false;
            }
            let Some(connection) = connection.as_mut() else { return Ok(0) };
            if !self.has_guard {
                self.has_guard = hold(connection, self.guard).await?;
            }
            let Fence { session, number } = self.fence;
            connection.execute(RENEW, &[&session, &number, &millis(LENGTH)]).await
        };
        let renewed = timeout(limit, attempt).await;
        match renewed {
            Ok(Ok(0)) => Renewed::Lost,
            Ok(Ok(_)) => Renewed::Yes,
            Ok(Err(error)) => {
                tracing::debug!(?error, "a lease could not be renewed");
                *connection = None;
                Renewed::Failed
            }
            Err(_) => {
                *connection = None;
                Renewed::Failed
            }
        }
    }

    async fn release(&self, connection: &mut PgConnection) -> Result<u64, PgError> {
        connection.execute(RELEASE, &[&self.fence.session, &self.fence.number]).await
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
