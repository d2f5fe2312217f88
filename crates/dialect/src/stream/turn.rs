//! The state of a turn so far: its session, its text, its tools, and how it ended. The readers pass the content of
//! lines. This module decides what is valid, keeps what the verdict needs, and creates the events. It contains no
//! agent's JSON.

use std::collections::BTreeMap;

use tertulia_session::json::Json;

use super::error_class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, StreamEvent, TextOrigin, Usage, ViolationKind};
use super::fields::{Refusal, Value};
use super::outcome::TurnOutput;
use super::usage_limit::UsageLimit;
use super::{Limits, LineKind, Reading};

/// Maximum number of remembered tools, open or denied. No genuine stream has more. Later calls are still reported,
/// but without their names at their end.
const TOOLS_MAX: usize = 4096;
/// Maximum length of a remembered id.
const ID_BYTES_MAX: usize = 1024;

/// Maximum length of the reason for a denied tool.
const REASON_BYTES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Turn {
    limits: Limits,
    is_started: bool,
    /// The part of the result that does not depend on the verdict.
    pub(super) output: TurnOutput,
    /// Last text of the answer; the part after `open_from` may still be withdrawn.
    text: String,
    open_from: usize,
    /// Whether pieces were reported that are neither complete nor withdrawn.
    is_text_open: bool,
    /// Whether a tool was called after the text. Then the text is not the end of the answer, and the next piece
    /// replaces it.
    is_text_stale: bool,
    /// Whether there was more text than is kept.
    is_overlong: bool,
    /// The previous text that was not blank, and whether it was cut.
    earlier: (String, bool),
    tool_names: BTreeMap<Box<str>, Box<str>>,
    /// The last warning since the last success. If the agent gives up, this is the reason.
    pub(super) last_warning: Option<TurnError>,
    pub(super) end: Option<End>,
    /// The last usage limit in structured data. Limits in messages of errors are not included.
    pub(super) limit: Option<UsageLimit>,
    /// HTTP status of the last failed request, if the agent reports it.
    pub(super) status: Option<u64>,
    /// The events so far, in the caller's list; see [`Self::collecting_events`].
    pub(super) events: Vec<StreamEvent>,
}

/// The state of agents that report steps: the cost so far, and how the latest step ended.
#[derive(Debug, Default)]
pub(super) struct Steps {
    cost_usd: f64,
    /// `None` while the step runs, or if it ended with a tool call.
    pub(super) last: Option<Result<(), TurnError>>,
}

impl Steps {
    /// Adds the usage and cost of a step, and reports the sums.
    pub(super) fn count(
        &mut self,
        counts: [Option<u64>; 5],
        cost_usd: Option<f64>,
        turn: &mut Turn,
    ) {
        turn.add_usage(counts);
        self.cost_usd += cost_usd.unwrap_or(0.0);
        if self.cost_usd > 0.0 {
            turn.cost(Cost { usd: self.cost_usd, scope: Scope::Turn });
        }
    }

    /// Ends the turn with the result of the latest step. Returns whether that step had ended.
    pub(super) fn end(&mut self, turn: &mut Turn) -> bool {
        match self.last.take() {
            Some(Ok(())) => turn.succeed_with_pieces(false),
            Some(Err(error)) => turn.fail(error),
            None => return false,
        }
        true
    }
}

#[derive(Debug)]
pub(super) enum End {
    /// `is_cut`: there was more text than is kept.
    Success {
        text: String,
        origin: TextOrigin,
        is_cut: bool,
    },
    Failure(TurnError),
}

impl Turn {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Returns the turn, and leaves a new one in its place.
    pub(super) fn take(&mut self) -> Self {
        let next = Self::new(self.limits);
        std::mem::replace(self, next)
    }

    /// Runs a function whose events go to the caller's list.
    pub(super) fn collecting_events(
        &mut self,
        out: &mut Vec<StreamEvent>,
        tell: impl FnOnce(&mut Self),
    ) {
        std::mem::swap(&mut self.events, out);
        tell(self);
        std::mem::swap(&mut self.events, out);
    }

    /// Checks whether a line of this session is valid now. The first session id is the valid one.
    pub(super) fn admit(&mut self, session_id: Option<&str>) -> Result<(), ViolationKind> {
        if self.end.is_some() {
            return Err(ViolationKind::AfterEnd);
        }
        match (&self.output.native_session_id, session_id) {
            (Some(bound), Some(named)) if **bound != *named => Err(ViolationKind::ForeignSession),
            (None, Some(named)) => {
                self.output.native_session_id = Some(named.into());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks whether the run has started. Text, tools and success are not valid before.
    pub(super) fn need_start(&self) -> Result<(), ViolationKind> {
        if self.is_started { Ok(()) } else { Err(ViolationKind::BeforeStart) }
    }

    pub(super) fn start(
        &mut self,
        session_id: Option<Box<str>>,
        model: Option<Box<str>>,
    ) -> Reading {
        // Checked before the id, which may differ, because a second start is the more precise error.
        if self.is_started && self.end.is_none() {
            return Err(ViolationKind::SecondStart.into());
        }
        self.admit(session_id.as_deref())?;
        self.is_started = true;
        self.output.model.clone_from(&model);
        self.events.push(StreamEvent::Started { session_id, model });
        Ok(LineKind::Known)
    }

    pub(super) fn delta(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if self.is_text_stale {
            let stale = (std::mem::take(&mut self.text), self.is_overlong);
            if has_words(&stale.0) {
                self.earlier = stale;
            }
            self.open_from = 0;
            self.is_text_stale = false;
            self.is_overlong = false;
        }
        self.last_warning = None;
        // After a cut no more text is kept, because a text with a gap is worse than a short one.
        if !self.is_overlong {
            let room = self.limits.text_bytes_max.saturating_sub(self.text.len());
            self.is_overlong = text.len() > room;
            self.text.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        }
        self.is_text_open = true;
        self.events.push(StreamEvent::TextDelta { text });
    }

    /// Marks the pieces so far as a complete text.
    pub(super) fn end_text(&mut self) {
        if std::mem::take(&mut self.is_text_open) {
            self.open_from = self.text.len();
            self.events.push(StreamEvent::TextEnd);
        }
    }

    /// Completes the text. The next piece begins another one.
    pub(super) fn seal_text(&mut self) {
        self.end_text();
        self.is_text_stale = true;
    }

    /// Reports a whole text. Its pieces may have arrived before.
    pub(super) fn whole_text(&mut self, text: String) {
        if !self.is_text_open || self.text.get(self.open_from..) != Some(text.as_str()) {
            self.withdraw();
            self.delta(text);
        }
        self.end_text();
    }

    /// Withdraws the open pieces.
    pub(super) fn withdraw(&mut self) {
        if std::mem::take(&mut self.is_text_open) {
            self.text.truncate(self.open_from);
            self.events.push(StreamEvent::TextWithdrawn);
        }
    }

    pub(super) fn thinking(&mut self, text: String) {
        if !text.is_empty() {
            self.events.push(StreamEvent::Thinking { text });
        }
    }

    pub(super) fn tool_called(
        &mut self,
        [id, name, input, parent]: [Value<'_>; 4],
    ) -> Result<(), Refusal> {
        self.tool_started(id.need_word()?, name.need_word()?, input.json(), parent.word());
        Ok(())
    }

    /// Reports the start of a tool. With a parent, a sub-agent called it.
    pub(super) fn tool_started(
        &mut self,
        id: Box<str>,
        name: Box<str>,
        input: Json,
        parent: Option<Box<str>>,
    ) {
        if parent.is_none() {
            self.seal_text();
        }
        self.last_warning = None;
        if self.tool_names.len() < TOOLS_MAX && id.len() + name.len() <= ID_BYTES_MAX {
            self.tool_names.insert(id.clone(), name.clone());
        }
        self.events.push(StreamEvent::ToolStarted { id, name, input, parent });
    }

    pub(super) fn is_tool_open(&self, id: &str) -> bool {
        self.tool_names.contains_key(id)
    }

    pub(super) fn tool_finished(&mut self, id: Box<str>, output: Option<String>, is_error: bool) {
        let name = self.tool_names.remove(&id);
        self.events.push(StreamEvent::ToolFinished { id, name, output, is_error });
    }

    /// Returns the name of an open call; empty if it is unknown.
    pub(super) fn tool_name(&self, id: &str) -> Box<str> {
        self.tool_names.get(id).cloned().unwrap_or_default()
    }

    /// Reports a tool that was not allowed, once per call.
    pub(super) fn tool_denied(&mut self, id: &str, name: &str, reason: Option<&str>) {
        let denied = DeniedTool {
            id: cut(id, ID_BYTES_MAX),
            name: cut(name, ID_BYTES_MAX),
            reason: reason.map(|reason| cut(reason, REASON_BYTES_MAX)),
        };
        let denied_tools = &mut self.output.denied_tools;
        if denied_tools.len() < TOOLS_MAX && !denied_tools.iter().any(|known| known.id == denied.id)
        {
            denied_tools.push(denied.clone());
            self.events.push(StreamEvent::ToolDenied(denied));
        }
    }

    /// Reports the usage so far, unless it was reported before.
    pub(super) fn usage(&mut self, usage: Usage) {
        if self.output.usage.replace(usage) != Some(usage) {
            self.events.push(StreamEvent::Usage(usage));
        }
    }

    /// Adds the usage of another request of the turn. The counts are in the order of the fields. A failed request may
    /// have none.
    pub(super) fn add_usage(&mut self, counts: [Option<u64>; 5]) {
        if counts.iter().flatten().all(|count| *count == 0) {
            return;
        }
        let mut usage = self.output.usage.unwrap_or_default();
        usage.add(counts);
        self.usage(usage);
    }

    /// Reports the cost so far, unless it was reported before.
    pub(super) fn cost(&mut self, cost: Cost) {
        if self.output.cost.replace(cost) != Some(cost) {
            self.events.push(StreamEvent::Cost(cost));
        }
    }

    /// Adds a warning with the class that its text indicates.
    pub(super) fn warn(&mut self, message: String) {
        self.warn_as(ErrorClass::from_message(&message), message);
    }

    pub(super) fn warn_as(&mut self, class: Option<ErrorClass>, message: String) {
        let message: Box<str> = message.into();
        let last_warning = TurnError::new(class.unwrap_or(ErrorClass::Crash), message.clone());
        self.last_warning = Some(last_warning);
        self.events.push(StreamEvent::Warning { class, message });
    }

    /// Records that the agent reported success with this text.
    pub(super) fn succeed(&mut self, text: String) {
        self.end_well(text, false, false);
    }

    /// Records success. The last text is the answer, even if tools followed it.
    pub(super) fn succeed_with_last_text(&mut self) {
        self.end_well(self.text.clone(), self.is_overlong, false);
    }

    /// Records success. The text after the last tool is the answer.
    pub(super) fn succeed_with_pieces(&mut self, may_repeat: bool) {
        let text = if self.is_text_stale { String::new() } else { self.text.clone() };
        self.end_well(text, self.is_overlong, may_repeat);
    }

    /// Records success. The last text that is not blank is the answer, even if tools followed it.
    pub(super) fn succeed_with_last_words(&mut self, may_repeat: bool) {
        let (text, is_cut) = match has_words(&self.text) {
            true => (self.text.clone(), self.is_overlong),
            false => std::mem::take(&mut self.earlier),
        };
        self.end_well(text, is_cut, may_repeat);
    }

    fn end_well(&mut self, text: String, is_cut: bool, may_repeat: bool) {
        self.end_text();
        let origin = match may_repeat {
            true if begins_again(&text) => TextOrigin::Repeated,
            true => TextOrigin::Pieced,
            false => TextOrigin::Stated,
        };
        if !text.is_empty() {
            self.events.push(StreamEvent::FinalText { text: text.clone(), origin });
        }
        self.end = Some(End::Success { text, origin, is_cut });
    }

    pub(super) fn fail(&mut self, error: TurnError) {
        let error = self.with_limit(error);
        self.end = Some(End::Failure(error.clone()));
        self.events.push(StreamEvent::Failed(error));
    }

    /// Records a failure that the agent did not report.
    pub(super) fn give_up(&mut self, error: TurnError) {
        self.end = Some(End::Failure(error));
    }

    /// Fails with this message, or with the last warning if there is no message.
    pub(super) fn fail_with(&mut self, message: Option<String>, otherwise: &str) {
        let error = message.map(|message| TurnError::classed(None, message));
        let error = error.or_else(|| self.last_warning.take());
        self.fail(error.unwrap_or_else(|| TurnError::new(ErrorClass::Crash, otherwise)));
    }

    /// Adds the usage limit to an error that has none: from structured data, from the message, or from the HTTP status.
    pub(super) fn with_limit(&self, mut error: TurnError) -> TurnError {
        if error.limit.is_none() && error.class.may_be_limit() {
            let is_quota = error.class == ErrorClass::Quota;
            let status = self.status.filter(|_| is_quota);
            let said = UsageLimit::from_response(status, &error.message);
            let known = self.limit.as_ref().filter(|_| is_quota || said.is_some());
            error.limit = known.cloned().or(said);
        }
        error
    }

    /// Returns the pieces that are neither complete nor withdrawn.
    pub(super) fn open_text(&self) -> &str {
        if self.is_text_open { self.text.get(self.open_from..).unwrap_or_default() } else { "" }
    }

    /// Returns the text so far.
    pub(super) fn into_partial_text(self) -> Option<String> {
        Some(self.text).filter(|text| !text.is_empty())
    }
}

fn cut(text: &str, bytes_max: usize) -> Box<str> {
    if text.len() <= bytes_max {
        return text.into();
    }
    let (kept, rest) = text.split_at(text.floor_char_boundary(bytes_max));
    format!("{kept}… ({} bytes more)", rest.len()).into()
}

fn has_words(text: &str) -> bool {
    !text.trim_start().is_empty()
}

/// Returns whether the first words of a text occur again, as after a repeated attempt. This is only a hint, because a
/// genuine text may repeat words.
fn begins_again(text: &str) -> bool {
    const WORDS_BYTES: usize = 24;
    let Some((first, rest)) = text.split_at_checked(text.ceil_char_boundary(WORDS_BYTES)) else {
        return false;
    };
    first.len() >= WORDS_BYTES && memchr::memmem::find(rest.as_bytes(), first.as_bytes()).is_some()
}
