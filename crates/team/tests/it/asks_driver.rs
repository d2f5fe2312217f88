//! Asks in the driver: what each prompt contains, turns that really run at once, the grace time, a crash, and the bytes of
//! a judge's prompt.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use tertulia_agent::{AgentKind, CommandOutput, Endpoint, agents};
use tertulia_session::{Ask, AskRound, Cause, Entry, EntryId, MemoryMode, TurnState};
use tertulia_store::{Append, NewSession, SessionStore};
use tertulia_team::{
    AskFollower, AskRequest, AskResult, Cancel, Command, Driver, EventSink, Limits, Machine,
    PersonMessage, SessionEvent, StopReason, Team, TeamMember, sent_prompt,
};

use crate::driver::{Heard, begin, scripted, shell, spec, team};
use crate::simulation::Dice;

/// Waits for a file, for up to two minutes.
const WAIT: &str = "wait_for() { n=0; until [ -e \"$1\" ]; do sleep 0.02; n=$((n+1)); \
                    [ $n -gt 6000 ] && exit 9; done; }";

fn worker(name: &str, script: &str) -> TeamMember {
    let mut member = shell(name, CommandOutput::Text, &format!("cat >/dev/null; {WAIT}; {script}"));
    member.member = member.member.beside_others();
    member
}

fn beside(mut member: TeamMember) -> TeamMember {
    member.member = member.member.beside_others();
    member
}

fn request(members: &[&str]) -> AskRequest {
    let members = members.iter().map(|name| (*name).to_owned()).collect();
    AskRequest { members, ..AskRequest::default() }
}

fn judged(members: &[&str], judge: &str) -> AskRequest {
    AskRequest { judge: Some(judge.to_owned()), ..request(members) }
}

fn say(driver: &mut Driver, text: &str, request: &AskRequest, sink: &mut dyn EventSink) -> EntryId {
    let ask = request.check(driver.team()).unwrap();
    let message = PersonMessage::new(text, driver.team().roster()).asking(ask);
    driver.say_message(None, &message, sink).unwrap()
}

fn ask(driver: &mut Driver, text: &str, request: &AskRequest) -> AskResult {
    let mut heard = Heard::default();
    say(driver, text, request, &mut heard);
    driver.run(&mut heard).unwrap();
    result(driver.entries())
}

fn result(entries: &[Entry]) -> AskResult {
    let mut follower = AskFollower::default();
    entries.iter().for_each(|entry| drop(follower.on_entry(entry)));
    let question = follower.last().unwrap().clone();
    follower.result(&question).unwrap()
}

fn answered(result: &AskResult) -> Vec<&str> {
    result.answers.iter().map(|one| &*one.member).collect()
}

/// Returns the starts of the turns of asks, with the round and the question of each.
fn starts(entries: &[Entry]) -> Vec<(&Entry, AskRound, EntryId)> {
    let queued = |turn: &EntryId| {
        let entry = entries.iter().find(|entry| entry.id == *turn)?;
        match &entry.turn()?.cause {
            Cause::Consulted { entry, round, .. } => Some((*round, entry.clone())),
            _ => None,
        }
    };
    let start = |entry| {
        let entry: &Entry = entry;
        let turn = entry.turn().filter(|turn| turn.state == TurnState::Started)?;
        let (round, question) = queued(turn.turn_id.as_ref()?)?;
        Some((entry, round, question))
    };
    entries.iter().filter_map(start).collect()
}

fn prompt_of(entries: &[Entry], member: &str, round: AskRound) -> String {
    let all = starts(entries);
    let is_it = |(entry, one, _): &&(&Entry, AskRound, EntryId)| {
        *one == round && *entry.turn().unwrap().member == *member
    };
    let (entry, ..) = all.iter().rev().find(is_it).unwrap();
    sent_prompt(entries, &entry.id).unwrap().text
}

#[test]
fn members_work_at_the_same_time_although_one_turn_runs_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let names = ["max", "eva", "leo"];
    let all: String = names.map(|name| format!("wait_for {place}/{name}; ")).concat();
    let meets = |name: &str| worker(name, &format!("touch {place}/{name}; {all} printf 'met all'"));
    let (_, mut driver) = begin(team(names.map(meets).into()));
    assert_eq!(driver.team().roster().limits().parallel, 1);
    let result = ask(&mut driver, "Which?", &AskRequest { answers_only: true, ..request(&names) });
    assert_eq!(answered(&result), names);
    assert!(result.is_complete());
}

#[test]
fn an_answer_shows_no_other_answer_and_a_judge_sees_labels() {
    let members = vec![
        beside(scripted("max", &["The sea is blue."])),
        beside(scripted("eva", &["The wood is green."])),
        beside(scripted("kim", &["CONTRADICTED A / B: one / two"])),
    ];
    let (_, mut driver) = begin(team(members));
    driver.say(None, "Hello @kim", &mut Heard::default()).unwrap();
    driver.run(&mut Heard::default()).unwrap();
    let result = ask(&mut driver, "Which colour?", &judged(&["max", "eva"], "kim"));
    let entries = driver.entries();
    for (name, other) in [("max", "wood"), ("eva", "sea")] {
        let prompt = prompt_of(entries, name, AskRound::Answer);
        assert!(prompt.contains("Which colour?") && prompt.contains("Hello @kim"), "{prompt}");
        assert!(
            prompt.contains("Each of them answers alone") && !prompt.contains(other),
            "{prompt}"
        );
    }
    let prompt = prompt_of(entries, "kim", AskRound::Judgement);
    let (before, answers) = prompt.split_once("[answer A]: ").unwrap();
    assert!(before.contains("Hello @kim"), "{prompt}");
    let (first, second) = answers.split_once("[answer B]: ").unwrap();
    assert!(first.contains("The ") && second.contains("The "), "{prompt}");
    let names = ["max", "eva", "Max", "Eva"];
    assert!(!names.iter().any(|name| answers.contains(name)), "{answers}");
    let of = |label: &str| result.answers.iter().find(|one| &*one.label == label).unwrap();
    let text = |id: &EntryId| {
        let entry = entries.iter().find(|entry| entry.id == *id).unwrap();
        entry.message().unwrap().text().into_owned()
    };
    assert!(first.contains(&text(&of("A").entry)) && second.contains(&text(&of("B").entry)));
    for (label, says) in [("A", "one"), ("B", "two")] {
        let mut sides = result.findings[0].sides.iter();
        let side = sides.find(|side| side.member == of(label).member).unwrap();
        assert_eq!(side.text.as_deref(), Some(says));
    }
}

#[test]
fn long_answers_are_cut_alike_and_none_is_left_out() {
    let long = |word: &str| format!("{word} {}", "words and words ".repeat(2_000));
    let (first, second) = (long("First"), long("Second"));
    let mut kim = beside(scripted("kim", &["AGREED: words"]));
    kim.budget_bytes = 20_000;
    let members =
        vec![beside(scripted("max", &[&first])), beside(scripted("eva", &[&second])), kim];
    let (_, mut driver) = begin(team(members));
    ask(&mut driver, "Which?", &judged(&["max", "eva"], "kim"));
    let prompt = prompt_of(driver.entries(), "kim", AskRound::Judgement);
    assert!(prompt.len() <= 20_000 && prompt.contains("First") && prompt.contains("Second"));
    assert_eq!(prompt.matches("(the rest of this answer does not fit)").count(), 2, "{prompt}");
}

#[test]
fn a_reaction_shows_all_answers_with_their_authors() {
    let members = vec![
        beside(scripted("max", &["Blue.", "ONLY A: blue"])),
        beside(scripted("eva", &["Green.", "ONLY eva: green"])),
    ];
    let (_, mut driver) = begin(team(members));
    let result = ask(&mut driver, "Which colour?", &request(&["max", "eva"]));
    let prompt = prompt_of(driver.entries(), "max", AskRound::Reaction);
    assert!(prompt.contains(" by max]: Blue.") && prompt.contains(" by eva]: Green."), "{prompt}");
    assert_eq!(result.findings.len(), 2);
    assert!(result.is_complete());
}

#[test]
fn the_others_are_stopped_when_the_grace_time_is_over() {
    let members = vec![
        beside(scripted("max", &["Blue."])),
        beside(scripted("eva", &["Green."])),
        worker("leo", "wait_for /nowhere"),
        beside(scripted("kim", &["AGREED: a colour"])),
    ];
    let (_, mut driver) = begin(team(members));
    let request = AskRequest {
        quorum: Some(2),
        grace_seconds: Some(0),
        ..judged(&["max", "eva", "leo"], "kim")
    };
    let result = ask(&mut driver, "Which?", &request);
    assert_eq!(answered(&result), ["max", "eva"]);
    assert!(result.is_complete());
    assert!(result.missing[0].why.ends_with("and the grace time was over"), "{result:?}");
}

#[test]
fn a_member_that_fails_is_named_with_its_error() {
    let members = vec![
        beside(scripted("max", &["Blue."])),
        worker("leo", "echo broken >&2; exit 3"),
        beside(scripted("eva", &["Green."])),
    ];
    let (_, mut driver) = begin(team(members));
    let result = ask(&mut driver, "Which?", &judged(&["max", "leo", "eva"], "max"));
    assert_eq!(result.missing.len(), 1);
    assert_eq!(
        (&*result.missing[0].member, result.missing[0].class.as_deref()),
        ("leo", Some("crash"))
    );
}

/// Sends a command after this number of turns has started.
struct WhenStarted(tertulia_team::DriverHandle, Option<Command>, usize);

impl EventSink for WhenStarted {
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Fed { .. } = event {
            self.2 -= 1;
        }
        if self.2 == 0 {
            self.1.take().map(|command| self.0.send(command));
        }
    }
}

#[test]
fn cancelling_stops_all_agents_of_an_ask() {
    let members = ["max", "eva", "leo"].map(|name| worker(name, "wait_for /nowhere"));
    let (_, mut driver) = begin(team(members.into()));
    let cancel = Command::Cancel(Cancel::All);
    let mut sink = WhenStarted(driver.handle(), Some(cancel), 3);
    say(&mut driver, "Which?", &judged(&["max", "eva"], "leo"), &mut Heard::default());
    sink.2 = 2;
    assert_eq!(driver.run(&mut sink).unwrap(), StopReason::Rested);
    assert!(!driver.is_running());
    assert_eq!(result(driver.entries()).missing.len(), 2);
}

#[test]
fn after_a_crash_the_ask_continues_and_nobody_answers_twice() {
    let folder = tempfile::tempdir().unwrap();
    let free = folder.path().join("free");
    let slow = format!("wait_for {}; printf Green", free.display());
    let members = || {
        team(vec![
            beside(scripted("max", &["Blue."])),
            worker("eva", &slow),
            beside(scripted("kim", &["AGREED: a colour"])),
        ])
    };
    let store = SessionStore::memory();
    let mut driver = Driver::begin(&store, None, members(), false).unwrap();
    let session = driver.session().clone();
    struct Stops;
    impl EventSink for Stops {
        fn on_event(&mut self, event: SessionEvent) {
            if let SessionEvent::Stored(entry) = event
                && entry.turn().is_some_and(|turn| turn.state == TurnState::Done)
            {
                std::panic::resume_unwind(Box::new("the process dies"));
            }
        }
    }
    say(&mut driver, "Which?", &judged(&["max", "eva"], "kim"), &mut Heard::default());
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driver.run(&mut Stops)));
    assert!(died.is_err());
    drop(driver);
    let mut heard = Heard::default();
    let opened = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap();
    assert_eq!(opened.differences, []);
    assert!(
        heard.lines.last().unwrap().contains("Continue with the queued turn?"),
        "{:?}",
        heard.lines
    );
    std::fs::write(&free, "").unwrap();
    let mut driver = opened.driver;
    driver.execute(Command::Continue, &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let result = result(driver.entries());
    assert_eq!(answered(&result), ["max", "eva"]);
    assert!(result.is_complete() && result.missing.is_empty(), "{result:?}");
}

#[test]
fn a_message_to_all_asks_all_agents_without_comparing() {
    let members =
        ["max", "eva"].map(|name| beside(scripted(name, &["Yes, @all.", "No."]))).to_vec();
    let (_, mut driver) = begin(team(members));
    let mut heard = Heard::default();
    driver.say(None, "Ready, @all?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let result = result(driver.entries());
    assert_eq!(answered(&result), ["max", "eva"]);
    assert!(result.is_complete(), "an agent that writes @all asks nobody");
    assert_eq!(starts(driver.entries()).len(), 2);
    // The only agent answers as usual.
    let (_, mut driver) = begin(team(vec![scripted("max", &["Only me."])]));
    driver.say(None, "Ready, @all?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(starts(driver.entries()).len(), 0);
    assert!(heard.lines.iter().any(|line| line.contains("Only me.")));
    // A member with this name is meant.
    let mut eva = beside(scripted("eva", &["I am here."]));
    eva.member.display_name = Some("All".into());
    let (_, mut driver) = begin(team(vec![scripted("max", &["No."]), eva]));
    driver.say(None, "Ready, @all?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(starts(driver.entries()).len(), 0);
    assert!(heard.lines.iter().any(|line| line.contains("I am here.")));
}

#[test]
fn a_judge_gets_the_same_bytes_again_from_the_log() {
    let members = || {
        let names = ["max", "eva", "leo", "kim"];
        team(names.map(|name| beside(scripted(name, &[&format!("I say {name}s word.")]))).to_vec())
    };
    for _ in 0..10 {
        let (_, mut driver) = begin(members());
        ask(&mut driver, "Which?", &judged(&["max", "eva", "leo"], "kim"));
        let entries = driver.entries();
        let judged =
            starts(entries).into_iter().find(|(_, round, _)| *round == AskRound::Judgement);
        let (start, ..) = judged.unwrap();
        let hash = start.turn().unwrap().prompt_hash.clone().unwrap();
        let before = entries.iter().take_while(|entry| entry.id != start.id).cloned();
        let store = SessionStore::memory();
        let session = store.create(&NewSession::default()).unwrap().id;
        store.append(&session, Append::new(before)).unwrap();
        let mut heard = Heard::default();
        let mut again = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap();
        again.driver.execute(Command::Continue, &mut heard).unwrap();
        let entries = again.driver.entries();
        let started =
            starts(entries).into_iter().find(|(_, round, _)| *round == AskRound::Judgement);
        assert_eq!(started.unwrap().0.turn().unwrap().prompt_hash.as_ref(), Some(&hash));
    }
}

/// Returns a member of any kind, whose answers have words that occur nowhere else.
fn anybody(dice: &mut Dice, name: &str, number: usize) -> TeamMember {
    let to = if dice.once_in(5) { " [NEXT: max]" } else { "" };
    let line = |turn| format!("word{number}q{turn}z, @all @leo{to}");
    let lines: Vec<String> = (0..400).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut member = match dice.below(8) {
        // Nobody listens there, so the request is made and the turn fails.
        0 => {
            let base_url = "http://127.0.0.1:9/v1".into();
            let mut spec = spec(AgentKind::OpenAi(Endpoint { base_url, key_variable: None }));
            spec.model = Some("some-model".into());
            TeamMember::agent(name, spec)
        }
        // It would keep its own session, and ends at once.
        1 => {
            let mut spec = spec(AgentKind::Cli(agents::PI));
            spec.program = Some("/nowhere/pi".into());
            TeamMember { memory: MemoryMode::Native, ..TeamMember::agent(name, spec) }
        }
        _ => scripted(name, &lines),
    };
    member.member.may_run_beside = !dice.once_in(4);
    member.window = *dice.pick(&[0, 1, 3, 20]);
    member.budget_bytes = *dice.pick(&[4_000, 60_000, 60_000]);
    member
}

/// Plays random asks in a random team. Returns the number of first-round prompts.
fn play(seed: u64) -> usize {
    let mut dice = Dice::new(seed);
    let names = ["max", "eva", "leo", "kim", "zoe"];
    let count = 2 + dice.below(4);
    let members = names.iter().take(count).enumerate();
    let members: Vec<TeamMember> =
        members.map(|(number, name)| anybody(&mut dice, name, number)).collect();
    let members = std::iter::once(TeamMember::person("ann")).chain(members).collect();
    let limits = Limits { parallel: 1 + dice.below(3), ..Limits::default() };
    let task = dice.once_in(2).then(|| "Find a word.".to_owned());
    let (_, mut driver) = begin(Team::new(members, limits, task).unwrap());
    let mut heard = Heard::default();
    for round in 0..1 + dice.below(3) {
        for _ in 0..dice.below(3) {
            let name = names[dice.below(count)];
            driver.say(None, &format!("@{name} go on"), &mut heard).unwrap();
            driver.run(&mut heard).unwrap();
        }
        let mut asked: Vec<&str> = names[..count].to_vec();
        while asked.len() > 2 && dice.once_in(2) {
            asked.remove(dice.below(asked.len()));
        }
        let judge = dice.once_in(2).then(|| names[dice.below(count)].to_owned());
        let quorum = dice.once_in(3).then(|| 1 + dice.below(asked.len()) as u32);
        let grace_seconds = quorum.map(|_| dice.below(2) as u32 * 60);
        let answers_only = judge.is_none() && dice.once_in(2);
        let request = AskRequest { judge, quorum, grace_seconds, answers_only, ..request(&asked) };
        let text = *dice.pick(&["Which word?", "Which word, @max? [TEAM_TASK: another task]"]);
        say(&mut driver, &format!("{text} {round}"), &request, &mut heard);
        if dice.once_in(3) {
            // Somebody says more before the others have answered.
            let text = format!("wordask{round}z, @{}?", names[dice.below(count)]);
            driver.say(None, &text, &mut heard).unwrap();
        }
        let _ = driver.run(&mut heard).unwrap();
    }
    let replay = Machine::replay(driver.team().roster().clone(), driver.entries());
    assert_eq!((replay.differences, replay.unfinished), (vec![], vec![]));
    check_independence(driver.entries())
}

/// Asserts that no prompt of a first round contains a word of another answer to the same question, or of anything said
/// after the question. Returns the number of these prompts.
fn check_independence(entries: &[Entry]) -> usize {
    let mut prompts = 0;
    for (start, round, question) in starts(entries) {
        if round != AskRound::Answer {
            continue;
        }
        let Ok(sent) = sent_prompt(entries, &start.id) else { continue };
        let whole = format!("{}{}", sent.system.unwrap_or_default(), sent.text);
        let asked = entries.iter().position(|entry| entry.id == question).unwrap();
        let later = entries[asked + 1..].iter().filter_map(Entry::message);
        for message in later {
            let said = message.text();
            let Some(word) = said.split(',').next().filter(|word| word.starts_with("word")) else {
                continue;
            };
            assert!(!whole.contains(word), "{word} is in\n{whole}");
        }
        prompts += 1;
    }
    prompts
}

#[test]
fn no_prompt_of_a_first_round_contains_a_byte_of_another_answer() {
    let count = std::env::var("TERTULIA_ASKS").ok().and_then(|count| count.parse().ok());
    let mut prompts = 0;
    let count = count.unwrap_or(300);
    for seed in 0..count {
        let played = std::panic::catch_unwind(|| play(seed));
        prompts += played.unwrap_or_else(|panic| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        });
    }
    println!("{prompts} prompts in {count} teams");
    assert!(prompts as u64 > 2 * count, "{prompts} prompts are too few");
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    let members = ["max", "eva"].map(|name| scripted(name, &["Yes."])).to_vec();
    let team = team(members);
    let check = |request: &AskRequest| request.check(&team).map_err(|error| error.to_string());
    let error = |request: &AskRequest| check(request).unwrap_err();
    assert_eq!(error(&request(&["max", "evva"])), "nobody is called 'evva'; did you mean eva?");
    assert_eq!(
        error(&request(&["max", "somebody"])),
        "nobody is called 'somebody'; the agents of this team are: max, eva"
    );
    assert_eq!(error(&request(&["max"])), "name at least two members; only max is named");
    assert_eq!(error(&request(&[])), "name at least two members");
    assert_eq!(error(&request(&["max", "Max"])), "max is named twice");
    assert_eq!(
        error(&request(&["max", "ann"])),
        "ann is a person; only agents can be asked this way"
    );
    assert_eq!(
        error(&judged(&["max", "eva"], "ann")),
        "ann is a person; only agents can be asked this way"
    );
    let quorum = |quorum| AskRequest { quorum: Some(quorum), ..request(&["max", "eva"]) };
    assert_eq!(error(&quorum(3)), "a quorum of 3 cannot be reached by 2 members");
    assert_eq!(error(&quorum(0)), "the quorum must be at least 1");
    let grace = AskRequest { grace_seconds: Some(1), ..request(&["max", "eva"]) };
    assert_eq!(error(&grace), "a grace time needs a quorum");
    let all = check(&request(&["all"])).unwrap();
    let expected = Ask { reactions: true, ..all.clone() };
    assert_eq!((all.members.len(), all), (2, expected));
    assert_eq!(check(&quorum(2)).unwrap().grace_seconds, Some(30));
}
