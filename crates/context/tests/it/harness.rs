//! Helpers of these tests: two people, two agents, a conversation, and a record of calls and log lines.

use std::sync::{Arc, Mutex};

use tertulia_context::{
    AddMessageError, AssemblerInput, ContextKind, ContextManager, ContextManagerOptions,
    ContextMessage, ContextRequest, ContextSnapshot, DEFAULT_MAX_BYTES, LogLevel, LogSink,
};
use tertulia_session::record::read_message;
use tertulia_session::{ConversationMessage, Message, Speaker, SpeakerType, json};

/// Returns a person.
pub(crate) fn ann() -> Speaker {
    Speaker::new("ann", "Ann", SpeakerType::Human)
}

/// Returns an agent.
pub(crate) fn ivo() -> Speaker {
    Speaker::new("ivo", "Ivo", SpeakerType::Ai)
}

/// Returns another agent.
pub(crate) fn lena() -> Speaker {
    Speaker::new("lena", "Lena", SpeakerType::Ai)
}

/// Returns a conversation in which Ann said these texts.
pub(crate) fn ann_said(texts: &[&str]) -> ContextManager {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), texts);
    manager
}

/// Adds these texts of a speaker to the conversation.
pub(crate) fn say(manager: &mut ContextManager, speaker: &Speaker, texts: &[&str]) {
    for text in texts {
        manager.add_message(Message::said(speaker.clone(), *text)).unwrap();
    }
}

/// Reads a message from JSON, as the program does.
pub(crate) fn add_json(
    manager: &mut ContextManager,
    text: &str,
) -> Result<Arc<ConversationMessage>, AddMessageError> {
    manager.add_message(read_message(json::parse(text).unwrap())?)
}

/// Returns a snapshot of messages that Ann said under these ids.
pub(crate) fn snapshot_of_ids(ids: &[&str]) -> ContextSnapshot {
    let message = |id: &&str| {
        serde_json::json!({
            "id": id, "content": format!("this is {id}"),
            "speaker": {"roleId": "ann", "roleName": "Ann", "type": "human"}
        })
    };
    let messages: Vec<_> = ids.iter().map(message).collect();
    let snapshot = serde_json::json!({"messages": messages, "teamTask": null, "version": 1});
    ContextSnapshot::parse(&snapshot.to_string()).unwrap()
}

/// Returns a conversation with messages under these ids.
pub(crate) fn imported(ids: &[&str]) -> ContextManager {
    let mut manager = ContextManager::default();
    manager.import_snapshot(snapshot_of_ids(ids)).unwrap();
    manager
}

/// Returns Ivo's context with default settings.
pub(crate) fn context(manager: &ContextManager) -> AssemblerInput<'_> {
    manager.get_context_for_agent("ivo", "claude", &ContextRequest::default())
}

/// Returns the contents of the messages in a context.
pub(crate) fn contents<'a>(input: &'a AssemblerInput<'_>) -> Vec<&'a str> {
    input.context_messages.iter().map(|message| &*message.content).collect()
}

/// Returns the ids of all messages.
pub(crate) fn ids(manager: &ContextManager) -> Vec<String> {
    manager.messages().map(|message| message.id.to_string()).collect()
}

/// Returns an empty input with the default budget.
pub(crate) fn nothing() -> AssemblerInput<'static> {
    AssemblerInput {
        context_messages: Vec::new(),
        current_message: "".into(),
        team_task: None,
        system_instruction: None,
        instruction_file_text: None,
        max_bytes: DEFAULT_MAX_BYTES,
    }
}

/// Returns an input with content in every section.
pub(crate) fn everything() -> AssemblerInput<'static> {
    AssemblerInput {
        context_messages: vec![
            line("ann", Some("ivo"), "Is the kettle on?"),
            line("ivo", Some("ann"), "It whistles."),
        ],
        current_message: "Then pour the tea.".into(),
        team_task: Some("Have breakfast".into()),
        system_instruction: Some("You are Ivo.".into()),
        instruction_file_text: Some("Mind the cups.".into()),
        max_bytes: DEFAULT_MAX_BYTES,
    }
}

/// Returns the same input with another budget.
pub(crate) fn within(max_bytes: u64, input: AssemblerInput<'static>) -> AssemblerInput<'static> {
    AssemblerInput { max_bytes, ..input }
}

/// Returns a message of the context.
pub(crate) fn line(
    from: &'static str,
    to: Option<&'static str>,
    content: &'static str,
) -> ContextMessage<'static> {
    let (from, to, content) = (from.into(), to.map(Into::into), content.into());
    ContextMessage { from, to, content, kind: ContextKind::Text }
}

/// Notes from any number of hooks and sinks, in the order of their calls.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn take(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    /// Returns all notes so far and removes them.
    pub(crate) fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Returns a log sink that records `level text`.
    pub(crate) fn sink(&self) -> LogSink {
        let notes = self.clone();
        Arc::new(move |level: LogLevel, text: &str| {
            notes.take(format!("{} {text}", level.as_str()));
        })
    }

    /// Returns a conversation whose log lines are recorded.
    pub(crate) fn logged(&self) -> ContextManager {
        ContextManager::new(ContextManagerOptions {
            log_sink: Some(self.sink()),
            ..ContextManagerOptions::default()
        })
    }

    /// Returns options whose log and hooks are recorded; the hooks as `added id` and `task text`.
    pub(crate) fn hooked(&self) -> ContextManagerOptions {
        let (added, changed) = (self.clone(), self.clone());
        ContextManagerOptions {
            on_message_added: Some(Box::new(move |message| {
                added.take(format!("added {}", message.id));
            })),
            on_team_task_changed: Some(Box::new(move |task| {
                changed.take(format!("task {task:?}"));
            })),
            log_sink: Some(self.sink()),
            ..ContextManagerOptions::default()
        }
    }
}
