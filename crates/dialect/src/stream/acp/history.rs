//! What was said in a session, as a hash. A new process of the agent can load the session of an earlier one, and replays
//! it first. The session is continued only if the replay has the same hash. Pure; [`super::Acp`] calls it.
//!
//! The hash covers the prompts, the texts of the agent, and the input, the output and the status of each tool call.
//! Thoughts are not part of it, because not every agent replays them. Agents send the same text in other pieces, so
//! the pieces do not count.

use tertulia_session::RecordHash;

use super::Call;
use crate::stream::fields::Value;

/// Longer texts are hashed in pieces of this size.
const PIECE: usize = 64 * 1024;
/// Maximum number of tool calls of a turn.
const CALLS_MAX: usize = 4096;

/// Why the session of an earlier process is not continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// The agent cannot load sessions, or not in a way that can be verified.
    NotOffered,
    /// The agent replayed something else than what was said.
    Differs,
    /// After what was said, the agent replayed this many messages more.
    Continued { messages: u64 },
}

/// The conversation of a session.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Whether anything is recorded. Most agents cannot load sessions.
    pub(super) is_on: bool,
    /// The hash of everything before the open text.
    chain: Option<RecordHash>,
    open: Vec<u8>,
    speaker: Option<Speaker>,
    /// The calls of the turn.
    calls: Vec<CallState>,
    /// Whether something was said that cannot be compared.
    has_gap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Person,
    Agent,
}

#[derive(Debug)]
struct CallState {
    id: Box<str>,
    status: Box<str>,
    input: Option<RecordHash>,
    output: Option<RecordHash>,
}

impl History {
    /// Adds a piece of a prompt. The turn before it has ended.
    pub(super) fn person(&mut self, text: &str) {
        if !self.is_on {
            return;
        }
        if self.speaker == Some(Speaker::Agent) {
            self.end_turn();
        }
        self.speaker = Some(Speaker::Person);
        self.push(text);
    }

    /// Adds a piece of a text of the agent.
    pub(super) fn agent(&mut self, text: &str) {
        if self.is_on && !text.is_empty() {
            self.begin_answer();
            self.push(text);
        }
    }

    /// Notes something that is not compared, such as a picture.
    pub(super) fn skip(&mut self) {
        self.has_gap = true;
    }

    /// Adds what an update says about a call.
    pub(super) fn call(&mut self, call: &Call<'_>) {
        if !self.is_on {
            return;
        }
        self.begin_answer();
        let known = self.calls.iter().rposition(|known| known.id == call.id);
        let place = known.unwrap_or_else(|| {
            self.close_text();
            self.add("call", call.id.as_bytes());
            let (id, status) = (call.id.clone(), "".into());
            self.calls.push(CallState { id, status, input: None, output: None });
            self.calls.len() - 1
        });
        self.has_gap |= self.calls.len() > CALLS_MAX;
        let Some(state) = self.calls.get_mut(place) else { return };
        if let Some(status) = call.status.plain() {
            state.status = status.into();
        }
        let output = call.output.or(call.content);
        for (value, hash) in [(call.input, &mut state.input), (output, &mut state.output)] {
            if value.is_some() {
                *hash = hash_of(value);
                self.has_gap |= hash.is_none();
            }
        }
        if self.calls.len() > CALLS_MAX {
            self.calls.pop();
        }
    }

    /// Ends the turn of the last prompt.
    pub(super) fn end_turn(&mut self) {
        self.close_text();
        for call in std::mem::take(&mut self.calls) {
            let hash = |hash: Option<RecordHash>| hash.map_or([0; 32], |hash| *hash.as_bytes());
            let hashes = [hash(call.input), hash(call.output)].concat();
            let parts = [call.id.as_bytes(), b"\0", call.status.as_bytes(), b"\0", &hashes];
            self.add("result", &parts.concat());
        }
        self.speaker = None;
    }

    /// Returns the hash of all turns that have ended; `None` if there are none, or if they cannot be compared.
    pub(super) fn hash(&self) -> Option<String> {
        self.chain.filter(|_| !self.has_gap).map(|hash| hash.to_string())
    }

    fn begin_answer(&mut self) {
        if self.speaker == Some(Speaker::Person) {
            self.close_text();
        }
        self.speaker = Some(Speaker::Agent);
    }

    fn push(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
        while self.open.len() > PIECE {
            let rest = self.open.split_off(PIECE);
            self.close_text();
            self.open = rest;
        }
    }

    fn close_text(&mut self) {
        let text = std::mem::take(&mut self.open);
        if !text.is_empty() {
            let is_person = self.speaker == Some(Speaker::Person);
            self.add(if is_person { "prompt" } else { "answer" }, &text);
        }
    }

    fn add(&mut self, kind: &str, bytes: &[u8]) {
        let before = self.chain.map_or([0; 32], |hash| *hash.as_bytes());
        let record = [&before, kind.as_bytes(), b"\0", bytes].concat();
        self.chain = Some(RecordHash::new(&record));
    }
}

/// Hashes a value without its spaces and the order of its fields; `None` if it is too deep.
fn hash_of(value: Value<'_>) -> Option<RecordHash> {
    let value: serde_json::Value = serde_json::from_str(value.source()?).ok()?;
    Some(RecordHash::new(value.to_string().as_bytes()))
}

/// The replay of a session that is being loaded.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) session: Box<str>,
    /// The hash of what was said.
    expected: Box<str>,
    /// Whether the replay has reached its end.
    is_complete: bool,
    /// The number of messages after it.
    more: u64,
}

impl Replay {
    pub(super) fn new(session: &str, expected: &str) -> Self {
        let (session, expected) = (session.into(), expected.into());
        Self { session, expected, is_complete: false, more: 0 }
    }

    /// Adds a piece of a prompt to the history.
    pub(super) fn person(&mut self, text: &str, history: &mut History) {
        let begins = history.speaker != Some(Speaker::Person);
        if begins {
            self.end_turn(history);
        }
        self.count(begins);
        history.person(text);
    }

    /// Adds a piece of an answer to the history.
    pub(super) fn agent(&mut self, text: &str, history: &mut History) {
        self.count(history.speaker != Some(Speaker::Agent));
        history.agent(text);
    }

    /// Compares the whole replay with what was said.
    pub(super) fn judge(&mut self, history: &mut History) -> Result<(), NotLoaded> {
        self.end_turn(history);
        let is_same = history.hash().is_some_and(|hash| *hash == *self.expected);
        match (is_same, self.more) {
            (true, _) => Ok(()),
            (false, 0) => Err(NotLoaded::Differs),
            (false, messages) => Err(NotLoaded::Continued { messages }),
        }
    }

    fn end_turn(&mut self, history: &mut History) {
        history.end_turn();
        self.is_complete |= history.hash().is_some_and(|hash| *hash == *self.expected);
    }

    fn count(&mut self, begins: bool) {
        self.more += u64::from(begins && self.is_complete);
    }
}
