//! The socket between us and a supervisor. We send it the agent's three pipes. It reports events of the agent, one
//! per line. When we close our end, it kills everything.

use std::io::{IoSlice, IoSliceMut, PipeReader, PipeWriter, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use tertulia_dialect::stream::Exit;

use crate::{Overuse, Resource};

/// Maximum size of the unread output of a supervisor. It writes only a few lines; longer output is ignored.
const PENDING_BYTES_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SupervisorMessage {
    Started(u32),
    Ended(Exit),
    Over(Overuse),
}

impl SupervisorMessage {
    fn to_line(self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Ended(Exit::Code(code)) => format!("code {code}\n"),
            Self::Ended(Exit::Signal(signal)) => format!("signal {signal}\n"),
            Self::Over(Overuse { resource: Resource::Processes, used, limit }) => {
                format!("processes {used} {limit}\n")
            }
            Self::Over(Overuse { resource: Resource::Memory, used, limit }) => {
                format!("memory {used} {limit}\n")
            }
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (word, value) = (words.next()?, words.next()?);
        let over = |resource, limit: Option<&str>| {
            let (used, limit) = (value.parse().ok()?, limit?.parse().ok()?);
            Some(Self::Over(Overuse { resource, used, limit }))
        };
        match word {
            "started" => value.parse().ok().map(Self::Started),
            "code" => value.parse().ok().map(|code| Self::Ended(Exit::Code(code))),
            "signal" => value.parse().ok().map(|signal| Self::Ended(Exit::Signal(signal))),
            "processes" => over(Resource::Processes, words.next()),
            "memory" => over(Resource::Memory, words.next()),
            _ => None,
        }
    }

    /// Sends the message. Ignores an error, because the next read detects that nobody receives.
    pub(super) fn send(self, mut link: &UnixStream) {
        let _ = link.write_all(self.to_line().as_bytes());
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    pending: Vec<u8>,
    pub(crate) agent: Option<u32>,
    pub(crate) exit: Option<Exit>,
    pub(crate) overuse: Option<Overuse>,
    pub(crate) is_closed: bool,
}

#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Link {
    /// Creates the socket and the pipes, and sends the agent's ends. The supervisor's end must
    /// become its standard input.
    pub(crate) fn open() -> std::io::Result<(Self, Pipes, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        let (stdin, our_stdin): (PipeReader, PipeWriter) = std::io::pipe()?;
        let (our_stdout, stdout) = std::io::pipe()?;
        let (our_stderr, stderr) = std::io::pipe()?;
        send_pipes(&ours, &[stdin.into(), stdout.into(), stderr.into()])?;
        ours.set_nonblocking(true)?;
        let pipes = Pipes {
            stdin: OwnedFd::from(our_stdin).into(),
            stdout: OwnedFd::from(our_stdout).into(),
            stderr: OwnedFd::from(our_stderr).into(),
        };
        let (pending, agent, exit, overuse) = (Vec::new(), None, None, None);
        let link = Self { stream: ours, pending, agent, exit, overuse, is_closed: false };
        Ok((link, pipes, theirs.into()))
    }

    /// Returns another handle of our end, for ending everything at once.
    pub(crate) fn handle(&self) -> Option<UnixStream> {
        self.stream.try_clone().ok()
    }

    pub(crate) fn receive(&mut self) {
        let mut buffer = [0; 512];
        while !self.is_closed {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(length) => self.note(buffer.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => self.is_closed = true,
            }
        }
    }

    /// Asks the supervisor to end everything. Returns whether it exited in time.
    pub(crate) fn close(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.set_nonblocking(false);
        while !self.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
                break;
            }
            self.receive();
        }
        self.is_closed
    }

    fn note(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            match SupervisorMessage::parse(String::from_utf8_lossy(&line).trim_end()) {
                Some(SupervisorMessage::Started(pid)) => self.agent = Some(pid),
                Some(SupervisorMessage::Ended(exit)) => self.exit = Some(exit),
                Some(SupervisorMessage::Over(overuse)) => self.overuse = Some(overuse),
                None => tracing::debug!("a supervisor sent an unexpected answer"),
            }
        }
        self.pending.truncate(PENDING_BYTES_MAX);
    }
}

fn send_pipes(link: &UnixStream, files: &[OwnedFd; 3]) -> std::io::Result<()> {
    let files = files.each_ref().map(OwnedFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    rustix::net::sendmsg(link, &[IoSlice::new(b"p")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Receives the three pipes. Returns `None` if something else arrived.
pub(super) fn receive_pipes(link: &UnixStream) -> Option<[OwnedFd; 3]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut buffer = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(link, &mut buffer, &mut ancillary, RecvFlags::empty()).ok()?;
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    for file in &files {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC).ok()?;
    }
    files.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let over = |resource| SupervisorMessage::Over(Overuse { resource, used: 12, limit: 11 });
        for message in [
            SupervisorMessage::Started(7),
            SupervisorMessage::Ended(Exit::Code(3)),
            SupervisorMessage::Ended(Exit::Signal(9)),
            over(Resource::Processes),
            over(Resource::Memory),
        ] {
            assert_eq!(SupervisorMessage::parse(message.to_line().trim_end()), Some(message));
        }
        for line in ["", "started", "started x", "memory 1", "hello 1"] {
            assert_eq!(SupervisorMessage::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn pipes_arrive_at_the_other_end() {
        let (mut link, mut pipes, theirs) = Link::open().unwrap();
        let theirs = UnixStream::from(theirs);
        let [stdin, stdout, stderr] = receive_pipes(&theirs).unwrap();
        PipeWriter::from(stdout).write_all(b"out").unwrap();
        drop((stdin, stderr));
        let mut said = String::new();
        pipes.stdout.read_to_string(&mut said).unwrap();
        assert_eq!(said, "out");
        SupervisorMessage::Started(5).send(&theirs);
        link.receive();
        assert_eq!((link.agent, link.is_closed), (Some(5), false));
        drop(theirs);
        link.receive();
        assert!(link.is_closed);
    }
}
