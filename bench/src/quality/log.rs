//! Converts a session of the data to the log that a manager gets: entries chained by their content, and the steps
//! at which a model was called. Leaves out what the original tool added for itself (notes, titles, its own
//! summaries).

use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryKind, Message, NewEntry, Part, PartKind, Parts, Role, SessionHeader, Timestamp,
    ToolCall, ToolResult,
};

use super::data::{Line, Session, turn};

/// A session as entries.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) key: String,
    /// The header and the messages.
    pub(crate) entries: Vec<Entry>,
    /// The indexes of the answers before which a model was called.
    pub(crate) steps: Vec<usize>,
    /// For each line, the index of the entry that contains it.
    places: Vec<Option<usize>>,
}

impl Log {
    /// Converts a session of a coding agent: successive lines of the assistant become one answer; each result and
    /// each text of the user becomes a message.
    pub(crate) fn of_agent(session: &Session) -> Self {
        let mut log = Self::new(&session.key);
        let mut answer = Parts::new();
        for line in &session.lines {
            if !matches!(line.kind.as_str(), "text" | "thinking" | "tool_call" | "tool_result") {
                log.places.push(None);
                continue;
            }
            if line.role != "assistant" {
                log.close_answer(&mut answer);
            }
            // The answer that is being read will be the next entry.
            log.places.push(Some(log.entries.len()));
            if line.role == "assistant" {
                answer.push(part(line));
            } else {
                let message = Message::with_role(role(line), Parts::from_iter([part(line)]));
                log.append(message, line.time.as_deref());
            }
        }
        log.close_answer(&mut answer);
        log
    }

    /// Converts a conversation: each line becomes a message, with the speaker's name before the text if there is
    /// one. There are no steps; the caller appends the question.
    pub(crate) fn of_turns(session: &Session) -> Self {
        let mut log = Self::new(&session.key);
        for line in &session.lines {
            log.places.push(Some(log.entries.len()));
            let message =
                Message::with_role(role(line), Parts::from_iter([Part::text(turn(line))]));
            log.append(message, line.time.as_deref());
        }
        log
    }

    /// Returns the index of the entry that contains this line.
    pub(crate) fn place(&self, line: usize) -> Option<usize> {
        self.places.get(line).copied().flatten()
    }

    /// Returns the part before this line of the answer that contains it, if there is one.
    pub(crate) fn begun(&self, session: &Session, line: usize) -> Option<Message> {
        let answer = self.place(line)?;
        let before = session.lines.get(..line)?.iter().zip(&self.places);
        let of_answer = before.filter(|(_, place)| **place == Some(answer));
        let parts: Parts = of_answer.map(|(line, _)| part(line)).collect();
        (!parts.is_empty()).then(|| Message::with_role(Role::Assistant, parts))
    }

    fn new(key: &str) -> Self {
        let header = NewEntry::new(EntryKind::SessionHeader(SessionHeader::default()));
        let entries = vec![header.with_content_id()];
        Self { key: key.to_owned(), entries, steps: Vec::new(), places: Vec::new() }
    }

    fn close_answer(&mut self, answer: &mut Parts) {
        if answer.is_empty() {
            return;
        }
        // Without a message, no model could have been called.
        if self.entries.len() > 1 {
            self.steps.push(self.entries.len());
        }
        self.append(Message::with_role(Role::Assistant, std::mem::take(answer)), None);
    }

    fn append(&mut self, message: Message, time: Option<&str>) {
        let entry = follow(
            self.entries.last(),
            message,
            time.and_then(|text| text.parse::<Timestamp>().ok()),
        );
        self.entries.push(entry);
    }
}

/// Returns a message as the entry after this one.
pub(crate) fn follow(tail: Option<&Entry>, message: Message, time: Option<Timestamp>) -> Entry {
    let mut entry = NewEntry::new(EntryKind::Message(message));
    entry.timestamp = time;
    entry.parent_id = tail.map(|tail| tail.id.clone());
    entry.with_content_id()
}

fn role(line: &Line) -> Role {
    line.role.parse::<Role>().ok().unwrap_or(Role::User)
}

fn part(line: &Line) -> Part {
    let call_id = line.call.as_deref().unwrap_or_default();
    Part::new(match line.kind.as_str() {
        "thinking" => PartKind::Thinking(line.text.clone()),
        "tool_call" => PartKind::ToolCall(Box::new(tool_call(line, call_id))),
        "tool_result" => PartKind::ToolResult(Box::new(ToolResult {
            tool_call_id: call_id.into(),
            is_error: line.is_error,
            content: Json::text(&line.text),
        })),
        _ => PartKind::Text(line.text.clone()),
    })
}

fn tool_call(line: &Line, call_id: &str) -> ToolCall {
    let tool_name = line.tool.as_deref().unwrap_or_default().into();
    let (arguments, raw_args_text) = match Json::parse(&line.text) {
        Ok(arguments) => (arguments, None),
        Err(_) => (Json::text(""), Some(line.text.as_str().into())),
    };
    ToolCall { tool_call_id: call_id.into(), tool_name, arguments, raw_args_text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session::of(&[
            ("user", "text", "Mend it"),
            ("system", "note", "a hook"),
            ("assistant", "thinking", "Hm"),
            ("assistant", "text", "I look"),
            ("assistant", "tool_call", r#"{"path":"a.rs"}"#),
            ("tool", "tool_result", "fn a() {}"),
            ("assistant", "text", "Done"),
        ])
    }

    fn parts(entry: &Entry) -> usize {
        match &entry.kind {
            EntryKind::Message(message) => message.parts.len(),
            _ => 0,
        }
    }

    #[test]
    fn successive_lines_of_the_assistant_are_one_answer() {
        let log = Log::of_agent(&session());
        assert_eq!(log.entries.iter().map(parts).collect::<Vec<_>>(), [0, 1, 3, 1, 1]);
        assert_eq!(log.steps, [2, 4]);
    }

    #[test]
    fn a_line_is_found_in_its_entry_and_a_note_in_none() {
        let log = Log::of_agent(&session());
        let places: Vec<_> = (0..8).map(|line| log.place(line)).collect();
        let (two, none) = (Some(2), None);
        assert_eq!(places, [Some(1), none, two, two, two, Some(3), Some(4), none]);
    }

    #[test]
    fn every_entry_follows_the_one_before() {
        let log = Log::of_agent(&session());
        for pair in log.entries.windows(2) {
            assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
        }
    }

    #[test]
    fn an_answer_to_nothing_is_no_step() {
        let log = Log::of_agent(&Session::of(&[("assistant", "text", "Hello")]));
        assert_eq!((log.entries.len(), log.steps.len()), (2, 0));
    }
}
