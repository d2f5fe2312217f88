//! A connection of a client: introduces itself, reads the messages of the host, and sends requests.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tertulia_session::{EntryId, Message};
use tertulia_store::SessionId;
use tertulia_team::wire::{
    ByeReason, ClientMessage, HostMessage, LINE_BYTES_MAX, LineBuffer, VERSION, WireError,
};

use super::place::SocketPlace;
use super::unseen::OwnSpeaker;

/// How long a host may take to answer a new client. It answers between two events of the session.
const WELCOME_MAX: Duration = Duration::from_secs(10);
/// How long a request may take to be handed over. A host reads even while it works.
const SEND_MAX: Duration = Duration::from_secs(20);

/// The reason why a process cannot join a session, or a connection to its host ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    #[error("no process that runs this session can be reached")]
    NoHost,
    #[error("the process that ran this session has ended")]
    HostEnded,
    #[error("this process did not read fast enough and was disconnected")]
    Behind,
    #[error("the process that runs this session refused: {0}")]
    Refused(Box<str>),
    #[error("the process that runs this session sent something unexpected: {0}")]
    Protocol(#[from] WireError),
    #[error("the message is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// A connection to a host.
pub struct Client {
    stream: UnixStream,
    buffer: LineBuffer,
    sender: ClientSender,
    has_ended_properly: bool,
    /// The process id of the host.
    pub process: u32,
    /// The newest entry that the client reads from the store. Later ones come from the host.
    pub tail: Option<EntryId>,
    /// The running turns.
    pub running: Vec<EntryId>,
}

/// Sends requests to a host, from any thread.
#[derive(Clone)]
pub struct ClientSender(Arc<Sending>);

struct Sending {
    stream: Mutex<UnixStream>,
    next: AtomicU64,
    /// The messages that the host has not confirmed.
    unconfirmed: Mutex<BTreeMap<u64, Box<str>>>,
}

impl Client {
    /// Joins the session whose host has its socket in this place.
    pub fn join(
        place: &SocketPlace,
        session: &SessionId,
        folder: &Path,
        speaker: Option<&str>,
    ) -> Result<Self, JoinError> {
        let stream = place.connect().map_err(|_| JoinError::NoHost)?;
        let ready = stream
            .set_read_timeout(Some(WELCOME_MAX))
            .and_then(|()| stream.set_write_timeout(Some(SEND_MAX)))
            .and_then(|()| stream.try_clone());
        let writer = ready.map_err(|_| JoinError::NoHost)?;
        let sender = ClientSender(Arc::new(Sending {
            stream: Mutex::new(writer),
            next: AtomicU64::new(1),
            unconfirmed: Mutex::default(),
        }));
        let hello = ClientMessage::Hello {
            version: VERSION,
            session: session.as_str().into(),
            folder: folder.to_string_lossy().into(),
            speaker: speaker.map(Box::from),
        };
        sender.write(&hello)?;
        let (buffer, running) = (LineBuffer::default(), Vec::new());
        let has_ended_properly = false;
        let mut client =
            Self { stream, buffer, sender, has_ended_properly, process: 0, tail: None, running };
        match client.receive()? {
            HostMessage::Welcome { process, tail, running, .. } => {
                (client.process, client.tail, client.running) = (process, tail, running);
            }
            _ => return Err(JoinError::Protocol(WireError::UnknownType("no welcome".into()))),
        }
        let _ = client.stream.set_read_timeout(None);
        Ok(client)
    }

    /// Returns a sender of requests.
    pub fn sender(&self) -> &ClientSender {
        &self.sender
    }

    /// Returns whether the host has said that it ends. Then it has executed the requests that it confirmed, and no
    /// others.
    pub fn has_ended_properly(&self) -> bool {
        self.has_ended_properly
    }

    /// Waits for the next message. Messages of a later version that this one does not know are skipped.
    pub fn receive(&mut self) -> Result<HostMessage, JoinError> {
        loop {
            while let Some(line) = self.buffer.next_line() {
                match HostMessage::read(line?) {
                    Ok(HostMessage::Bye { reason, text }) => {
                        self.has_ended_properly = reason == ByeReason::Ended;
                        return Err(match reason {
                            ByeReason::Ended => JoinError::HostEnded,
                            ByeReason::Behind => JoinError::Behind,
                            ByeReason::Refused => JoinError::Refused(text),
                        });
                    }
                    Ok(HostMessage::Done { number }) => {
                        self.sender.confirm(number);
                        return Ok(HostMessage::Done { number });
                    }
                    Ok(message) => return Ok(message),
                    Err(WireError::UnknownType(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(count @ 1..) => self.buffer.push(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Its process was killed, or is stopped and does not even welcome a client.
                _ => return Err(JoinError::HostEnded),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl ClientSender {
    fn number(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Sends a request that is made from its number. Returns the number.
    pub fn request(&self, make: impl FnOnce(u64) -> ClientMessage) -> Result<u64, JoinError> {
        let number = self.number();
        self.write(&make(number))?;
        Ok(number)
    }

    /// Sends a message of the person. Until the host confirms it, it is among the [`Self::unconfirmed`].
    pub fn say(&self, text: &str) -> Result<u64, JoinError> {
        let number = self.number();
        self.unconfirmed_by_number().insert(number, text.into());
        let sent = self.write(&ClientMessage::Say { number, text: text.into() });
        if matches!(sent, Err(JoinError::TooLong)) {
            self.confirm(number);
        }
        sent.map(|()| number)
    }

    fn unconfirmed_by_number(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Box<str>>> {
        self.0.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn confirm(&self, number: u64) {
        self.unconfirmed_by_number().remove(&number);
    }

    /// Records that this message is in the log. If this client has sent it, it need not be sent again.
    pub(super) fn was_stored(&self, message: &Message, speaker: &OwnSpeaker<'_>) {
        let mut unconfirmed = self.unconfirmed_by_number();
        let mut said = unconfirmed.iter();
        let found = said.find(|(_, said)| speaker.has_said(said, message)).map(|(at, _)| *at);
        if let Some(number) = found {
            unconfirmed.remove(&number);
        }
    }

    /// Returns the text of a message that the host has not confirmed.
    pub(super) fn unconfirmed_text(&self, number: u64) -> Option<Box<str>> {
        self.unconfirmed_by_number().get(&number).cloned()
    }

    /// Returns the messages that the host has not confirmed, oldest first. If the connection has ended, only the log
    /// shows whether they were stored.
    pub fn unconfirmed(&self) -> Vec<Box<str>> {
        self.unconfirmed_by_number().values().cloned().collect()
    }

    fn write(&self, message: &ClientMessage) -> Result<(), JoinError> {
        let mut line = message.to_line();
        if line.len() > LINE_BYTES_MAX {
            return Err(JoinError::TooLong);
        }
        line.push('\n');
        let mut stream = self.0.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let written: io::Result<()> = stream.write_all(line.as_bytes());
        written.map_err(|_| {
            // Half a line may have been sent. The last messages of the host can still be read.
            let _ = stream.shutdown(Shutdown::Write);
            JoinError::HostEnded
        })
    }

    /// Ends the connection.
    pub fn leave(&self) {
        let stream = self.0.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.shutdown(Shutdown::Both);
    }
}
