//! An endpoint on loopback that plays a script: bytes, pauses, resets. It accepts one connection and then stops.

use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum time to wait for a connection or a byte.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the endpoint does next.
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Sends the same bytes this many times.
    Repeat(Vec<u8>, usize),
    Pause(u64),
    /// Waits until the client closes the connection.
    Hang,
    /// Closes the connection without reading the request, so the kernel resets it.
    Reset,
}

/// A running endpoint.
pub(crate) struct FakeEndpoint {
    pub(crate) base_url: String,
    thread: JoinHandle<Seen>,
    asked: Receiver<()>,
}

/// What the endpoint received.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
    /// The time from the first step until the client closed the connection.
    pub(crate) hung_up: Option<Duration>,
}

impl FakeEndpoint {
    pub(crate) fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, asked) = channel();
        let thread = std::thread::spawn(move || serve(&listener, steps, &sender));
        Self { base_url, thread, asked }
    }

    /// Waits until a request has arrived.
    pub(crate) fn await_request(&self) {
        self.asked.recv_timeout(PATIENCE).unwrap();
    }

    /// Waits for the end of the script, and returns what the endpoint received.
    pub(crate) fn seen(self) -> Seen {
        self.thread.join().unwrap()
    }
}

/// Returns a response with this status and this body.
pub(crate) fn reply(status: &str, kind: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )]
}

/// Returns the head of a stream, followed by these steps as its body.
pub(crate) fn stream(steps: Vec<Step>) -> Vec<Step> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    std::iter::once(Step::Send(head.into())).chain(steps).collect()
}

fn serve(listener: &TcpListener, steps: Vec<Step>, asked: &Sender<()>) -> Seen {
    let mut seen = Seen::default();
    let Some(mut socket) = accept(listener) else { return seen };
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let is_reset = steps.iter().any(|step| matches!(step, Step::Reset));
    read_request(&mut socket, &mut seen, is_reset);
    // Most tests do not receive this.
    let _ = asked.send(());
    let started = Instant::now();
    for step in steps {
        match step {
            // A client that closed the connection receives nothing more.
            Step::Send(bytes) => drop(socket.write_all(&bytes)),
            Step::Repeat(bytes, times) => {
                for _ in 0..times {
                    if socket.write_all(&bytes).is_err() {
                        break;
                    }
                }
            }
            Step::Pause(millis) => std::thread::sleep(Duration::from_millis(millis)),
            Step::Hang => {
                // A reset closes the connection too; an expired timeout does not.
                let is_gone = match socket.read(&mut [0; 64]) {
                    Ok(length) => length == 0,
                    Err(error) => !matches!(error.kind(), WouldBlock | TimedOut),
                };
                seen.hung_up = is_gone.then(|| started.elapsed());
            }
            Step::Reset => break,
        }
    }
    seen
}

fn accept(listener: &TcpListener) -> Option<TcpStream> {
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Ok((socket, _)) = listener.accept() {
            socket.set_nonblocking(false).unwrap();
            return Some(socket);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Reads the head of a request, and its body unless only the head is wanted.
fn read_request(socket: &mut TcpStream, seen: &mut Seen, only_head: bool) {
    let mut byte = [0];
    while !seen.head.ends_with("\r\n\r\n") && socket.read(&mut byte).is_ok_and(|length| length == 1)
    {
        seen.head.push(char::from(byte[0]));
    }
    if only_head {
        return;
    }
    let head = seen.head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    if socket.read_exact(&mut body).is_ok() {
        seen.body = String::from_utf8(body).unwrap();
    }
}
