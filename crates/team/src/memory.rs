//! What the log says about the session that a member's agent keeps itself: what it contains, or why it cannot be
//! continued. The driver asks before each turn. Pure: whether the agent's files have changed is checked by the crate
//! `agent`.

mod cache_miss;
mod scan;
mod settings;

use std::collections::BTreeMap;
use std::ops::Range;

use tertulia_context::branch::REQUESTED;
use tertulia_session::json::Json;
use tertulia_session::{
    Cause, CompactionSummary, Entry, EntryId, EntryKind, FreshStart, MemoryMode, TurnActivity,
    TurnMemory, TurnState,
};

pub(crate) use cache_miss::{Answered, cache_miss};
use scan::Scan;
pub(crate) use settings::Settings;

/// The session of a member's agent, as the log describes it.
#[derive(Debug, PartialEq)]
pub(crate) enum Past<'l> {
    /// There is none to continue.
    Nothing,
    Known(Known<'l>),
    /// There is one, which must not be continued.
    Lost(FreshStart),
}

/// A session that the next turn may continue.
#[derive(Debug, PartialEq)]
pub(crate) struct Known<'l> {
    /// The state that the last turn left.
    pub(crate) head: &'l Json,
    /// The index of the entry that started the last turn.
    pub(crate) started: usize,
    /// The index of the entry with the last prompt. The messages before it were delivered.
    pub(crate) delivered: usize,
    /// The index of the entry with which the last turn ended.
    pub(crate) ended: usize,
    /// The index of the entry that started the turn that began the session.
    pub(crate) begun_at: usize,
    /// The index of the entry with the prompt that began it.
    pub(crate) begun_prompt: usize,
    /// The record of that turn.
    pub(crate) begun: &'l TurnMemory,
}

/// The member whose session is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    /// The session of this log.
    pub(crate) session: &'a str,
    pub(crate) member: &'a str,
    pub(crate) settings: &'a Settings,
}

/// The prompts of one turn.
#[derive(Clone, Copy)]
struct Prompted<'l> {
    /// The index of the entry that started the turn.
    started: usize,
    /// The index of the entry with its last prompt.
    delivered: usize,
    memory: &'l TurnMemory,
    turn: &'l EntryId,
}

/// Returns what the log says. `entries` are those of the branch.
pub(crate) fn past<'l>(entries: &'l [Entry], owner: Owner<'_>) -> Past<'l> {
    let mut scan = Scan::new(entries, owner.member);
    let Some(last) = scan.previous_turn() else { return Past::Nothing };
    if last.memory.mode == MemoryMode::Fresh {
        return Past::Nothing;
    }
    match known(entries, owner, &mut scan, &last) {
        Ok(known) => Past::Known(known),
        Err(reason) => Past::Lost(reason),
    }
}

/// Returns the indexes of a member's own messages in this range of entries that are not in the session of its agent. The
/// range begins at the end of the last prompt and ends with the start of that turn. If the turn was an answer in an ask, its
/// prompt ended at the question, and messages of turns without the session may follow the question.
pub(crate) fn apart_messages(
    entries: &[Entry],
    member: &str,
    range: Range<usize>,
    begun_at: usize,
) -> Vec<usize> {
    let within = || entries.iter().enumerate().take(range.end).skip(range.start);
    // Only turns since the session began have written to it.
    let is_apart = |turn: &EntryId| {
        let mut starts = entries.iter().enumerate().take(range.end).skip(begun_at);
        let start = starts.rfind(|(_, entry)| {
            let start = entry.turn().filter(|one| one.state == TurnState::Started);
            start.is_some_and(|one| one.turn_id.as_ref() == Some(turn))
        });
        let memory = start.and_then(|(_, entry)| entry.turn()?.memory.as_ref());
        memory.is_none_or(|memory| memory.mode == MemoryMode::Apart)
    };
    let is_own = |entry: &Entry| {
        let speaker = entry.message().and_then(|message| message.speaker.as_deref());
        speaker.is_some_and(|speaker| *speaker.role_id == *member)
    };
    let answered = within().filter_map(|(_, entry)| match entry.turn().map(|turn| &turn.cause) {
        Some(Cause::Answered { entry: answer }) if !is_apart(entry.turn_id()?) => Some(answer),
        _ => None,
    });
    let answered: Vec<&EntryId> = answered.collect();
    let own = within().filter(|(_, entry)| is_own(entry) && !answered.contains(&&entry.id));
    own.map(|(index, _)| index).collect()
}

/// Returns the turns of a member in the session that its agent keeps, newest first.
pub(crate) fn session_turns<'l>(entries: &'l [Entry], member: &str) -> Vec<&'l EntryId> {
    let mut scan = Scan::new(entries, member);
    let mut turns = Vec::new();
    while let Some(turn) = scan.previous_turn() {
        turns.push(turn.turn);
        if !turn.memory.continues() {
            break;
        }
    }
    turns
}

/// Returns the turns whose agents keep a session of their own for this log. Their processes may still wait for the next
/// turn. A fork has the turns of its origin, but does not continue their sessions.
pub(crate) fn kept_turns<'l>(entries: &'l [Entry], session: &str) -> Vec<&'l str> {
    let mut owners: BTreeMap<&str, bool> = BTreeMap::new();
    let mut turns = Vec::new();
    for entry in entries {
        let (member, memory) = match &entry.kind {
            EntryKind::Turn(turn) if turn.state == TurnState::Started => {
                (&turn.member, turn.memory.as_deref())
            }
            EntryKind::TurnEvent(event) => match &event.activity {
                TurnActivity::MemoryReset { memory } => (&event.member, Some(&**memory)),
                _ => continue,
            },
            _ => continue,
        };
        // A turn apart leaves the session as it is.
        let Some(memory) = memory.filter(|one| one.mode != MemoryMode::Apart) else { continue };
        let is_own = owners.entry(member).or_default();
        *is_own = match memory.session.as_deref() {
            Some(begun) => begun == session,
            None => *is_own && memory.continues(),
        };
        turns.extend(entry.turn_id().filter(|_| *is_own).map(EntryId::as_str));
    }
    turns
}

fn known<'l>(
    entries: &'l [Entry],
    owner: Owner<'_>,
    scan: &mut Scan<'l>,
    last: &Prompted<'l>,
) -> Result<Known<'l>, FreshStart> {
    let begun = match last.memory.continues() {
        true => scan.begin().ok_or(FreshStart::Unreadable)?,
        false => *last,
    };
    match begun.memory.session.as_deref() {
        Some(session) if session == owner.session => {}
        Some(session) => return Err(FreshStart::OtherSession { session: session.into() }),
        None => return Err(FreshStart::Unreadable),
    }
    let lost = |state| FreshStart::TurnEnded { turn: last.turn.clone(), state };
    let end = scan.end_of(last);
    if let Some(reason) = touched(entries, last, end.map(|(ended, ..)| ended)) {
        return Err(reason);
    }
    let (ended, state, head) = end.ok_or_else(|| lost(TurnState::Started))?;
    let native = head.and_then(|(head, id)| Some((head, id?)));
    let (head, native_id) = native.ok_or_else(|| lost(state))?;
    if let Some(entry) = handed_over(entries, last, native_id) {
        return Err(FreshStart::NativeUsed { entry });
    }
    if let Some(member) = scan.other_user(native_id) {
        return Err(FreshStart::Shared { member: member.into() });
    }
    let settings = begun.memory.settings.as_ref().ok_or(FreshStart::Unreadable)?;
    if let Some(what) = owner.settings.changed_since(settings) {
        return Err(FreshStart::SettingsChanged { what });
    }
    let Prompted { started, delivered, .. } = *last;
    let (begun_at, begun_prompt, begun) = (begun.started, begun.delivered, begun.memory);
    Ok(Known { head, started, delivered, ended, begun_at, begun_prompt, begun })
}

/// Returns why entries after the start of the last turn forbid to continue the session.
fn touched(entries: &[Entry], last: &Prompted<'_>, ended: Option<usize>) -> Option<FreshStart> {
    let mut later = entries.iter().skip(last.started + 1);
    later.find_map(|entry| match &entry.kind {
        EntryKind::Redaction(redaction) => {
            let target = entries.iter().position(|one| one.id == redaction.target_id);
            // The agent has read nothing that was said after its turn.
            let is_unread = ended.zip(target).is_some_and(|(ended, target)| target > ended);
            let entry = redaction.target_id.clone();
            (!is_unread).then_some(FreshStart::Redacted { entry })
        }
        // It may have been a newer turn of the member, or the origin of a branch.
        EntryKind::Purged(purged) if !matches!(&*purged.type_name, "message" | "team_task") => {
            Some(FreshStart::Redacted { entry: entry.id.clone() })
        }
        EntryKind::BranchSummary(_) => Some(FreshStart::Branched { entry: entry.id.clone() }),
        EntryKind::CompactionSummary(summary) if is_requested(summary) => {
            Some(FreshStart::Summarized { entry: entry.id.clone() })
        }
        _ => None,
    })
}

/// Returns the entry that connects the agent's session to the log of an import or a handover.
fn handed_over(entries: &[Entry], last: &Prompted<'_>, native_id: &str) -> Option<EntryId> {
    let is_of_session = |entry: &&Entry| {
        matches!(&entry.kind, EntryKind::NativeSession(link)
            if *link.native_session_id == *native_id)
    };
    entries.iter().skip(last.started + 1).find(is_of_session).map(|entry| entry.id.clone())
}

fn is_requested(summary: &CompactionSummary) -> bool {
    let author = summary.author.as_deref();
    summary.member.is_none() && author == Some(REQUESTED)
}
