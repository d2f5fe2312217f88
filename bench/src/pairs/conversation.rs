//! What is said in messages, item by item, in a form that can be compared.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use tertulia_session::json::Kind;
use tertulia_session::{
    Entry, EntryError, EntryIndex, Message, Part, PartKind, ResultPiece, Role, ToolResult,
};

/// A text, a call or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    User(String),
    Answer(String),
    Call { id: String, tool: String, arguments: String },
    Result { id: String, text: String, is_error: bool },
}

impl Said {
    /// Returns what a part says; `None` for thinking, pictures and other parts.
    pub(super) fn of(message: &Message, part: &Part) -> Option<Self> {
        Some(match &part.kind {
            PartKind::Text(text) => match message.effective_role() {
                Role::Assistant => Self::Answer(text.clone()),
                _ => Self::User(text.clone()),
            },
            PartKind::ToolCall(call) => Self::Call {
                id: call.tool_call_id.to_string(),
                tool: call.tool_name.to_string(),
                arguments: call.arguments.as_str().to_owned(),
            },
            PartKind::ToolResult(result) => Self::Result {
                id: result.tool_call_id.to_string(),
                text: result_text(result),
                is_error: result.is_error,
            },
            _ => return None,
        })
    }

    /// Returns the id of a call.
    pub(super) fn call_id(&self) -> Option<&str> {
        match self {
            Self::Call { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether both are the same. A result may have another id if its call is not among those that were kept.
    pub(super) fn is_same(&self, other: &Self, calls: &HashSet<String>) -> bool {
        match (self, other) {
            (
                Self::Result { id, text, is_error },
                Self::Result { id: other_id, text: other_text, is_error: other_error },
            ) => {
                let are_calls_kept = calls.contains(id) && calls.contains(other_id);
                text == other_text && is_error == other_error && (id == other_id || !are_calls_kept)
            }
            _ => self == other,
        }
    }
}

/// Moves every result to its call: agents write the results of several calls in an order of their own.
pub(super) fn results_at_calls<T>(items: Vec<T>, said: impl Fn(&T) -> &Said) -> Vec<T> {
    let mut groups: Vec<Vec<T>> = Vec::with_capacity(items.len());
    let mut waiting: HashMap<String, VecDeque<usize>> = HashMap::new();
    for item in items {
        let group = match said(&item) {
            Said::Call { id, .. } => {
                waiting.entry(id.clone()).or_default().push_back(groups.len());
                None
            }
            Said::Result { id, .. } => waiting.get_mut(id).and_then(VecDeque::pop_front),
            Said::User(_) | Said::Answer(_) => None,
        };
        match group.and_then(|group| groups.get_mut(group)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups.into_iter().flatten().collect()
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(text) => write!(f, "user {:?}", start(text)),
            Self::Answer(text) => write!(f, "answer {:?}", start(text)),
            Self::Call { id, tool, arguments } => {
                write!(f, "call {id} of {tool} with {}", start(arguments))
            }
            Self::Result { id, text, is_error } => {
                let failed = if *is_error { "failed " } else { "" };
                write!(f, "{failed}result of {id} {:?}", start(text))
            }
        }
    }
}

/// Returns the messages of the current branch, oldest first.
pub(super) fn branch(entries: &[Entry]) -> Result<Vec<&Message>, EntryError> {
    let index = EntryIndex::over(entries)?;
    let mut messages = Vec::new();
    for view in index.walk(entries)? {
        messages.extend(view?.entry().and_then(Entry::message));
    }
    messages.reverse();
    Ok(messages)
}

/// Returns the text of a result without its pictures. A content with other blocks is written as its JSON.
fn result_text(result: &ToolResult) -> String {
    let is_known = |piece: &ResultPiece<'_>| match piece {
        ResultPiece::Text(_) => true,
        ResultPiece::Image(image) => image.is_complete(),
        ResultPiece::Other(_) => false,
    };
    let pieces: Vec<ResultPiece<'_>> = result.pieces().collect();
    match result.content.kind() {
        Kind::Null => String::new(),
        _ if pieces.is_empty() || !pieces.iter().all(is_known) => {
            result.content.as_str().to_owned()
        }
        _ => result.text().into_owned(),
    }
}

/// Returns the first 160 characters of a text.
fn start(text: &str) -> &str {
    let end = text.char_indices().nth(160).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
