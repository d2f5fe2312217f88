//! The conversations of one caller, and the notifications of their hooks and logs, which wait until the next response
//! is sent.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tertulia_context::{ContextManager, ContextManagerOptions, LogLevel, MessageCap};
use tertulia_session::ConversationMessage;
use tertulia_session::record::ConversationMessageRecord;

use super::error::RpcError;
use super::write_notification;

/// The default conversation. It always exists.
pub(super) const MAIN: &str = "main";

pub(super) struct Conversations {
    managers: HashMap<String, ContextManager>,
    outbox: Outbox,
}

impl Conversations {
    pub(super) fn new() -> Self {
        let mut conversations = Self { managers: HashMap::new(), outbox: Outbox::default() };
        conversations.create(MAIN, ContextManagerOptions::default(), None);
        conversations
    }

    /// Creates a conversation. Replaces an existing one of the same name, with a note that tells the caller what is
    /// lost.
    pub(super) fn create(
        &mut self,
        name: &str,
        options: ContextManagerOptions,
        messages_max: Option<NonZeroUsize>,
    ) {
        let shared: Arc<str> = name.into();
        let to_outbox = || (self.outbox.clone(), Arc::clone(&shared));
        let (added, added_name) = to_outbox();
        let (task, task_name) = to_outbox();
        let (log, log_name) = to_outbox();
        let message_cap = messages_max.map(|messages_max| {
            let (archived, name) = to_outbox();
            let archive = move |message: Arc<ConversationMessage>| {
                archived.send(&name, "messageArchived", Body::Message(&message));
            };
            MessageCap { messages_max, archive: Box::new(archive) }
        });
        let options = ContextManagerOptions {
            message_cap,
            on_message_added: Some(Box::new(move |message| {
                added.send(&added_name, "messageAdded", Body::Message(message));
            })),
            on_team_task_changed: Some(Box::new(move |new| {
                task.send(&task_name, "teamTaskChanged", Body::Task(new));
            })),
            log_sink: Some(Arc::new(move |level, line| log.log(&log_name, level, line))),
            ..options
        };
        let manager = ContextManager::new(options);
        let replaced = self.managers.insert(name.to_owned(), manager);
        let messages = replaced.map_or(0, |manager| manager.messages().len());
        if messages > 0 {
            let lost = format!("{messages} messages of {name:?} are lost");
            self.warn(name, &format!("[rpc] Conversation replaced: {lost}"));
        }
    }

    pub(super) fn get(&mut self, name: &str) -> Result<&mut ContextManager, RpcError> {
        self.managers.get_mut(name).ok_or_else(|| RpcError::unknown_conversation(name))
    }

    pub(super) fn warn(&self, conversation: &str, line: &str) {
        self.outbox.log(conversation, LogLevel::Warn, line);
    }

    /// Returns the messages of hooks and logs since the last call, one line each.
    pub(super) fn take_notifications(&mut self) -> Vec<String> {
        std::mem::take(&mut self.outbox.lines())
    }
}

#[derive(Clone, Default)]
struct Outbox(Arc<Mutex<Vec<String>>>);

enum Body<'a> {
    Message(&'a ConversationMessage),
    Task(Option<&'a str>),
    Log(LogLevel, &'a str),
}

struct Notice<'a> {
    conversation: &'a str,
    body: Body<'a>,
}

impl Outbox {
    fn log(&self, conversation: &str, level: LogLevel, line: &str) {
        self.send(conversation, "log", Body::Log(level, line));
    }

    fn send(&self, conversation: &str, method: &str, body: Body<'_>) {
        let line = write_notification(method, &Notice { conversation, body });
        self.lines().push(line);
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Serialize for Notice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // No name means the main conversation, as in requests.
        if self.conversation != MAIN {
            map.serialize_entry("conversation", self.conversation)?;
        }
        match &self.body {
            Body::Message(message) => {
                map.serialize_entry("message", &ConversationMessageRecord(message))?;
            }
            Body::Task(task) => map.serialize_entry("task", task)?,
            Body::Log(level, text) => {
                map.serialize_entry("level", level.as_str())?;
                map.serialize_entry("text", text)?;
            }
        }
        map.end()
    }
}
