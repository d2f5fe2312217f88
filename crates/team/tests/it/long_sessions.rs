//! Long sessions. Only their end is read when they are opened, and the prompts are the same as if everything was
//! read.

use tertulia_session::{
    Cause, Entry, EntryId, EntryKind, Fields, Intent, Message, NewEntry, QueueRule, RouteSource,
    Setting, Speaker, SpeakerType, Turn, TurnState,
};
use tertulia_store::{Import, NewSession, Range, SessionId, SessionStore};
use tertulia_team::{Driver, Event, Machine, PersonMessage, Preview, Team};

use crate::driver::{Heard, previewed, scripted, team};

/// Returns a session with this many messages of two people. Some messages are empty; those in `decided` led to turns.
fn stored(store: &SessionStore, messages: usize, decided: impl Fn(usize) -> bool) -> SessionId {
    let mut import = Import::begin(store).unwrap();
    let mut last: Option<EntryId> = None;
    let mut push = |kind: EntryKind| {
        let mut entry = NewEntry::new(kind);
        entry.parent_id = last.clone();
        let entry = entry.with_content_id();
        last = Some(entry.id.clone());
        let id = entry.id.clone();
        import.push(entry).unwrap();
        id
    };
    for number in 0..messages {
        let (name, kind) =
            [("ann", SpeakerType::Human), ("max", SpeakerType::Ai)][number % 2].clone();
        let speaker = Speaker::new(name, name, kind);
        let said = match number % 7 {
            5 => Message { speaker: Some(speaker.into()), ..Message::default() },
            _ => Message::said(speaker, format!("We decided: gateway_{number} has port {number}.")),
        };
        let entry = push(EntryKind::Message(said));
        if decided(number) {
            let (by, route, intent) = (Some("ann".into()), RouteSource::Next, Intent::Reply);
            let id = push(turn(TurnState::Queued, Cause::Asked { entry, by, route, intent }, None));
            let started = Cause::Chosen { rule: QueueRule::InTurn };
            push(turn(TurnState::Started, started, Some(id.clone())));
            let failed = Cause::failed("crash");
            push(turn(TurnState::Failed, failed, Some(id)));
            push(EntryKind::SessionSetting(Setting::TurnsMax { turns: Some(9) }.into()));
        }
    }
    import.finish(&NewSession::default()).unwrap().id
}

fn turn(state: TurnState, cause: Cause, turn_id: Option<EntryId>) -> EntryKind {
    EntryKind::Turn(Box::new(Turn {
        member: "eva".into(),
        state,
        turn_id,
        cause,
        cause_source: None,
        error_class: None,
        prompt_hash: None,
        prompt_recipe: None,
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    }))
}

fn members() -> Team {
    let (mut max, mut eva) = (scripted("max", &["Understood."]), scripted("eva", &["Yes."]));
    (max.window, eva.window) = (4, 20);
    team(vec![max, eva])
}

fn whole(store: &SessionStore, session: &SessionId) -> Vec<Entry> {
    let range = Range::Branch { tail: None, limit: None };
    store.load(session, &range).unwrap().into_iter().map(|stored| stored.entry).collect()
}

#[test]
fn what_is_sent_does_not_depend_on_how_long_the_session_is_open() {
    let store = SessionStore::memory();
    // While this session continues, recall drops its oldest messages.
    let session = stored(&store, 10_230, |_| false);
    let mut heard = Heard::default();
    let mut old = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap().driver;
    let (mut were_skipped, mut recalled) = (false, 0);
    for number in 0..8 {
        let name = ["max", "eva"][number % 2];
        let text = format!("@{name} which port has gateway_{}?", 9_001 + number);
        old.say(None, &text, &mut heard).unwrap();
        old.run(&mut heard).unwrap();
        for member in ["max", "eva"] {
            let Preview { prompt, entries } = previewed(&store, &session, &members(), member);
            assert!(prompt.covered > 10_000, "{}", prompt.text);
            recalled += prompt.recalled.len();
            assert_eq!(old.prompt_for(member), Some(prompt));
            were_skipped |= entries[0] != whole(&store, &session)[0];
        }
    }
    let before = old.prompt_for("max");
    old.read_all().unwrap();
    assert_eq!(old.entries(), whole(&store, &session));
    assert_eq!(old.prompt_for("max"), before);
    assert!(were_skipped && recalled > 0, "{recalled}");
}

#[test]
fn the_label_of_the_first_summary_counts_what_it_was_made_from() {
    let store = SessionStore::memory();
    let session = stored(&store, 10_000, |_| false);
    let mut heard = Heard::default();
    let mut driver = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap().driver;
    let entries = whole(&store, &session);
    let summary = entries.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::CompactionSummary(summary) => Some(&**summary),
        _ => None,
    });
    let summary = summary.unwrap();
    // The recorded range: from its first entry to the last one before the kept messages.
    let place =
        |id: &Option<EntryId>| entries.iter().position(|entry| Some(&entry.id) == id.as_ref());
    let from = place(&summary.covered_from_id).unwrap();
    let to = place(&summary.covered_to_id).unwrap();
    let kept = place(&Some(summary.first_kept_entry_id.clone())).unwrap();
    let said =
        |entry: &&Entry| matches!(&entry.kind, EntryKind::Message(said) if !said.text().is_empty());
    let range: Vec<&Entry> = entries[from..=to].iter().filter(said).collect();
    let mut hash = tertulia_session::EntriesHash::default();
    range.iter().for_each(|entry| hash.add(entry));
    assert_eq!(summary.covered_count, Some(range.len() as u64));
    assert_eq!(summary.covered_hash.as_deref(), Some(&*hash.finish()));
    assert_eq!(summary.older_count, Some(from as u64));
    assert!((2_000..=2_048).contains(&(kept - from)), "{}", kept - from);
    let label = |made: usize| {
        format!("\n- [summary of {made} messages; {from} older ones are not in it]: ")
    };
    let prompt = driver.prompt_for("max").unwrap();
    assert!(prompt.text.contains(&label(kept - from)), "{}", prompt.text);
    // Later summaries have the same number of older messages.
    for _ in 0..20 {
        driver.say(None, "@max Another matter.", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let later = driver.prompt_for("max").unwrap();
    assert!(later.covered > prompt.covered, "no further summary");
    assert!(later.text.contains(&label(later.covered - from)), "{}", later.text);
}

/// Returns the status of a machine and its next effects, for comparison.
fn next_steps(mut machine: Machine) -> String {
    let status = (machine.status(), machine.turns_max());
    let mut said = |text: &str| {
        let message = Box::new(PersonMessage::new(text, machine.roster()));
        let (entry, member) = (EntryId::from(text), Some("ann".into()));
        machine.step(Event::PersonSaid { entry, member, message })
    };
    format!("{status:?} {:?} {:?}", said("@max @eva both of you"), said("and @eva again"))
}

#[test]
fn the_machine_of_a_session_of_which_only_the_end_is_read_is_the_same() {
    // Sessions with turns from beginning to end, with turns only long ago, and without turns.
    let cases: [fn(usize) -> bool; 3] =
        [|number| number % 50 == 0, |number| number % 50 == 0 && number < 900, |_| false];
    for decided in cases {
        let store = SessionStore::memory();
        let session = stored(&store, 11_000, decided);
        let entries = whole(&store, &session);
        let mut heard = Heard::default();
        let driver = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap().driver;
        assert!(driver.entries()[0] != entries[0], "it was read whole");
        let mut machine = Machine::replay(members().roster().clone(), &entries).into_recorded();
        machine.step(Event::Resume);
        assert_eq!(next_steps(driver.machine().clone()), next_steps(machine));
    }
}
