//! The host: accepts clients on the socket, and executes their requests in the thread of the driver. Each client has one
//! thread that reads and one that writes, so no client delays the session or another client.

use std::io::{self, ErrorKind, PipeWriter, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tertulia_team::wire::{ByeReason, ClientMessage, LineBuffer, VERSION, WireError};
use tertulia_team::{Call, Command, Driver, DriverHandle, EventSink};

use super::broadcast::Broadcast;
use super::place::{BoundSocket, SocketPlace, of_same_user};
use super::queue::{Queue, Reply, WRITE_CHECK};
use crate::ChatSession;
use crate::commands::{self, Slash, Typed};
use crate::dispatch::{Action, CommandContext, dispatch};
use crate::engine::{ChatEvent, EventSender, refused};
use crate::style::{Line, Look};

/// The maximum number of clients at the same time.
const CLIENTS_MAX: usize = 256;
/// How long a new connection may take to introduce itself.
const HELLO_MAX: Duration = Duration::from_secs(10);
/// The pause after an error of the socket, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The error for a message without text.
pub const EMPTY_MESSAGE: &str = "nothing to send: the text is empty";

/// Accepts clients until it is dropped. Then it says goodbye to them.
pub struct Host {
    broadcast: Arc<Broadcast>,
    thread: Option<JoinHandle<()>>,
    /// Dropped to end the thread.
    stop: Option<PipeWriter>,
}

/// What all clients of a host share.
struct Served {
    chat: ChatSession,
    broadcast: Arc<Broadcast>,
    handle: DriverHandle,
    session: Box<str>,
    clients: AtomicUsize,
}

/// A client that waits for its welcome. If the driver ends first, the client learns it at once, and can try again.
struct Joining {
    queue: Arc<Queue>,
    is_added: bool,
}

impl Drop for Joining {
    fn drop(&mut self) {
        if !self.is_added {
            self.queue.host_ended();
        }
    }
}

impl Host {
    /// Starts to accept clients. Without a usable folder for the socket, nobody can join.
    pub fn start(
        place: &SocketPlace,
        broadcast: &Arc<Broadcast>,
        driver: &Driver,
        chat: ChatSession,
    ) -> io::Result<Self> {
        let socket = place.bind()?;
        let (reader, stop) = io::pipe()?;
        let served = Arc::new(Served {
            chat,
            broadcast: Arc::clone(broadcast),
            handle: driver.handle(),
            session: driver.session().as_str().into(),
            clients: AtomicUsize::new(0),
        });
        let thread = thread::Builder::new()
            .name("tertulia-host".to_owned())
            .spawn(move || served.accept(&socket, &reader))?;
        Ok(Self { broadcast: Arc::clone(broadcast), thread: Some(thread), stop: Some(stop) })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop = None;
        self.broadcast.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Served {
    fn accept(self: &Arc<Self>, socket: &BoundSocket, stop: &impl AsFd) {
        let _ = socket.listener.set_nonblocking(true);
        loop {
            let watch = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
            let mut fds = [watch(socket.listener.as_fd()), watch(stop.as_fd())];
            let polled = poll(&mut fds, None);
            let [_, stopped] = &fds;
            if !stopped.revents().is_empty() {
                return;
            }
            match polled.map_err(io::Error::from).and_then(|_| socket.listener.accept()) {
                Ok((stream, _)) => self.greet(stream),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Starts the threads of a connection.
    fn greet(self: &Arc<Self>, stream: UnixStream) {
        let served = Arc::clone(self);
        let serve = move || {
            // The client sees that its connection ends.
            let _ = served.serve(&stream);
        };
        // Without a thread the connection is closed, and the client tries again.
        drop(thread::Builder::new().name("tertulia-client".to_owned()).spawn(serve));
    }

    fn serve(&self, stream: &UnixStream) -> io::Result<()> {
        // On some systems it inherits this from the listening socket.
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_CHECK))?;
        of_same_user(stream)?;
        let queue = Queue::new(stream.try_clone()?);
        let writer = Arc::clone(&queue);
        let writer = thread::Builder::new()
            .name("tertulia-to-client".to_owned())
            .spawn(move || writer.write_all())?;
        match self.clients.fetch_add(1, Ordering::SeqCst) {
            CLIENTS_MAX.. => queue.close(ByeReason::Refused, "too many processes have joined"),
            _ => {
                if let Err(error) = self.read(stream, &queue) {
                    queue.close(ByeReason::Refused, &error.to_string());
                }
            }
        }
        self.clients.fetch_sub(1, Ordering::SeqCst);
        // A client that has left needs no last lines.
        if !queue.is_closing() {
            queue.cut();
        }
        let _ = writer.join();
        Ok(())
    }

    /// Reads the requests of a client until it leaves.
    fn read(&self, mut stream: &UnixStream, queue: &Arc<Queue>) -> Result<(), WireError> {
        let (mut buffer, mut chunk) = (LineBuffer::default(), vec![0; 64 * 1024]);
        let mut client = None;
        let _ = stream.set_read_timeout(Some(HELLO_MAX));
        loop {
            let count = match stream.read(&mut chunk) {
                Ok(count @ 1..) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                _ => return Ok(()),
            };
            buffer.push(chunk.get(..count).unwrap_or_default());
            while let Some(line) = buffer.next_line() {
                let message = ClientMessage::read(line?)?;
                match &client {
                    None => {
                        client = self.welcome(&message, queue);
                        if client.is_none() {
                            return Ok(());
                        }
                        let _ = stream.set_read_timeout(None);
                    }
                    Some(chat) if queue.begin_request() => self.execute(message, chat, queue),
                    Some(_) => return Ok(()),
                }
            }
        }
    }

    /// Adds a client. Returns the chat as it is for this client; `None` if it cannot join.
    fn welcome(&self, hello: &ClientMessage, queue: &Arc<Queue>) -> Option<ChatSession> {
        let refuse = |text: &str| {
            queue.close(ByeReason::Refused, text);
            None
        };
        let ClientMessage::Hello { version, session, folder, speaker } = hello else {
            return refuse("a client must introduce itself first");
        };
        if *version != VERSION {
            return refuse(&format!(
                "the session runs in another version of Tertulia (its protocol is {VERSION}, not {version}); use the same"
            ));
        }
        if *session != self.session {
            return refuse("this process runs another session");
        }
        let chat = ChatSession {
            folder: PathBuf::from(&**folder),
            speaker: speaker.clone(),
            ..self.chat.clone()
        };
        let broadcast = Arc::clone(&self.broadcast);
        let mut joining = Joining { queue: Arc::clone(queue), is_added: false };
        let add = move |driver: &mut Driver, _: &mut dyn EventSink| {
            broadcast.add(Arc::clone(&joining.queue), driver);
            joining.is_added = true;
            Ok(())
        };
        self.handle.send(Command::Call(Call::new(add))).then_some(chat)
    }

    fn execute(&self, message: ClientMessage, chat: &ChatSession, queue: &Arc<Queue>) {
        let number = match &message {
            ClientMessage::Say { number, .. }
            | ClientMessage::Command { number, .. }
            | ClientMessage::Cancel { number }
            | ClientMessage::Continue { number }
            | ClientMessage::Repeat { number, .. }
            | ClientMessage::Compact { number }
            | ClientMessage::Permit { number, .. }
            | ClientMessage::Status { number } => *number,
            ClientMessage::Hello { .. } => 0,
            _ => 0,
        };
        let reply = Reply::new(Arc::clone(queue), number);
        let sender = EventSender::for_client(reply.clone());
        match action_of(message, &CommandContext { chat, sender: &sender }) {
            Action::Send(command) => {
                let call = Call::new(move |driver, sink| {
                    if let Err(error) = driver.execute(command, sink) {
                        sender.send(refused(&error));
                        if error.is_fatal() {
                            // Not confirmed: only the log shows whether something was stored.
                            return Err(error);
                        }
                    }
                    reply.done();
                    Ok(())
                });
                self.handle.send(Command::Call(call));
            }
            Action::Tell(lines) => {
                if !lines.is_empty() {
                    reply.lines(&lines);
                }
                reply.done();
            }
            Action::Leave | Action::TakeOver => reply.done(),
        }
    }
}

fn action_of(message: ClientMessage, context: &CommandContext<'_>) -> Action {
    let tell = |text: &str| Action::Tell(vec![Line::new(text, Look::Error)]);
    match message {
        ClientMessage::Say { text, .. } if text.trim().is_empty() => {
            context.sender.send(ChatEvent::Refused(EMPTY_MESSAGE.to_owned()));
            Action::Tell(Vec::new())
        }
        ClientMessage::Say { text, .. } => dispatch(&Typed::Words(&text), context),
        ClientMessage::Command { text, .. } => match commands::read(&text) {
            Typed::Command(Slash::Export | Slash::Quit | Slash::TakeOver, _) | Typed::Words(_) => {
                tell("this is no command for the process that runs the session")
            }
            typed => dispatch(&typed, context),
        },
        ClientMessage::Cancel { .. } => Action::Send(Command::CancelRunning),
        ClientMessage::Continue { .. } => Action::Send(Command::Continue),
        ClientMessage::Repeat { turn, .. } => Action::Send(Command::Repeat(turn)),
        ClientMessage::Compact { .. } => Action::Send(Command::Compact),
        ClientMessage::Permit { request, answer, .. } => {
            Action::Send(Command::Permit(request, answer))
        }
        ClientMessage::Status { .. } => {
            let sender = context.sender.clone();
            Action::Send(Command::Call(Call::new(move |driver, _| {
                sender.send_status(0, driver);
                Ok(())
            })))
        }
        ClientMessage::Hello { .. } => tell("this client has already introduced itself"),
        _ => tell("this process does not know this request"),
    }
}
