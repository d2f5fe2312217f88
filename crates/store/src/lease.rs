//! The right to run a session on a server, as a lease: it ends some time after its holder was last heard of. This file
//! has the part of the holder; `postgres/lease.rs` takes and renews leases. The clock of the server decides, so the
//! clocks of the machines do not matter.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time for releasing a lease on the server. If it does not suffice, the lease ends by itself.
const RELEASE_MAX: Duration = Duration::from_secs(3);

/// A fencing number. It grows whenever a session is locked, so an older number shows that another program has taken
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The key of the session, which is never reused. A deleted session may be created again under the same id.
    pub(crate) session: i64,
    pub(crate) number: i64,
}

/// The process that has the right to run a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The name of the machine.
    pub machine: Box<str>,
    pub process: u32,
    /// When the lease ends if its holder is not heard of. Zero if it has ended and nobody has taken over.
    pub ends_in: Duration,
    /// Whether the holder's connection to the server has ended, so that the session can be taken over at once.
    pub is_disconnected: bool,
}

impl Holder {
    /// Returns whether the session can be taken over now.
    pub fn has_ended(&self) -> bool {
        self.is_disconnected || self.ends_in.is_zero()
    }

    /// Returns whether it is a process of this machine.
    pub fn is_here(&self) -> bool {
        *self.machine == *this_machine()
    }

    /// Returns the stored form of this process.
    #[cfg(feature = "postgres")]
    pub(crate) fn this_process() -> String {
        format!("{}/{}", this_machine(), std::process::id())
    }

    /// Reads the stored form.
    #[cfg(feature = "postgres")]
    pub(crate) fn parse(stored: &str) -> (Box<str>, u32) {
        let (machine, process) = stored.rsplit_once('/').unwrap_or((stored, ""));
        (machine.into(), process.parse().unwrap_or_default())
    }

    /// Returns the text for people of a stored form.
    #[cfg(feature = "postgres")]
    pub(crate) fn describe(stored: &str) -> Box<str> {
        let (machine, process) = Self::parse(stored);
        format!("process {process} on {machine}").into()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.machine)
    }
}

/// Returns the name of this machine. Control characters cannot be part of it.
fn this_machine() -> Box<str> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '/').collect();
    if name.is_empty() { "this machine".into() } else { name.into() }
}

/// The state of a lease that its holder and the thread that renews it share.
#[derive(Default)]
pub(crate) struct LeaseState {
    is_lost: AtomicBool,
    tell: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl LeaseState {
    /// Records that the lease is lost, and tells the holder.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tell) = tell {
            tell();
        }
    }
}

/// A lease as it was taken.
pub(crate) struct Taken {
    pub(crate) fence: Fence,
    pub(crate) is_taken_over: bool,
    pub(crate) state: Arc<LeaseState>,
    /// Dropped to release the lease.
    pub(crate) stop: Box<dyn Send + Sync>,
    /// Disconnected when the lease was released.
    pub(crate) released: Receiver<()>,
}

/// A lease of this process. Dropping it releases it.
pub(crate) struct Lease {
    fence: Fence,
    is_taken_over: bool,
    state: Arc<LeaseState>,
    stop: Option<Box<dyn Send + Sync>>,
    released: Mutex<Receiver<()>>,
    /// Keeps the connections to the server until the lease is released.
    _alive: Box<dyn Send + Sync>,
}

impl Lease {
    #[cfg(feature = "postgres")]
    pub(crate) fn new(taken: Taken, alive: Box<dyn Send + Sync>) -> Self {
        let Taken { fence, is_taken_over, state, stop, released } = taken;
        let (stop, released) = (Some(stop), Mutex::new(released));
        Self { fence, is_taken_over, state, stop, released, _alive: alive }
    }

    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    pub(crate) fn is_taken_over(&self) -> bool {
        self.is_taken_over
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.state.is_lost.load(Ordering::SeqCst)
    }

    pub(crate) fn when_lost(&self, tell: Box<dyn FnOnce() + Send>) {
        *self.state.tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell);
        // It may have been lost before.
        if self.is_lost() {
            self.state.lose();
        }
    }
}

impl Drop for Lease {
    /// Releases the lease on the server before the next program may ask for it.
    fn drop(&mut self) {
        self.stop = None;
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = released.recv_timeout(RELEASE_MAX);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("fence", &self.fence).finish_non_exhaustive()
    }
}

/// The end of a lease that the thread of the server holds. It is dropped when the lease was released.
pub(crate) type Released = SyncSender<()>;
