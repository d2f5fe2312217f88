//! A proxy between a store and the server that breaks connections at a chosen moment.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::postgres_server::Database;

/// The fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The commit reaches the server; the answer is lost.
    LoseAnswer,
    /// The commit does not reach the server.
    LoseCommit,
}

#[derive(Default)]
struct State {
    fault: Mutex<Option<Fault>>,
    faults: AtomicU32,
    refuses: AtomicBool,
    is_frozen: AtomicBool,
}

impl State {
    /// Waits while the network is interrupted.
    fn wait(&self) {
        while self.is_frozen.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

pub(crate) struct Proxy {
    folder: TempDir,
    state: Arc<State>,
}

impl Proxy {
    /// Starts a proxy in front of the server of this database.
    pub(crate) fn start(database: &Database) -> Self {
        let socket = database.socket();
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        // The thread ends with the process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.refuses.load(Ordering::Relaxed) {
                    continue;
                }
                let server = UnixStream::connect(&socket).unwrap();
                let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let state = Arc::clone(&shared);
                let backward = Arc::clone(&shared);
                thread::spawn(move || to_server(client, server, &state));
                thread::spawn(move || to_client(back, forth, &backward));
            }
        });
        Self { folder, state }
    }

    /// Returns the address of a database through the proxy.
    pub(crate) fn address(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://tertulia@{folder}/{database}")
    }

    pub(crate) fn next(&self, fault: Fault) {
        *self.state.fault.lock().unwrap() = Some(fault);
    }

    /// Returns the number of faults so far.
    pub(crate) fn faults(&self) -> u32 {
        self.state.faults.load(Ordering::Relaxed)
    }

    pub(crate) fn refuse_from_now_on(&self) {
        self.state.refuses.store(true, Ordering::Relaxed);
    }

    /// Interrupts the network: connections stay open, but nothing arrives.
    pub(crate) fn freeze(&self) {
        self.state.is_frozen.store(true, Ordering::Relaxed);
    }

    pub(crate) fn thaw(&self) {
        self.state.is_frozen.store(false, Ordering::Relaxed);
    }
}

fn to_server(mut client: UnixStream, mut server: UnixStream, state: &State) {
    const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        state.wait();
        let bytes = &buffer[..count];
        let commits = bytes.windows(COMMIT.len()).any(|window| window == COMMIT);
        let fault = if commits { state.fault.lock().unwrap().take() } else { None };
        match fault {
            None => {
                if server.write_all(bytes).is_err() {
                    break;
                }
            }
            Some(fault) => {
                state.faults.fetch_add(1, Ordering::Relaxed);
                // The client sees its connection end before the server has done anything.
                let _ = client.shutdown(Shutdown::Both);
                if fault == Fault::LoseAnswer {
                    let _ = server.write_all(bytes);
                    thread::sleep(Duration::from_millis(100));
                }
                break;
            }
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}

fn to_client(mut server: UnixStream, mut client: UnixStream, state: &State) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        state.wait();
        if client.write_all(&buffer[..count]).is_err() {
            // The server continues, because the test is about what it does then.
            continue;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
