//! A member that is an endpoint: it gets model messages. If they are too long, it gets fewer of them, once.

use std::collections::BTreeMap;

use tertulia_agent::{AgentKind, AgentSpec, Endpoint, Permissions, Timeouts};
use tertulia_fake_models::{Asked, FakeModels, Script, Step};
use tertulia_session::{EntryKind, TurnActivity, TurnState};
use tertulia_store::SessionStore;
use tertulia_team::{Driver, Limits, SentPrompt, Team, TeamMember, sent_prompt};

use crate::driver::{Heard, notes, scripted};

fn endpoint(models: &FakeModels) -> TeamMember {
    let base_url = format!("{}/v1", models.url()).into();
    let spec = AgentSpec {
        kind: AgentKind::OpenAi(Endpoint { base_url, key_variable: None }),
        program: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        model: Some("some-model".into()),
        cwd: std::env::temp_dir(),
        permissions: Permissions::Read,
        timeouts: Timeouts::default(),
        limits: tertulia_dialect::stream::Limits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    };
    let mut member = TeamMember::agent("max", spec);
    member.instruction = Some("You are Max.".to_owned());
    member
}

fn begin(models: &FakeModels) -> Driver {
    let long = "Many words about the queue and its limits. ".repeat(40);
    let members =
        vec![TeamMember::person("ann"), endpoint(models), scripted("eva", &[long.as_str()])];
    let team = Team::new(members, Limits::default(), Some("Ship it".to_owned())).unwrap();
    Driver::begin(&SessionStore::memory(), None, team, false).unwrap()
}

#[test]
fn an_endpoint_gets_the_conversation_as_messages_of_its_own() {
    let models = FakeModels::start(Script::new([Step::text("Fine."), Step::text("Yes.")])).unwrap();
    let mut driver = begin(&models);
    let mut heard = Heard::default();
    driver.say(None, "@max are we ready?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@max really?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let asked = models.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].system.contains("You are Max.") && asked[0].system.contains("Ship it"));
    assert!(asked[0].system.starts_with("You are max, a member of a team"), "{}", asked[0].system);
    assert_eq!(asked[1].user, "ann -> max: @max really?");
    // Its own answers have the role of the assistant; messages of others have a label.
    assert!(asked[1].body.contains(r#""role":"assistant","content":"Fine.""#), "{}", asked[1].body);
    assert!(asked[1].body.contains("ann -> max: @max are we ready?"), "{}", asked[1].body);
}

#[test]
fn an_overflow_of_an_endpoint_is_tried_once_more_with_less() {
    let models = FakeModels::start(Script::new([Step::Overflow, Step::text("Now it fits.")]));
    let models = models.unwrap();
    let mut driver = begin(&models);
    let mut heard = Heard::default();
    for _ in 0..6 {
        driver.say(None, "@eva more, please.", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "@max what do you think?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let asked = models.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].bytes < asked[0].bytes, "{} and {}", asked[0].bytes, asked[1].bytes);
    assert_eq!(asked[1].user, "ann -> max: @max what do you think?");
    let notes = notes(driver.entries());
    let is_told = matches!(notes[..], [TurnActivity::Retried { .. }, TurnActivity::Resent { .. }]);
    assert!(is_told, "{notes:?}");
    assert!(heard.lines.iter().any(|line| line.contains("Now it fits.")));
}

/// Returns whether the messages of a request equal those that the log records as sent.
fn is_same(asked: &Asked, sent: &SentPrompt) -> bool {
    let messages = |json: &str| {
        let body: serde_json::Value = serde_json::from_str(json).unwrap();
        body["messages"].clone()
    };
    messages(&asked.body) == messages(&sent.text)
}

#[test]
fn both_requests_of_a_turn_that_was_sent_twice_can_be_read_again() {
    let models = FakeModels::start(Script::new([Step::Overflow, Step::text("Now it fits.")]));
    let models = models.unwrap();
    let mut driver = begin(&models);
    let mut heard = Heard::default();
    for _ in 0..6 {
        driver.say(None, "@eva more, please.", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "@max what do you think?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let entries = driver.entries();
    let start = entries.iter().rfind(
        |entry| matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == TurnState::Started),
    );
    let first = sent_prompt(entries, &start.unwrap().id).unwrap();
    let second = sent_prompt(entries, &first.turn).unwrap();
    assert_eq!((first.is_second, second.is_second), (false, true));
    let asked = models.asked();
    assert!(is_same(&asked[0], &first), "{}\n{}", asked[0].body, first.text);
    assert!(is_same(&asked[1], &second), "{}\n{}", asked[1].body, second.text);
}

#[test]
fn a_request_that_was_shortened_can_be_read_again_and_holds_no_words_of_its_own() {
    let models = FakeModels::start(Script::new([Step::text("Fine.")])).unwrap();
    let store = SessionStore::memory();
    let mut max = endpoint(&models);
    max.budget_tokens = 900;
    let answers: Vec<String> = (0..12)
        .map(|number| format!("We decided on port {number}4711 for the gateway. ").repeat(8))
        .collect();
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let members = vec![TeamMember::person("ann"), max, scripted("eva", &answers)];
    let team = Team::new(members, Limits::default(), None).unwrap();
    let mut driver = Driver::begin(&store, None, team, false).unwrap();
    let mut heard = Heard::default();
    for _ in 0..12 {
        driver.say(None, "@eva which port has the gateway?", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "@max what do you think?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let asked = models.asked().remove(0);
    let start = driver.entries().iter().rfind(
        |entry| matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == TurnState::Started),
    );
    let start = start.unwrap();
    let sent = sent_prompt(driver.entries(), &start.id).unwrap();
    assert!(is_same(&asked, &sent), "{}\n{}", asked.body, sent.text);
    assert!(asked.body.len() < 8_000, "it was not shortened: {}", asked.body);
    let EntryKind::Turn(turn) = &start.kind else { panic!("{start:?}") };
    let recipe = turn.prompt_recipe.as_ref().unwrap().as_str();
    assert!(!recipe.contains("4711"), "{recipe}");
}

/// Returns the messages of a request.
fn messages(asked: &Asked) -> Vec<serde_json::Value> {
    let body: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

#[test]
fn what_an_endpoint_was_sent_is_the_beginning_of_what_it_is_sent_next() {
    let models = FakeModels::start(Script::new([Step::text("Fine."), Step::text("Yes.")])).unwrap();
    let members = vec![TeamMember::person("ann"), endpoint(&models), scripted("eva", &["Blue."])];
    let team = Team::new(members, Limits::default(), None).unwrap();
    let mut driver = Driver::begin(&SessionStore::memory(), None, team, false).unwrap();
    let mut heard = Heard::default();
    // Eva answers first, so the message that max answers is not the newest one.
    driver.say(None, "@eva @max which colour?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@max really?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let asked = models.asked();
    let (mut first, second) = (messages(&asked[0]), messages(&asked[1]));
    assert_eq!(asked[0].user, "ann -> eva, max: @eva @max which colour?");
    assert_eq!(asked[1].user, "ann -> max: @max really?");
    // The answered message is repeated at the end, after the messages that stay unchanged.
    let again = first.pop().unwrap();
    assert_eq!(again, first[1]);
    assert_eq!(second[..first.len()], first);
    let start = driver.entries().iter().find(|entry| {
        matches!(&entry.kind, EntryKind::Turn(turn)
            if turn.state == TurnState::Started && &*turn.member == "max")
    });
    let sent = sent_prompt(driver.entries(), &start.unwrap().id).unwrap();
    assert!(is_same(&asked[0], &sent), "{}\n{}", asked[0].body, sent.text);
}

#[test]
fn what_an_endpoint_no_longer_gets_comes_back_by_recall_and_can_be_read_again() {
    let models = FakeModels::start(Script::new([Step::text("48213.")])).unwrap();
    let mut max = endpoint(&models);
    max.window = 4;
    let mut eva = scripted("eva", &["Understood."]);
    eva.window = 4;
    let team = Team::new(vec![TeamMember::person("ann"), max, eva], Limits::default(), None);
    let mut driver = Driver::begin(&SessionStore::memory(), None, team.unwrap(), false).unwrap();
    let mut heard = Heard::default();
    let first = "@eva The gateway listens here:\n- ann -> max: port 48213";
    driver.say(None, first, &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    for number in 0..40 {
        let text = format!("@eva Another matter, number {number}, is this and that.");
        driver.say(None, &text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "@max Which port has the gateway?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let asked = models.asked().remove(0);
    assert!(asked.body.contains("[summary of "), "{}", asked.body);
    let recall = messages(&asked).pop().unwrap();
    let text = recall["content"].as_str().unwrap();
    assert!(text.starts_with("Earlier passages of this conversation"), "{text}");
    assert!(text.contains(" from ann]: ") && text.contains("48213"), "{text}");
    // Only the program writes at the left margin.
    let is_own = |line: &str| line.starts_with("- [recalled ") || line.starts_with("Earlier");
    assert!(text.lines().all(|line| is_own(line) || line.starts_with("  ")), "{text}");
    let start = driver.entries().iter().rfind(
        |entry| matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == TurnState::Started),
    );
    let start = start.unwrap();
    let sent = sent_prompt(driver.entries(), &start.id).unwrap();
    assert!(is_same(&asked, &sent), "{}\n{}", asked.body, sent.text);
    let EntryKind::Turn(turn) = &start.kind else { panic!("{start:?}") };
    let recipe = turn.prompt_recipe.as_ref().unwrap().as_str();
    assert!(!recipe.contains("48213"), "{recipe}");
}

#[test]
fn an_endpoint_that_is_over_its_budget_is_cut_now_and_then_and_keeps_what_it_was_sent_in_between() {
    const TURNS: usize = 14;
    let answers: Vec<Step> = (0..TURNS)
        .map(|number| Step::text(&format!("Port {number}4711 is for the gateway. ").repeat(16)))
        .collect();
    let models = FakeModels::start(Script::new(answers)).unwrap();
    let store = SessionStore::memory();
    let members = || {
        let mut max = endpoint(&models);
        max.budget_tokens = 1_400;
        let members = vec![TeamMember::person("ann"), max, scripted("eva", &["Blue."])];
        Team::new(members, Limits::default(), None).unwrap()
    };
    let mut driver = Driver::begin(&store, None, members(), false).unwrap();
    let session = driver.session().clone();
    let mut heard = Heard::default();
    let mut cut_at = Vec::new();
    for number in 0..TURNS {
        // A reopened session continues in the same state.
        if number % 4 == 3 {
            drop(driver);
            driver = Driver::reopen(&store, &session, members(), false, &mut heard).unwrap().driver;
        }
        let before = cuts(&driver);
        driver.say(None, "@max and which port has the next one?", &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
        if cuts(&driver) > before {
            cut_at.push(number);
        }
        let start = driver.entries().iter().rfind(|entry| {
            matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == TurnState::Started)
        });
        let sent = sent_prompt(driver.entries(), &start.unwrap().id).unwrap();
        assert!(is_same(models.asked().last().unwrap(), &sent), "{}", sent.text);
    }
    assert!((2..=TURNS / 2).contains(&cut_at.len()), "{cut_at:?}");
    // Between two cuts, each request begins with all of the previous one. Only the recalled passages differ.
    let is_recall = |message: &serde_json::Value| {
        message["content"].as_str().is_some_and(|text| text.starts_with("Earlier passages"))
    };
    let history = |asked: &Asked| -> Vec<serde_json::Value> {
        messages(asked).into_iter().filter(|message| !is_recall(message)).collect()
    };
    let asked: Vec<_> = models.asked().iter().map(history).collect();
    assert_eq!(asked.len(), TURNS);
    for number in (1..TURNS).filter(|number| !cut_at.contains(number)) {
        let (old, new) = (&asked[number - 1], &asked[number]);
        assert_eq!(new[..old.len()], old[..], "turn {number} of {cut_at:?}");
    }
    // The cuts belong to max alone: prompts of other members do not use them.
    let prompt = driver.prompt_for("eva").unwrap();
    assert!(!prompt.text.contains("[summary of "), "{}", prompt.text);
}

/// Returns how often the context of a single member was cut.
fn cuts(driver: &Driver) -> usize {
    let is_cut = |kind: &EntryKind| match kind {
        EntryKind::CompactionSummary(summary) => summary.member.as_deref() == Some("max"),
        EntryKind::ContextCut(cut) => cut.member.as_deref() == Some("max"),
        _ => false,
    };
    driver.entries().iter().filter(|entry| is_cut(&entry.kind)).count()
}
