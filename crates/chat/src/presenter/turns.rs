//! The turns that run. Several may run at once: the one that started first is shown live. The lines of the others
//! are kept until they end, or until it is their turn to be shown, so that answers do not mix.

use std::time::{Duration, Instant};

use tertulia_session::{EntryId, EntryKind, Turn};
use tertulia_team::{PermissionNumber, PermissionRequest, SessionEvent};

use super::figures::Figures;
use super::{OutputMode, Presenter, questions};
use crate::markdown::Markdown;
use crate::style::{Line, Look};

pub(super) struct RunningTurn {
    pub(super) turn: EntryId,
    pub(super) member: Box<str>,
    since: Instant,
    markdown: Markdown,
    pub(super) streamed: String,
    /// Length of `streamed` when the last text ended.
    ended_at: usize,
    pub(super) figures: Figures,
    /// Whether the last lines shown belong to this turn, below its name.
    pub(super) is_named: bool,
    /// Its lines so far, if another turn is shown while it runs.
    held: Vec<Line>,
}

impl RunningTurn {
    pub(super) fn new(turn: EntryId, started: &Turn, now: Instant) -> Self {
        Self {
            turn,
            member: started.member.clone(),
            since: now,
            markdown: Markdown::default(),
            streamed: String::new(),
            ended_at: 0,
            figures: Figures::default(),
            is_named: false,
            held: Vec::new(),
        }
    }

    pub(super) fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}

/// A permission that an agent waits for.
pub(crate) struct OpenPermission {
    pub(crate) number: PermissionNumber,
    pub(crate) member: Box<str>,
    pub(crate) request: PermissionRequest,
    is_shown: bool,
}

impl Presenter {
    /// Handles an event of a turn. If another turn is shown live, keeps the lines until this one ends.
    pub(super) fn in_turn(
        &mut self,
        turn: Option<EntryId>,
        handle: impl FnOnce(&mut Self) -> Vec<Line>,
    ) -> Vec<Line> {
        let index = turn.and_then(|turn| self.others.iter().position(|one| one.turn == turn));
        let Some(index) = index else {
            let mut lines = handle(self);
            lines.extend(self.next_turn());
            return lines;
        };
        let mut other = self.others.remove(index);
        let held = std::mem::take(&mut other.held);
        let live = self.running_turn.replace(other);
        let lines: Vec<Line> = held.into_iter().chain(handle(self)).collect();
        let other = std::mem::replace(&mut self.running_turn, live);
        match other {
            Some(mut other) if self.mode != OutputMode::Pipe => {
                other.held = lines;
                self.others.insert(index.min(self.others.len()), other);
                Vec::new()
            }
            Some(other) => {
                self.others.insert(index.min(self.others.len()), other);
                lines
            }
            None => {
                if !lines.is_empty() {
                    self.somebody_else();
                }
                lines
            }
        }
    }

    /// Shows the next turn live if the one before it has ended; returns its lines so far.
    fn next_turn(&mut self) -> Vec<Line> {
        if self.running_turn.is_some() || self.others.is_empty() {
            return Vec::new();
        }
        let mut next = self.others.remove(0);
        let held = std::mem::take(&mut next.held);
        self.running_turn = Some(next);
        held
    }

    /// Returns the turn that an event belongs to, if it runs.
    pub(super) fn turn_of(&self, event: &SessionEvent) -> Option<EntryId> {
        match event {
            SessionEvent::Text { turn, .. }
            | SessionEvent::TextEnd { turn, .. }
            | SessionEvent::TextWithdrawn { turn, .. } => Some(turn.clone()),
            SessionEvent::Stored(entry) => match &entry.kind {
                EntryKind::Turn(_) => entry.turn_id().cloned(),
                EntryKind::TurnEvent(event) => Some(event.turn_id.clone()),
                EntryKind::Usage(usage) => self.turn_by(&usage.member),
                EntryKind::Message(message) => {
                    let speaker = message.speaker.as_deref().filter(|speaker| speaker.is_ai());
                    speaker.and_then(|speaker| self.turn_by(&speaker.role_id))
                }
                _ => None,
            },
            SessionEvent::Permission { member, .. } => self.turn_by(member),
            _ => None,
        }
    }

    fn turn_by(&self, member: &str) -> Option<EntryId> {
        let mut turns = self.running_turn.iter().chain(&self.others);
        turns.find(|one| *one.member == *member).map(|one| one.turn.clone())
    }

    /// Adds a turn that starts. No turn starts before the cancelled ones have ended, whether or not an event shows
    /// it.
    pub(super) fn begin(&mut self, id: EntryId, turn: &Turn, now: Instant) -> Vec<Line> {
        let cancelled = &self.cancelled;
        self.others.retain(|one| !cancelled.contains(&one.turn));
        let mut lines = if self.is_stopping() { self.end(now) } else { Vec::new() };
        self.others.push(RunningTurn::new(id, turn, now));
        lines.extend(self.next_turn());
        lines
    }

    pub(super) fn is_active(&self, turn: &EntryId) -> bool {
        self.running_turn.iter().chain(&self.others).any(|one| one.turn == *turn)
    }

    /// Returns the number of turns that run and are not shown live.
    pub fn others(&self) -> usize {
        self.others.len()
    }

    /// Remembers a permission request. One is shown after the other, so that it is clear which one is answered.
    pub(super) fn asks_permission(
        &mut self,
        number: PermissionNumber,
        member: Box<str>,
        request: PermissionRequest,
    ) -> Vec<Line> {
        self.permissions.push_back(OpenPermission { number, member, request, is_shown: false });
        self.flush()
    }

    /// Returns the permission request to answer.
    pub(crate) fn permission(&self) -> Option<&OpenPermission> {
        self.permissions.front()
    }

    /// Removes the permission request that was answered; returns the next one as lines.
    pub(crate) fn permission_answered(&mut self) -> Vec<Line> {
        self.permissions.pop_front();
        self.next_permission()
    }

    /// Shows the permission request to answer, unless it is shown already.
    pub(super) fn next_permission(&mut self) -> Vec<Line> {
        let Some(next) = self.permissions.front_mut().filter(|next| !next.is_shown) else {
            return Vec::new();
        };
        next.is_shown = true;
        let lines = questions::permission(self.names.name(&next.member), &next.request);
        self.aside(&lines)
    }

    /// Returns lines of the running turn, below the name of its speaker.
    pub(super) fn spoken(&mut self, lines: Vec<Line>) -> Vec<Line> {
        let heading = self.heading().filter(|_| !lines.is_empty());
        if let (Some(_), Some(running_turn)) = (&heading, &mut self.running_turn) {
            running_turn.is_named = true;
        }
        heading.into_iter().chain(lines).collect()
    }

    /// Returns the name of the speaker, unless it was shown already.
    fn heading(&self) -> Option<Line> {
        let running_turn =
            self.running_turn.as_ref().filter(|running_turn| !running_turn.is_named)?;
        Some(self.names.painted_name(&running_turn.member).with(":", Look::Dim))
    }

    /// Returns the display name of the running turn's member, and whether the turn is being stopped.
    pub fn running(&self) -> Option<(&str, bool)> {
        let running_turn = self.running_turn.as_ref()?;
        let is_stopping = self.cancelled.contains(&running_turn.turn);
        Some((self.names.name(&running_turn.member), is_stopping))
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.running().is_some_and(|(_, is_stopping)| is_stopping)
    }

    /// Returns the start time of the running turn.
    pub fn since(&self) -> Option<Instant> {
        self.running_turn.as_ref().map(|running_turn| running_turn.since)
    }

    /// Returns the unfinished last line of the answer.
    pub fn pending(&self, rows_max: usize) -> Vec<Line> {
        let Some(running_turn) = &self.running_turn else { return Vec::new() };
        let rows = running_turn.markdown.pending(self.columns, rows_max);
        let heading = self.heading().filter(|_| !rows.is_empty());
        heading.into_iter().chain(rows).collect()
    }

    pub(super) fn end(&mut self, now: Instant) -> Vec<Line> {
        let mut lines = self.flush();
        let Some(running_turn) = &self.running_turn else { return lines };
        let state = if self.is_stopping() { "cancelled · " } else { "" };
        let figures = format!("{state}{}", running_turn.figures.sentence(running_turn.time(now)));
        lines.extend(self.spoken(vec![Line::new(&figures, Look::Dim), Line::default()]));
        let ended = self.running_turn.take();
        self.permissions.retain(|one| ended.as_ref().is_none_or(|turn| turn.member != one.member));
        lines
    }

    pub(super) fn text(&mut self, text: &str) -> Vec<Line> {
        let columns = self.columns;
        let Some(running_turn) = &mut self.running_turn else { return Vec::new() };
        running_turn.streamed.push_str(text);
        let lines = running_turn.markdown.push(text, columns);
        self.spoken(lines)
    }

    pub(super) fn text_end(&mut self) -> Vec<Line> {
        let lines = self.flush();
        if let Some(running_turn) = &mut self.running_turn {
            running_turn.streamed.push('\n');
            running_turn.ended_at = running_turn.streamed.len();
        }
        lines
    }

    pub(super) fn withdrawn(&mut self) -> Vec<Line> {
        let mut lines = self.flush();
        if let Some(running_turn) = &mut self.running_turn
            && running_turn.streamed.len() > running_turn.ended_at
        {
            running_turn.streamed.truncate(running_turn.ended_at);
            let taken_back =
                Line::new("(the agent discarded this text and starts again)", Look::Dim);
            lines.extend(self.spoken(vec![taken_back]));
        }
        lines
    }

    /// Returns the rest of a text that has ended.
    pub(super) fn flush(&mut self) -> Vec<Line> {
        let columns = self.columns;
        let Some(running_turn) = &mut self.running_turn else { return Vec::new() };
        let lines = running_turn.markdown.finish(columns);
        self.spoken(lines)
    }
}
