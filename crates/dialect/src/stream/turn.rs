//! What is known of a turn so far: the run it belongs to, its text, its tools, how it ended. The readers
//! tell it what a line says; it decides what may be believed, keeps what the verdict needs, and tells the
//! caller. It knows no agent's JSON.

use std::collections::BTreeMap;

use tertulia_session::json::Json;

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, StreamEvent, TextOrigin, Usage, ViolationKind};
use super::outcome::TurnOutput;
use super::pick::{Refusal, Value};
use super::{Fate, Limits, Reading};

/// How many tools are remembered, open or denied. A stream that opens more is no honest one; its later
/// calls are still told, without their names at the end.
const TOOLS_MAX: usize = 4096;
/// Ids longer than this are not remembered.
const ID_BYTES_MAX: usize = 1024;

/// What an agent says about a tool that was not allowed is kept up to this length.
const REASON_BYTES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Turn {
    limits: Limits,
    is_started: bool,
    /// What the verdict gives of the turn, whatever it is.
    pub(super) output: TurnOutput,
    /// The last text of the answer; what is behind `open_from` may yet be withdrawn.
    text: String,
    open_from: usize,
    /// Pieces were told that are neither whole nor withdrawn.
    is_text_open: bool,
    /// A tool was called since: the text is not the end of the answer, and the next piece replaces it.
    is_text_stale: bool,
    /// There was more text than is kept.
    is_overlong: bool,
    /// The last text before this one that had words, and whether there was more of it than is kept.
    earlier: (String, bool),
    tool_names: BTreeMap<Box<str>, Box<str>>,
    /// The last warning since anything went well: why a turn that was given up was given up.
    pub(super) trouble: Option<TurnError>,
    pub(super) end: Option<End>,
    /// The events so far, in the caller's list; see [`Self::telling`].
    pub(super) events: Vec<StreamEvent>,
}

/// What an agent tells step by step: what was used so far, and how the newest step ended.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) usage: Usage,
    pub(super) cost_usd: f64,
    /// `None` while it runs, or if it ended with a tool call.
    pub(super) last: Option<Result<(), TurnError>>,
}

impl Steps {
    /// Tells the cost, and ends the turn as the newest step ended. Returns whether it had ended.
    pub(super) fn end(&mut self, turn: &mut Turn) -> bool {
        if self.cost_usd > 0.0 {
            turn.cost(Cost { usd: self.cost_usd, scope: Scope::Turn });
        }
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
    /// Cut: there was more text than is kept.
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

    /// Does something whose events go to the caller's list.
    pub(super) fn telling(&mut self, out: &mut Vec<StreamEvent>, tell: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.events, out);
        tell(self);
        std::mem::swap(&mut self.events, out);
    }

    /// Asks whether a line of this session may be believed now. The first id that is named binds.
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

    /// Asks whether the run has started; text, tools and success come later.
    pub(super) fn need_start(&self) -> Result<(), ViolationKind> {
        if self.is_started { Ok(()) } else { Err(ViolationKind::BeforeStart) }
    }

    pub(super) fn start(
        &mut self,
        session_id: Option<Box<str>>,
        model: Option<Box<str>>,
    ) -> Reading {
        // Asked before the id, which may be another one: that it is a second start says more.
        if self.is_started && self.end.is_none() {
            return Err(ViolationKind::SecondStart.into());
        }
        self.admit(session_id.as_deref())?;
        self.is_started = true;
        self.output.model.clone_from(&model);
        self.events.push(StreamEvent::Started { session_id, model });
        Ok(Fate::Known)
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
        self.trouble = None;
        // Once something was left out nothing more is kept: a text with a hole is worse than a short one.
        if !self.is_overlong {
            let room = self.limits.text_bytes_max.saturating_sub(self.text.len());
            self.is_overlong = text.len() > room;
            self.text.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        }
        self.is_text_open = true;
        self.events.push(StreamEvent::TextDelta { text });
    }

    /// The pieces are one whole text.
    pub(super) fn end_text(&mut self) {
        if std::mem::take(&mut self.is_text_open) {
            self.open_from = self.text.len();
            self.events.push(StreamEvent::TextEnd);
        }
    }

    /// The text is whole and stands for itself: the next piece begins another one.
    pub(super) fn seal_text(&mut self) {
        self.end_text();
        self.is_text_stale = true;
    }

    /// A text stated as a whole, of which pieces may have come before.
    pub(super) fn whole_text(&mut self, text: String) {
        if !self.is_text_open || self.text.get(self.open_from..) != Some(text.as_str()) {
            self.withdraw();
            self.delta(text);
        }
        self.end_text();
    }

    /// The open pieces are void.
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

    /// A tool is called; by a sub-agent if there is a parent.
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
        self.trouble = None;
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

    /// The name of a call that waits for its end; empty if it is not known.
    pub(super) fn tool_name(&self, id: &str) -> Box<str> {
        self.tool_names.get(id).cloned().unwrap_or_default()
    }

    /// A tool was not allowed; told once for a call.
    pub(super) fn tool_denied(&mut self, id: &str, name: &str, reason: Option<&str>) {
        let denied = DeniedTool {
            id: cut(id, ID_BYTES_MAX),
            name: cut(name, ID_BYTES_MAX),
            reason: reason.map(|reason| cut(reason, REASON_BYTES_MAX)),
        };
        let told = &mut self.output.denied_tools;
        if told.len() < TOOLS_MAX && !told.iter().any(|known| known.id == denied.id) {
            told.push(denied.clone());
            self.events.push(StreamEvent::ToolDenied(denied));
        }
    }

    pub(super) fn usage(&mut self, usage: Usage) {
        self.output.usage = Some(usage);
        self.events.push(StreamEvent::Usage(usage));
    }

    pub(super) fn cost(&mut self, cost: Cost) {
        self.output.cost = Some(cost);
        self.events.push(StreamEvent::Cost(cost));
    }

    /// A warning in words that say themselves what they are about.
    pub(super) fn warn(&mut self, message: String) {
        self.warn_as(ErrorClass::of_message(&message), message);
    }

    pub(super) fn warn_as(&mut self, class: Option<ErrorClass>, message: String) {
        let message: Box<str> = message.into();
        let trouble = TurnError::new(class.unwrap_or(ErrorClass::Crash), message.clone());
        self.trouble = Some(trouble);
        self.events.push(StreamEvent::Warning { class, message });
    }

    /// The agent says that it succeeded, and with which text.
    pub(super) fn succeed(&mut self, text: String) {
        self.end_well(text, false, false);
    }

    /// The agent says that it succeeded; its last text is the answer, whatever came after it.
    pub(super) fn succeed_with_last_text(&mut self) {
        self.end_well(self.text.clone(), self.is_overlong, false);
    }

    /// The agent says that it succeeded; what came after the last tool is the answer.
    pub(super) fn succeed_with_pieces(&mut self, may_repeat: bool) {
        let text = if self.is_text_stale { String::new() } else { self.text.clone() };
        self.end_well(text, self.is_overlong, may_repeat);
    }

    /// The agent says that it succeeded; its last text that has words is the answer, also where tools came after it.
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
        self.end = Some(End::Failure(error.clone()));
        self.events.push(StreamEvent::Failed(error));
    }

    /// The turn failed, and the agent did not say so.
    pub(super) fn give_up(&mut self, error: TurnError) {
        self.end = Some(End::Failure(error));
    }

    /// Fails with this message; where the end itself does not say why, with the last warning.
    pub(super) fn fail_with(&mut self, message: Option<String>, otherwise: &str) {
        let error = message.map(|message| TurnError::classed(None, message));
        let error = error.or_else(|| self.trouble.take());
        self.fail(error.unwrap_or_else(|| TurnError::new(ErrorClass::Crash, otherwise)));
    }

    /// The pieces that are neither whole nor withdrawn.
    pub(super) fn open_text(&self) -> &str {
        if self.is_text_open { self.text.get(self.open_from..).unwrap_or_default() } else { "" }
    }

    /// The text as far as it came.
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

/// Whether a text's first words stand in it again, as they do when an attempt is repeated. A hint: a
/// poem's refrain does the same.
fn begins_again(text: &str) -> bool {
    const WORDS_BYTES: usize = 24;
    let Some((first, rest)) = text.split_at_checked(text.ceil_char_boundary(WORDS_BYTES)) else {
        return false;
    };
    first.len() >= WORDS_BYTES && memchr::memmem::find(rest.as_bytes(), first.as_bytes()).is_some()
}
