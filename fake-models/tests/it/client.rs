//! A client that reads one reply, even if it is incomplete.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use tertulia_fake_models::FakeModels;

/// A reply.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The body, without the marks of its chunks.
    pub(crate) text: String,
    /// Whether it is complete.
    pub(crate) is_whole: bool,
}

impl Reply {
    /// Returns the events of a stream.
    pub(crate) fn events(&self) -> impl Iterator<Item = Value> {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok())
    }
}

/// Asks a server.
pub(crate) fn post(models: &FakeModels, path: &str, body: &Value) -> Reply {
    post_to(models.url().trim_start_matches("http://"), path, body)
}

/// Asks the server at an address.
pub(crate) fn post_to(address: &str, path: &str, body: &Value) -> Reply {
    post_and_then(address, path, body, "", || {})
}

/// The same, but runs a function as soon as this text has arrived.
pub(crate) fn post_and_then(
    address: &str,
    path: &str,
    body: &Value,
    text: &str,
    then: impl FnOnce(),
) -> Reply {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    // There are no more requests, so the server closes the connection after its reply.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    let has_come = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
    while !has_come(&bytes) {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).unwrap();
        assert_ne!(count, 0, "{text:?} did not come");
        bytes.extend_from_slice(&piece[..count]);
    }
    then();
    stream.read_to_end(&mut bytes).unwrap();
    read(&String::from_utf8(bytes).unwrap())
}

fn read(reply: &str) -> Reply {
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((reply, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let head = head.to_owned();
    if !head.contains("chunked") {
        return Reply { status, head, text: body.to_owned(), is_whole: true };
    }
    let (mut text, mut rest, mut is_whole) = (String::new(), body, false);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        is_whole = size == 0;
        let Some(chunk) = after.get(..size) else { break };
        text.push_str(chunk);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    Reply { status, head, text, is_whole }
}
