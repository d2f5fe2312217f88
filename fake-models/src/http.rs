//! The required subset of HTTP/1.1: requests are read completely, a reply is one JSON value or a stream of events.
//! Called by the server; independent of vendors.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// Longer requests are refused. Prompts of some megabytes are part of the tests.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The maximum size of the head of a request.
const HEAD_BYTES_MAX: u64 = 256 * 1024;

/// A complete request.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path, with its query.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpRequest {
    /// Reads the next request of a connection; `None` if there are no more.
    pub(crate) fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        let mut head = stream.by_ref().take(HEAD_BYTES_MAX);
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(bad("the request line has no method and path"));
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        loop {
            line.clear();
            head.read_line(&mut line)?;
            let text = line.trim_end();
            if text.is_empty() {
                break;
            }
            let (name, value) = text.split_once(':').ok_or_else(|| bad("a header has no colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, path, headers, body: Vec::new() };
        request.body = request.read_body(stream)?;
        Ok(Some(request))
    }

    /// Returns the value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read_body(&self, stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
        let is_chunked = |value: &str| value.to_ascii_lowercase().contains("chunked");
        if self.header("transfer-encoding").is_some_and(is_chunked) {
            return read_chunks(stream);
        }
        let length = self.header("content-length").unwrap_or("0");
        let length = length.parse().map_err(|_| bad("the content length is not a number"))?;
        let mut body = Vec::new();
        read_exactly(stream, length, &mut body)?;
        Ok(body)
    }
}

fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        stream.by_ref().take(HEAD_BYTES_MAX).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("a chunk has no size"))?;
        read_exactly(stream, size, &mut body)?;
        line.clear();
        stream.by_ref().take(HEAD_BYTES_MAX).read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(
    stream: &mut BufReader<TcpStream>,
    length: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    if body.len().saturating_add(length) > BODY_BYTES_MAX {
        return Err(bad("the request is too long"));
    }
    let read = stream.by_ref().take(length as u64).read_to_end(body)?;
    if read < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Its name, if the vendor names events.
    pub(crate) event: Option<&'static str>,
    /// The content.
    pub(crate) data: String,
}

impl Frame {
    /// Creates an event of this name.
    pub(crate) fn named(event: &'static str, data: &Value) -> Self {
        Self { event: Some(event), data: data.to_string() }
    }

    /// Creates an event without a name.
    pub(crate) fn plain(data: &Value) -> Self {
        Self { event: None, data: data.to_string() }
    }
}

/// Sends a JSON value. The connection stays open for the next request.
pub(crate) fn send_json(stream: &mut TcpStream, status: u16, value: &Value) -> io::Result<()> {
    let body = value.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        reason(status)
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Begins a stream of events.
pub(crate) fn open_events(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
          transfer-encoding: chunked\r\n\r\n",
    )
}

/// Sends events, in one chunk.
pub(crate) fn send_events(stream: &mut TcpStream, frames: &[Frame]) -> io::Result<()> {
    let mut text = String::new();
    for Frame { event, data } in frames {
        if let Some(event) = event {
            text.push_str("event: ");
            text.push_str(event);
            text.push('\n');
        }
        text.push_str("data: ");
        text.push_str(data);
        text.push_str("\n\n");
    }
    if text.is_empty() {
        return Ok(());
    }
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all(chunk.as_bytes())
}

/// Ends a stream of events; the connection stays open.
pub(crate) fn close_events(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}
