//! An endpoint on loopback that plays a script: bytes, pauses, resets. It takes one connection and stops by
//! itself.

use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long it waits for a connection or a byte, whatever happens.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the endpoint does next.
pub(crate) enum Step {
    Send(Vec<u8>),
    /// The same bytes this often.
    Repeat(Vec<u8>, usize),
    Pause(u64),
    /// Waits until the other side hangs up.
    Hang,
    /// Hangs up without having read the request: the kernel resets the connection.
    Reset,
}

/// A running endpoint.
pub(crate) struct FakeEndpoint {
    pub(crate) base_url: String,
    thread: JoinHandle<Seen>,
    asked: Receiver<()>,
}

/// What it was sent.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
    /// When the other side hung up, counted from the first step.
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

    /// Returns what it was sent, when it is done.
    pub(crate) fn seen(self) -> Seen {
        self.thread.join().unwrap()
    }
}

/// Returns a reply of this status with this body.
pub(crate) fn reply(status: &str, kind: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )]
}

/// Returns the head of a stream; what follows is its body, up to the end of the connection.
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
    // Most tests do not wait for it.
    let _ = asked.send(());
    let started = Instant::now();
    for step in steps {
        match step {
            // Whoever hung up hears no more.
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
                // A reset is a way to hang up; only a time that is up is none.
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

/// Reads the head, and the body unless it is to be left unread.
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
