//! Whatever happens to the session of an agent, the next turn does not continue it, and records why. The turn after it
//! continues the new session. `TERTULIA_DRIFTS` sets the number of injected changes.

use tertulia_agent::agents::AgentDefinition;
use tertulia_agent::{AgentKind, AgentSpec, Drift, Permissions, agents};
use tertulia_session::{
    Entry, EntryId, EntryKind, Fields, FreshStart, NativeDirection, NativeSession, TurnState,
};

use super::super::{MemoryPlan, MemoryStep};
use super::play::{Outcome, Play, head};
use crate::driver::log::{Reading, SessionLog};
use crate::driver::prompt::Prompts;
use crate::driver::summary;
use crate::memory::kept_turns;
use crate::{Responder, TeamMember};

const MEMBER: &str = "max";

/// A change, and the kind of the reason that the log must record for it.
type Change = (&'static str, fn(&mut Play));

const CHANGES: &[Change] = &[
    ("redacted", |play| redact_of(play, "ann")),
    ("redacted", |play| redact_of(play, MEMBER)),
    ("redacted", |play| redact_of(play, "leo")),
    ("redacted", redact_start),
    ("branched", |play| branch_back(play, 0)),
    ("branched", |play| branch_back(play, 1)),
    ("branched", |play| branch_back(play, 3)),
    ("branched", |play| branch_back(play, 9)),
    ("settings_changed", |play| agent(play, |spec| spec.model = Some("m2".into()))),
    ("settings_changed", |play| agent(play, |spec| spec.permissions = Permissions::Edit)),
    ("settings_changed", |play| agent(play, |spec| spec.program = Some("/opt/claude".into()))),
    ("settings_changed", |play| agent(play, |spec| spec.args.push("--debug".into()))),
    ("settings_changed", |play| agent(play, |spec| drop(spec.env.insert("A".into(), "b".into())))),
    ("settings_changed", |play| agent(play, |spec| spec.cwd = "elsewhere".into())),
    ("settings_changed", |play| agent(play, |spec| spec.kind = other_kind(spec))),
    ("settings_changed", |play| of(play, MEMBER).instruction = Some("Be brief.".to_owned())),
    ("settings_changed", |play| of(play, MEMBER).preamble = crate::Preamble::Off),
    ("settings_changed", |play| of(play, "eva").role = Some("reviews".into())),
    ("summarized", summarize),
    ("native_used", |play| link(play, NativeDirection::Imported)),
    ("native_used", |play| link(play, NativeDirection::Written)),
    ("turn_ended", |play| turn(play, Outcome::Failed)),
    ("turn_ended", |play| turn(play, Outcome::Cancelled)),
    ("turn_ended", |play| turn(play, Outcome::Crashed)),
    ("unreadable", |play| end_with(play, MEMBER, r#"{"agent":"claude"}"#)),
    ("shared", share),
    ("other_session", fork),
    ("drifted", |play| native(play, Drift::Missing { path: None })),
    ("drifted", |play| native(play, Drift::Shortened { path: "s".into() })),
    ("drifted", |play| native(play, Drift::Edited { path: None })),
    ("drifted", |play| native(play, Drift::Continued { messages: 2 })),
    ("drifted", |play| native(play, Drift::Forked)),
    ("drifted", |play| native(play, Drift::Compacted)),
    ("drifted", |play| native(play, Drift::OtherSession { found: "x".into() })),
    ("drifted", |play| native(play, Drift::OtherVersion)),
    ("drifted", |play| native(play, Drift::Settings { changed: "model".into() })),
    ("drifted", |play| native(play, Drift::Busy)),
    ("drifted", |play| native(play, Drift::ProcessEnded)),
    ("drifted", |play| native(play, Drift::Unreadable { path: None, reason: "x".into() })),
    ("drifted", |play| native(play, Drift::Refused { reason: "x".into() })),
];

fn of<'p>(play: &'p mut Play, name: &str) -> &'p mut TeamMember {
    play.team.members.iter_mut().find(|one| *one.member.name == *name).unwrap()
}

fn agent(play: &mut Play, change: fn(&mut AgentSpec)) {
    let Responder::Agent(spec) = &mut of(play, MEMBER).responder else { panic!("no agent") };
    change(spec);
}

/// Returns the kind of another agent that has a program.
fn other_kind(spec: &AgentSpec) -> AgentKind {
    let word = spec.kind.definition().word;
    let is_other = |one: &&&AgentDefinition| one.word != word && one.reports_model;
    AgentKind::Cli(agents::AGENTS.iter().find(is_other).unwrap())
}

/// Redacts the newest message of this speaker that the member has.
fn redact_of(play: &mut Play, by: &str) {
    let has = play.plan(MEMBER).has.unwrap();
    let mut known = play.visible().into_iter().filter(|(index, said)| {
        said.by == by && *index < has.delivered + usize::from(by != "ann") * 4
    });
    let token = known.next_back().unwrap().1.token.clone();
    let number = play.said.iter().position(|said| said.token == token).unwrap();
    play.redact(number);
}

/// Redacts the entry that started the last turn.
fn redact_start(play: &mut Play) {
    let id = started(play).pop().unwrap().1;
    play.store.redact(&play.session, &id, None).unwrap();
    play.reopen();
}

/// Returns the starts of the member's turns: their indexes and ids.
fn started(play: &Play) -> Vec<(usize, EntryId)> {
    let entries = play.log.entries().iter().enumerate();
    let starts = entries.filter(|(_, entry)| {
        let turn = entry.turn();
        turn.is_some_and(|turn| *turn.member == *MEMBER && turn.state == TurnState::Started)
    });
    starts.map(|(index, entry)| (index, entry.id.clone())).collect()
}

fn branch_back(play: &mut Play, back: usize) {
    let entries = play.log.entries();
    let from = entries[entries.len() - 1 - back].id.clone();
    play.branch(&from);
}

fn summarize(play: &mut Play) {
    for _ in 0..6 {
        play.say("ann", 30);
    }
    play.commit();
    play.stage(summary::requested(play.log.branch()).1.unwrap());
}

fn current(play: &Play) -> String {
    match play.plan(MEMBER).step {
        MemoryStep::Continue(head) => head.session.to_string(),
        step => panic!("{step:?}"),
    }
}

fn link(play: &mut Play, direction: NativeDirection) {
    let link = NativeSession {
        agent: "claude".into(),
        native_session_id: current(play).into(),
        direction,
        path: None,
        records: 1,
        bytes: 1,
        hash: "".into(),
        last_record_id: None,
        receipt: None,
        unknown: Fields::NONE,
    };
    play.stage(EntryKind::NativeSession(Box::new(link)));
}

fn native(play: &mut Play, drift: Drift) {
    let id = current(play);
    play.natives.get_mut(&id).unwrap().drift = Some(drift);
}

fn turn(play: &mut Play, outcome: Outcome) {
    let answers = play.say("ann", 1);
    play.commit();
    play.turn(MEMBER, &answers, outcome);
}

/// Adds another end of the newest turn of a member, with this state of the agent's session.
fn end_with(play: &mut Play, name: &str, head: &str) {
    let entries = play.log.entries();
    let ends = entries.iter().rev().filter_map(|entry| entry.turn());
    let mut ended = ends
        .filter(|turn| *turn.member == *name && turn.state == TurnState::Done)
        .map(|turn| Box::new(turn.clone()))
        .next()
        .unwrap();
    ended.native_head = tertulia_session::json::Json::parse(head).ok();
    ended.native_session_id = Some(current(play).into());
    // The entry that the machine wrote comes first, so the turn is repeated with this end.
    let turn = EntryId::from(format!("again-{name}-{}", entries.len()));
    let mut started = entries
        .iter()
        .rev()
        .filter_map(|entry| entry.turn())
        .find(|turn| *turn.member == *name && turn.state == TurnState::Started)
        .map(|turn| Box::new(turn.clone()))
        .unwrap();
    (started.turn_id, ended.turn_id) = (Some(turn.clone()), Some(turn));
    (started.prompt_recipe, started.prompt_hash) = (None, None);
    play.stage(EntryKind::Turn(started));
    play.stage(EntryKind::Turn(ended));
}

fn share(play: &mut Play) {
    let answers = play.say("ann", 1);
    play.commit();
    play.turn("eva", &answers, Outcome::Answered);
    let head = head(&current(play)).to_json();
    end_with(play, "eva", head.as_str());
}

fn fork(play: &mut Play) {
    let tail = play.log.entries().last().unwrap().id.clone();
    let copy = play.store.fork(&play.session, &tail, &Default::default()).unwrap();
    play.session = copy.id;
    play.log = SessionLog::open(&play.store, &play.session, Reading::All).unwrap();
    play.prompts = Prompts::new(play.log.entries());
}

/// Plays some turns, so that the member's agent has a session that it would continue.
fn prepared(number: usize) -> Play {
    let mut play = Play::new(1_000, 1 << 20);
    for turn in 0..3 + number % 5 {
        play.say("leo", 1);
        let answers = play.say("ann", 1 + number % 3);
        play.commit();
        let name = if (turn + number).is_multiple_of(4) { "eva" } else { MEMBER };
        play.turn(name, &answers, Outcome::Answered);
    }
    turn(&mut play, Outcome::Answered);
    play
}

#[test]
fn the_turn_that_began_a_session_is_known() {
    let mut play = prepared(0);
    let begun = |play: &Play| play.plan(MEMBER).has.unwrap().begun_at;
    assert_eq!(begun(&play), started(&play)[0].0);
    // It began the session with its second prompt.
    turn(&mut play, Outcome::Drifted);
    let drifted = started(&play).pop().unwrap().0;
    assert_eq!(begun(&play), drifted);
    turn(&mut play, Outcome::Answered);
    assert_eq!(begun(&play), drifted);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the number of changes is a setting of the run")]
fn no_change_of_a_session_is_missed() {
    let wanted = std::env::var("TERTULIA_DRIFTS").ok().and_then(|count| count.parse().ok());
    for number in 0..wanted.unwrap_or(3 * CHANGES.len()) {
        let (kind, change) = CHANGES[number % CHANGES.len()];
        let mut play = prepared(number);
        let before = current(&play);
        change(&mut play);
        let plan: MemoryPlan = play.plan(MEMBER);
        let reason = plan.record.as_ref().and_then(|record| record.fresh_start.as_ref());
        assert!(!plan.continues(), "change {number} ({kind}) was missed");
        assert_eq!(reason.map(FreshStart::kind), Some(kind), "{number}: {reason:?}");
        turn(&mut play, Outcome::Answered);
        let (_, continued) = play.last.take().unwrap();
        assert!(!continued, "change {number} ({kind}) was missed");
        let after = current(&play);
        assert_ne!(before, after, "change {number} ({kind}): the session is used again");
        turn(&mut play, Outcome::Answered);
        assert_eq!(play.last, Some((None, true)), "after change {number} ({kind})");
    }
}

#[test]
fn the_turns_whose_agents_may_wait_are_those_with_a_session_of_this_log() {
    let mut play = prepared(3);
    let kept = |play: &Play| {
        let turns = kept_turns(play.log.entries(), play.session.as_str());
        turns.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let started = |play: &Play| {
        let is_start =
            |entry: &&Entry| entry.turn().is_some_and(|turn| turn.state == TurnState::Started);
        let starts = play.log.entries().iter().filter(is_start);
        starts.map(|entry| entry.turn_id().unwrap().to_string()).collect::<Vec<_>>()
    };
    let before = kept(&play);
    assert_eq!(before, started(&play));
    assert!(before.len() > 3);
    fork(&mut play);
    assert_eq!(kept(&play), [] as [String; 0], "their processes belong to the other log");
    turn(&mut play, Outcome::Answered);
    turn(&mut play, Outcome::Answered);
    assert_eq!(kept(&play), started(&play)[before.len()..]);
}

#[test]
fn the_changed_settings_are_named() {
    let mut play = prepared(1);
    agent(&mut play, |spec| spec.model = Some("m2".into()));
    of(&mut play, MEMBER).instruction = Some("Be brief.".to_owned());
    let record = play.plan(MEMBER).record.unwrap();
    let reason = record.fresh_start.unwrap().reason();
    assert_eq!(reason, "its settings were changed: instructions, model");
}

#[test]
fn what_was_said_after_the_turn_can_be_redacted_without_a_new_session() {
    let mut play = prepared(1);
    play.say("ann", 1);
    play.redact(play.said.len() - 1);
    assert!(play.plan(MEMBER).continues());
}

#[test]
fn a_summary_that_nobody_asked_for_needs_no_new_session() {
    let mut play = Play::new(4, 1 << 20);
    for _ in 0..40 {
        turn(&mut play, Outcome::Answered);
    }
    let summaries = play.log.entries().iter();
    let summaries = summaries.filter(|entry| matches!(entry.kind, EntryKind::CompactionSummary(_)));
    assert!(summaries.count() > 1);
    assert_eq!(play.natives.len(), 1);
    let native = play.natives.values().next().unwrap();
    assert!(native.prompts.iter().skip(1).all(|prompt| !prompt.contains("[summary of ")));
}

#[test]
fn a_failed_turn_whose_prompt_the_agent_has_is_continued() {
    let mut play = prepared(2);
    turn(&mut play, Outcome::FailedKnown);
    turn(&mut play, Outcome::Answered);
    assert_eq!(play.last, Some((None, true)));
}
