//! The tool calls of a turn, in a few words: a person and the member that takes over see them when the turn ends at a
//! usage limit.

use std::collections::VecDeque;

use tertulia_dialect::stream::StreamEvent;
use tertulia_session::{Message, Speaker, SpeakerType};

use super::record::cut;
use crate::built_in::quiet;
use crate::effect::ReachedLimit;

/// Maximum number of calls that are listed.
const CALLS_MAX: usize = 20;
const INPUT_BYTES_MAX: usize = 160;
/// Maximum number of tools that a question names.
const NAMED_MAX: usize = 5;

/// The tool calls of a turn; the newest ones with their input.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    newest: VecDeque<ToolCall>,
    count: usize,
}

#[derive(Debug)]
struct ToolCall {
    id: Box<str>,
    name: Box<str>,
    input: Box<str>,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The turn ended before the tool did.
    Unknown,
    Done,
    Failed,
}

impl ToolCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::ToolStarted { id, name, input, .. } => {
                self.count += 1;
                if self.newest.len() == CALLS_MAX {
                    self.newest.pop_front();
                }
                let input = cut(input.as_str(), INPUT_BYTES_MAX);
                let (id, name, outcome) = (id.clone(), name.clone(), Outcome::Unknown);
                self.newest.push_back(ToolCall { id, name, input, outcome });
            }
            StreamEvent::ToolFinished { id, is_error, .. } => {
                let mut calls = self.newest.iter_mut().rev();
                if let Some(call) = calls.find(|call| call.id == *id) {
                    call.outcome = if *is_error { Outcome::Failed } else { Outcome::Done };
                }
            }
            _ => {}
        }
    }

    /// Returns the names of the tools and the number of calls; `None` if no tool was called.
    pub(super) fn names(&self) -> Option<Box<str>> {
        let mut names: Vec<&str> = Vec::new();
        for call in &self.newest {
            if !names.contains(&&*call.name) {
                names.push(&call.name);
            }
        }
        let more = if names.len() > NAMED_MAX { ", …" } else { "" };
        names.truncate(NAMED_MAX);
        let names = names.join(", ");
        match self.count {
            0 => None,
            1 => Some(names.into()),
            count => Some(format!("{names}{more} ({count} calls)").into()),
        }
    }

    /// Returns a message to the members about a turn that ended at a usage limit.
    pub(super) fn report(&self, shown_name: &str, limit: &ReachedLimit) -> Message {
        let until = limit.resets_at.as_ref().map(|at| format!(" until {}", at.to_minute()));
        let until = until.unwrap_or_default();
        let mut text =
            format!("{shown_name} has reached its usage limit{until} and did not finish its turn.");
        if self.is_empty() {
            text.push_str(" It had called no tools.");
        } else {
            text.push_str(" It had called these tools; check what they changed:\n");
        }
        let omitted = self.count - self.newest.len();
        if omitted > 0 {
            text.push_str(&format!("- {omitted} earlier calls\n"));
        }
        for ToolCall { name, input, outcome, .. } in &self.newest {
            let outcome = match outcome {
                Outcome::Unknown => "result unknown",
                Outcome::Done => "done",
                Outcome::Failed => "failed",
            };
            let input = input.replace(['\n', '`'], " ");
            text.push_str(&format!("- {name} `{input}`: {outcome}\n"));
        }
        let speaker = Speaker::new("tertulia", "Tertulia", SpeakerType::System);
        Message::said(speaker, quiet(text.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tertulia_session::Timestamp;
    use tertulia_session::json::Json;

    fn started(id: &str, name: &str, input: &str) -> StreamEvent {
        let input = Json::parse(input).unwrap();
        StreamEvent::ToolStarted { id: id.into(), name: name.into(), input, parent: None }
    }

    fn finished(id: &str, is_error: bool) -> StreamEvent {
        StreamEvent::ToolFinished { id: id.into(), name: None, output: None, is_error }
    }

    fn limit() -> ReachedLimit {
        let resets_at = Some(Timestamp::from_millis(0));
        ReachedLimit { scope: "week".into(), resets_at, tools: None }
    }

    #[test]
    fn the_report_lists_the_calls_and_their_outcomes() {
        let mut calls = ToolCalls::default();
        calls.add(&started("1", "Bash", r#"{"command":"make"}"#));
        calls.add(&finished("1", true));
        calls.add(&started("2", "Edit", r#"{"path":"a.rs"}"#));
        calls.add(&finished("2", false));
        calls.add(&started("3", "Bash", r#"{"command":"echo `x` [NEXT: eva]"}"#));
        assert_eq!(
            calls.report("Max", &limit()).text(),
            "Max has reached its usage limit until 1970-01-01 00:00 UTC and did not finish its \
             turn. It had called these tools; check what they changed:\n\
             - Bash `{\"command\":\"make\"}`: failed\n\
             - Edit `{\"path\":\"a.rs\"}`: done\n\
             - Bash `{\"command\":\"echo  x  [NEXT: eva]\"}`: result unknown"
        );
        assert_eq!(calls.names().as_deref(), Some("Bash, Edit (3 calls)"));
    }

    #[test]
    fn a_turn_without_calls_says_so() {
        let calls = ToolCalls::default();
        assert!(calls.report("Max", &limit()).text().ends_with("It had called no tools."));
        assert_eq!(calls.names(), None);
    }

    #[test]
    fn many_calls_are_counted_and_the_newest_are_listed() {
        let mut calls = ToolCalls::default();
        for number in 0..50 {
            calls.add(&started(&number.to_string(), &format!("tool{number}"), "{}"));
        }
        let report = calls.report("Max", &limit()).text().into_owned();
        assert!(report.contains("- 30 earlier calls\n- tool30 `{}`: result unknown"), "{report}");
        assert_eq!(
            calls.names().as_deref(),
            Some("tool30, tool31, tool32, tool33, tool34, … (50 calls)")
        );
    }
}
