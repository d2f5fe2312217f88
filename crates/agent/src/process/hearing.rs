//! What is heard of an agent: bytes go to the parser, events to the listener in their order, and what the
//! turn has to know of them is kept. Called by [`super::turn`].

use tertulia_dialect::stream::{
    AgentStream, Exit, Limits, StreamEvent, StreamParser, TextOrigin, TurnOutput,
};

use crate::Listener;
use crate::flood::Flood;

/// How many lines that cannot be read or believed are told. All are counted.
const NOISE_MAX: usize = 1000;

/// The ear of one turn.
pub(super) struct Hearing<'a> {
    parser: StreamParser,
    listener: &'a mut dyn Listener,
    flood: Flood,
    /// The text is corrected at the end, and told then.
    holds_final_text: bool,
    held: Option<TextOrigin>,
    events: Vec<StreamEvent>,
    noise: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Success,
    Failure,
}

impl<'a> Hearing<'a> {
    pub(super) fn new(
        parser: StreamParser,
        holds_final_text: bool,
        limits: Limits,
        listener: &'a mut dyn Listener,
    ) -> Self {
        Self {
            parser,
            listener,
            flood: Flood::new(limits),
            holds_final_text,
            held: None,
            events: Vec::new(),
            noise: 0,
            end: None,
        }
    }

    /// The next bytes of output.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.parser.push(bytes, &mut self.events);
        self.flood.note(bytes.len(), &self.events);
        self.tell();
    }

    /// Whether the final event came.
    pub(super) fn has_finished(&self) -> bool {
        self.end.is_some()
    }

    /// Whether it said that the turn succeeded.
    pub(super) fn has_succeeded(&self) -> bool {
        self.end == Some(End::Success)
    }

    /// Whether there is more than is kept.
    pub(super) fn is_over_limit(&self) -> bool {
        self.flood.is_over()
    }

    /// Ends the reading. A final text that was held back is told last, as it was corrected.
    pub(super) fn finish(
        mut self,
        exit: Exit,
        stderr: &str,
        correct: impl FnOnce(&mut TurnOutput),
    ) -> TurnOutput {
        let mut events = std::mem::take(&mut self.events);
        let parser = std::mem::replace(&mut self.parser, StreamParser::new(AgentStream::Text));
        let mut output = parser.finish(exit, stderr, &mut events);
        self.events = events;
        self.tell();
        if self.held.is_some() {
            correct(&mut output);
            if let Some(text) = &output.final_text {
                let (text, origin) = (text.text.clone(), text.origin);
                self.listener.event(StreamEvent::FinalText { text, origin });
            }
        }
        output
    }

    fn tell(&mut self) {
        for event in std::mem::take(&mut self.events) {
            self.note(&event);
            match event {
                StreamEvent::FinalText { origin, .. } if self.holds_final_text => {
                    self.held = Some(origin);
                }
                StreamEvent::Unparsed { .. }
                | StreamEvent::Oversize { .. }
                | StreamEvent::Violation { .. }
                    if self.noise > NOISE_MAX => {}
                event => self.listener.event(event),
            }
        }
    }

    fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::FinalText { .. } => self.end = Some(End::Success),
            StreamEvent::Failed(_) => self.end = Some(End::Failure),
            StreamEvent::Unparsed { .. }
            | StreamEvent::Oversize { .. }
            | StreamEvent::Violation { .. } => self.noise += 1,
            _ => {}
        }
    }
}
