//! Several processes in one session. The process that runs it, the host, listens on a local socket; other processes of
//! the same user, the clients, see its events and send messages and commands. `tertulia_team::wire` has the protocol.
//!
//! - `place` finds the socket of a session, and checks who is on the other side.
//! - `broadcast` passes the events to the clients; `queue` is the bounded queue of one client. Neither ever waits for a client.
//! - `host` accepts clients and executes their requests.
//! - `dispatch` decides which lines of a client go to the host.
//! - `client` is a connection of a client; `joined` keeps one for the chat, and follows the log without a host.
//! - `unseen` finds what a client has missed in the log, and whether a message of it was stored.

mod broadcast;
mod client;
mod dispatch;
mod host;
mod joined;
mod place;
mod queue;
mod unseen;

pub use broadcast::{Broadcast, SharedSink};
pub use client::{Client, ClientSender, JoinError};
pub(crate) use dispatch::dispatch_joined;
pub use host::{EMPTY_MESSAGE, Host};
pub(crate) use joined::{JoinedSession, Link};
pub use place::SocketPlace;
pub(crate) use queue::Reply;
pub use unseen::is_message_stored;

#[cfg(test)]
mod tests;
