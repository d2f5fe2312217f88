//! The messages that we send to `codex app-server`.

use super::AppServer;
use crate::stream::client::text;
use crate::stream::event::Usage;

/// The thread that Codex opens.
#[derive(Clone, Copy, Debug)]
pub struct CodexSession<'a> {
    /// Absolute path of its working folder.
    pub cwd: &'a str,
    pub model: Option<&'a str>,
    /// `read-only`, `workspace-write` or `danger-full-access`.
    pub sandbox: &'a str,
    /// The system text.
    pub instructions: Option<&'a str>,
    /// The thread to continue; a new one if it is `None`.
    pub resumed: Option<&'a str>,
}

pub(super) const HELLO: &str =
    r#"{"clientInfo":{"name":"tertulia","title":"Tertulia","version":"0"}}"#;

/// The id of the request to stop a turn. Our other requests are numbered from 1.
pub(super) const INTERRUPT: u64 = u32::MAX as u64;

impl AppServer {
    /// Creates a reader of a new process. The usage is that of the thread so far.
    pub(in crate::stream) fn new(session: &CodexSession<'_>, before: Option<Usage>) -> Self {
        Self {
            asks: Vec::new(),
            waiting: None,
            requests: 0,
            open: open(session),
            resumed: session.resumed.map(Into::into),
            context: String::new(),
            message: String::new(),
            is_sent: false,
            turn_id: None,
            path: None,
            model: None,
            before: before.unwrap_or_default(),
            total: None,
            error: None,
            is_thinking_reported: false,
            is_compacted: false,
            has_gap: false,
        }
    }

    /// Returns the line that asks Codex to stop the turn.
    pub(in crate::stream) fn cancel(&self, thread: &str) -> Option<String> {
        let turn = text(self.turn_id.as_deref()?);
        let params = format!(r#"{{"threadId":{},"turnId":{turn}}}"#, text(thread));
        Some(message(Some(INTERRUPT), "turn/interrupt", &params))
    }
}

/// Returns a request, or a notification if it has no id, with its line feed.
pub(super) fn message(id: Option<u64>, method: &str, params: &str) -> String {
    let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
    format!("{{{id}\"method\":\"{method}\",\"params\":{params}}}\n")
}

/// Returns the parameters that open a thread. Nobody is asked for approvals, as with `codex exec`: what the sandbox
/// does not allow is denied.
fn open(session: &CodexSession<'_>) -> String {
    let mut fields = vec![
        format!(r#""cwd":{}"#, text(session.cwd)),
        format!(r#""sandbox":{}"#, text(session.sandbox)),
        r#""approvalPolicy":"never""#.to_owned(),
    ];
    let mut put = |name: &str, value: Option<&str>| {
        fields.extend(value.map(|value| format!(r#""{name}":{}"#, text(value))));
    };
    put("model", session.model);
    put("developerInstructions", session.instructions);
    put("threadId", session.resumed);
    if session.resumed.is_some() {
        // The response would otherwise contain the whole history.
        fields.push(r#""excludeTurns":true"#.to_owned());
    }
    format!("{{{}}}", fields.join(","))
}

/// Returns the parameters that add what others said to a thread.
pub(super) fn inject(thread: &str, context: &str) -> String {
    let content = format!(r#"[{{"type":"input_text","text":{}}}]"#, text(context));
    let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    format!(r#"{{"threadId":{},"items":[{item}]}}"#, text(thread))
}

/// Returns the parameters that start a turn.
pub(super) fn turn(thread: &str, message: &str) -> String {
    let input = format!(r#"[{{"type":"text","text":{}}}]"#, text(message));
    format!(r#"{{"threadId":{},"input":{input}}}"#, text(thread))
}
