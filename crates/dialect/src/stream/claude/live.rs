//! A process of Claude Code that stays alive between turns: the lines that we write, and the lines between turns.
//! Every message has a UUID of ours. The output names it when the turn begins, so output that arrives before that
//! belongs to no turn.

use super::Claude;
use crate::stream::client::{AgentAsk, AgentPrompt, text};
use crate::stream::fields::{Refusal, read_fields};
use crate::stream::turn::Turn;

#[derive(Debug, Default)]
pub(in crate::stream) struct Live {
    /// The UUID of the message.
    prompt: Box<str>,
    /// Whether the turn of this message has begun.
    is_prompted: bool,
    /// Whether the process names the messages whose turns begin. Releases of before 2026 do not; their turns begin
    /// with `init`.
    has_lifecycle: bool,
    cost_before: f64,
    cost_total: Option<f64>,
}

/// What to do with a line of a live process.
pub(super) enum Place {
    InTurn,
    Between,
}

impl Claude {
    /// Creates a reader of a process that gets one turn after the other. The cost is that of the session so far.
    pub(in crate::stream) fn live(cost_before: f64) -> Self {
        let live = Live { cost_before, ..Live::default() };
        Self { live: Some(live), ..Self::default() }
    }

    /// Begins a turn, and returns the line to send.
    pub(in crate::stream) fn begin(&mut self, prompt: &AgentPrompt<'_>) -> String {
        self.is_thinking_reported = false;
        self.requests = super::usage::Requests::default();
        self.is_compacted = false;
        if let Some(live) = &mut self.live {
            live.prompt = prompt.id.into();
            live.is_prompted = false;
            live.cost_before = live.cost_total.take().unwrap_or(live.cost_before);
        }
        let id = text(prompt.id);
        let words = text(&[prompt.context, prompt.message].concat());
        format!(
            r#"{{"type":"user","uuid":{id},"message":{{"role":"user","content":[{{"type":"text","text":{words}}}]}}}}"#
        ) + "\n"
    }

    /// Returns the line that asks the process to end the turn.
    pub(in crate::stream) fn interrupt() -> String {
        concat!(
            r#"{"type":"control_request","request_id":"tertulia-stop","request":{"subtype":"interrupt"}}"#,
            "\n"
        )
        .to_owned()
    }

    pub(in crate::stream) fn is_prompted(&self) -> bool {
        self.live.as_ref().is_none_or(|live| live.is_prompted)
    }

    pub(in crate::stream) fn prompt_id(&self) -> Option<&str> {
        self.live.as_ref().map(|live| &*live.prompt)
    }

    /// Returns the cost of the session so far.
    pub(in crate::stream) fn cost_total(&self) -> Option<f64> {
        let live = self.live.as_ref()?;
        Some(live.cost_total.unwrap_or(live.cost_before))
    }

    /// Returns the session in which a turn begins, if it is not the one that was requested.
    pub(super) fn other_session<'l>(&self, named: Option<&'l str>, turn: &Turn) -> Option<&'l str> {
        let requested = turn.output.native_session_id.as_deref()?;
        let begins = self.live.is_some() && turn.end.is_none() && turn.need_start().is_err();
        named.filter(|named| begins && *named != requested)
    }

    /// Records the total cost of the session, and returns that of the turn.
    pub(super) fn turn_cost(&mut self, total: f64) -> Option<f64> {
        let live = self.live.as_mut()?;
        live.cost_total = Some(total);
        Some(crate::stream::acp::turn_cost(total, live.cost_before))
    }

    /// Finds out whether a line belongs to the turn. A request of the process is answered, because it waits.
    pub(super) fn place(
        &mut self,
        line: &str,
        kind: &str,
        subtype: Option<&str>,
    ) -> Result<Place, Refusal> {
        let Some(live) = &mut self.live else { return Ok(Place::InTurn) };
        match kind {
            "control_request" => {
                let [id] = read_fields(line, &["request_id"])?;
                let id = text(&id.text_or_empty());
                let answer = format!(
                    r#"{{"type":"control_response","response":{{"subtype":"error","request_id":{id},"error":"this client does not offer it"}}}}"#
                );
                self.asks.push(AgentAsk::Send(answer + "\n"));
                return Ok(Place::Between);
            }
            "command_lifecycle" => {
                let [prompt, state] = read_fields(line, &["command_uuid", "state"])?;
                live.has_lifecycle = true;
                live.is_prompted |= state.is("started") && prompt.is(&live.prompt);
            }
            "system" if subtype == Some("init") => live.is_prompted |= !live.has_lifecycle,
            // A process that cannot start reports that before any turn begins.
            "result" if !live.has_lifecycle => return Ok(Place::InTurn),
            _ => {}
        }
        Ok(if live.is_prompted { Place::InTurn } else { Place::Between })
    }
}
