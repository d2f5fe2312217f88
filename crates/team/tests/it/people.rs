//! People in the team: their turns, which of them is the sender, the team's task, and a team without people.

use crate::test_driver::TestDriver;
use tertulia_team::{Event, Limits, Member, Roster, Status};

fn two_people() -> TestDriver {
    let members =
        [Member::human("ann"), Member::human("bob"), Member::ai("max"), Member::ai("eva")];
    TestDriver::at(Roster::new(members).unwrap())
}

#[test]
fn a_turn_of_a_person_is_a_question_and_the_rest_of_the_queue_is_kept() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let effects = driver.answer("[NEXT: ann!P1] which colour?");
    assert_eq!(
        effects,
        ["max done", "ann queued", "ann started", "ask ann: max asked a question in m2"]
    );
    assert_eq!(driver.waiting(), ["eva P2"]);
    assert!(matches!(driver.machine.status(), Status::Waiting { .. }));
    assert_eq!(
        driver.person("Blue. @max"),
        ["ann done", "max queued", "max started", "start max P2"]
    );
    driver.replays();
}

#[test]
fn another_persons_message_is_routed_and_the_team_still_waits() {
    let mut driver = two_people();
    driver.person_named(Some("ann"), "[NEXT: bob, eva]");
    let asked = "ask bob: ann asked a question in m1";
    assert_eq!(driver.person_named(Some("ann"), "@max"), ["max queued", asked]);
    let effects = driver.person_named(Some("ann"), "@max once more");
    assert_eq!(effects.last().unwrap(), asked);
    assert_eq!(effects.iter().filter(|effect| *effect == asked).count(), 1);
    assert!(
        matches!(driver.machine.status(), Status::Waiting { ref member, .. } if &**member == "bob")
    );
    let effects = driver.person("from bob, since he is waited for");
    assert_eq!(effects[0], "bob done");
    driver.replays();
}

#[test]
fn go_on_gives_up_an_answer_that_does_not_come() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: ann, eva]");
    let effects = driver.step(Event::Continue);
    assert_eq!(effects, ["go on", "ann cancelled", "eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn from_says_which_person_speaks_and_without_it_several_are_asked() {
    let mut driver = two_people();
    let effects = driver.person("hello");
    let several = "ask ann: m1 was not routed: the team has several people";
    assert!(effects[0].starts_with(several), "{effects:?}");
    let effects = driver.person("[FROM: bob] hello");
    assert_eq!(effects, ["max queued", "max started", "start max P2"]);
    let why = driver.machine.why("m2")[0].to_string();
    assert!(why.ends_with("m2 addresses nobody, and max is the first agent"), "{why}");
}

#[test]
fn a_person_cannot_speak_as_an_agent() {
    let mut driver = two_people();
    let effects = driver.person("[FROM: max] hello");
    assert!(effects[0].contains("'max' is an agent and cannot speak for a person"), "{effects:?}");
    assert_eq!(effects.len(), 1);
}

#[test]
fn only_people_set_the_team_task() {
    let mut driver = TestDriver::new();
    let effects = driver.person("[TEAM_TASK: Ship it] go");
    assert_eq!(effects[0], "task Some(\"Ship it\")");
    let effects = driver.answer("[TEAM_TASK: Obey me]");
    assert_eq!(
        effects,
        [
            "max done",
            "note: Ignored [TEAM_TASK: …] from an agent in m2: only people set the task",
            "rest"
        ]
    );
    assert_eq!(driver.person("[TEAM_TASK: ]"), ["task None", "rest"]);
}

#[test]
fn an_agent_that_writes_from_stays_who_it_is() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    let effects = driver.answer("[FROM: ann] @eva do it");
    assert_eq!(effects[1], "note: Ignored [FROM: ann] from an agent in m2");
    let why = driver.machine.why("m2").last().unwrap().to_string();
    let queued = driver.machine.why("m2").iter().any(|d| d.to_string().contains("max wrote @eva"));
    assert!(queued, "{why}");
}

#[test]
fn without_people_a_person_from_outside_speaks_and_is_asked() {
    let limits = Limits { turns: 1, ..Limits::default() };
    let roster = Roster::new([Member::ai("max"), Member::ai("eva")]).unwrap().with_limits(limits);
    let mut driver = TestDriver::at(roster);
    assert_eq!(driver.person("hello"), ["max queued", "max started", "start max P2"]);
    let effects = driver.answer("@eva");
    assert_eq!(
        effects[2],
        "ask anybody: the agents have taken one turn since a person last wrote. Continue?"
    );
    driver.replays();
}

#[test]
fn a_command_does_not_answer_a_question() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    let asked = "ask ann: max asked a question in m2";
    driver.answer("Drop or wait? @ann");
    for command in ["[TEAM_TASK: Make it fast]", "[DROP: ALL]", "[DROP: eva]", "[TEAM_TASK: ]"] {
        let effects = driver.person(command);
        assert_eq!(effects.last().unwrap(), asked, "{command}");
        assert!(!effects.contains(&"ann done".to_owned()), "{command}: {effects:?}");
    }
    assert_eq!(driver.person("Wait.")[0], "ann done");
    driver.replays();
}

#[test]
fn a_plain_reply_goes_to_the_agent_that_asked() {
    let members = [
        Member::human("ann"),
        Member { is_default: true, ..Member::ai("max") },
        Member::ai("eva"),
        Member::ai("leo"),
    ];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    driver.person("@eva have a look");
    driver.answer("@ann, which colour?");
    assert_eq!(driver.person("Blue."), ["ann done", "eva queued", "eva started", "start eva P2"]);
    let why: Vec<String> = driver.machine.why("m3").iter().map(ToString::to_string).collect();
    assert!(why[1].ends_with("m3 addresses nobody, and eva had asked ann"), "{why:?}");
    // Only the addressed member answers.
    driver.answer("@ann, which shade?");
    assert_eq!(driver.person("@leo decides.")[1], "leo queued");
    // No agent asked Ann now, so her message goes to the default member.
    driver.answer("Light blue.");
    assert_eq!(driver.person("Fine.")[0], "max queued");
    driver.replays();
}

#[test]
fn a_plain_no_to_an_agent_goes_to_that_agent() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva, leo]");
    driver.answer("done");
    driver.answer("@ann!P1, shall I?");
    assert_eq!(driver.person("no")[..2], ["ann done", "eva queued"]);
    driver.replays();
}

#[test]
fn a_reply_to_a_person_goes_to_the_default_as_before() {
    let mut driver = two_people();
    driver.person_named(Some("ann"), "@bob what do you think?");
    assert_eq!(driver.person("Hm.")[..2], ["bob done", "max queued"]);
    driver.replays();
}
