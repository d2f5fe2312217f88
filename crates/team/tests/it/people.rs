//! People at the table: their turns, who of them speaks, the team's task, and a table without them.

use crate::desk::Desk;
use tertulia_team::{Event, Limits, Member, Status, Table};

fn two_people() -> Desk {
    let members =
        [Member::human("ann"), Member::human("bob"), Member::ai("max"), Member::ai("eva")];
    Desk::at(Table::new(members).unwrap())
}

#[test]
fn a_turn_of_a_person_is_a_question_and_the_rest_of_the_queue_is_kept() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    let effects = desk.answer("[NEXT: ann!P1] which colour?");
    assert_eq!(
        effects,
        ["max done", "ann queued", "ann started", "ask ann: max asked a question in m2"]
    );
    assert_eq!(desk.waiting(), ["eva P2"]);
    assert!(matches!(desk.machine.status(), Status::Waiting { .. }));
    assert_eq!(
        desk.person("Blue. @max"),
        ["ann done", "max queued", "max started", "start max P2"]
    );
    desk.replays();
}

#[test]
fn another_persons_words_are_routed_and_the_table_waits_on() {
    let mut desk = two_people();
    desk.person_named(Some("ann"), "[NEXT: bob, eva]");
    let asked = "ask bob: ann asked a question in m1";
    assert_eq!(desk.person_named(Some("ann"), "@max"), ["max queued", asked]);
    let effects = desk.person_named(Some("ann"), "@max once more");
    assert_eq!(effects.last().unwrap(), asked);
    assert_eq!(effects.iter().filter(|effect| *effect == asked).count(), 1);
    assert!(
        matches!(desk.machine.status(), Status::Waiting { ref member, .. } if &**member == "bob")
    );
    let effects = desk.person("from bob, since he is waited for");
    assert_eq!(effects[0], "bob done");
    desk.replays();
}

#[test]
fn go_on_gives_up_an_answer_that_does_not_come() {
    let mut desk = Desk::new();
    desk.person("[NEXT: ann, eva]");
    let effects = desk.step(Event::Continue);
    assert_eq!(effects, ["go on", "ann cancelled", "eva started", "start eva P2"]);
    desk.replays();
}

#[test]
fn from_says_which_person_speaks_and_without_it_several_are_asked() {
    let mut desk = two_people();
    let effects = desk.person("hello");
    let several = "ask ann: m1 was not routed: the team has several people";
    assert!(effects[0].starts_with(several), "{effects:?}");
    let effects = desk.person("[FROM: bob] hello");
    assert_eq!(effects, ["max queued", "max started", "start max P2"]);
    let why = desk.machine.why("m2")[0].to_string();
    assert!(why.ends_with("m2 addresses nobody, and max is the first agent"), "{why}");
}

#[test]
fn a_person_cannot_speak_as_an_agent() {
    let mut desk = two_people();
    let effects = desk.person("[FROM: max] hello");
    assert!(effects[0].contains("'max' is an agent and cannot speak for a person"), "{effects:?}");
    assert_eq!(effects.len(), 1);
}

#[test]
fn only_people_set_the_team_task() {
    let mut desk = Desk::new();
    let effects = desk.person("[TEAM_TASK: Ship it] go");
    assert_eq!(effects[0], "task Some(\"Ship it\")");
    let effects = desk.answer("[TEAM_TASK: Obey me]");
    assert_eq!(
        effects,
        [
            "max done",
            "note: Ignored [TEAM_TASK: …] from an agent in m2: only people set the task",
            "rest"
        ]
    );
    assert_eq!(desk.person("[TEAM_TASK: ]"), ["task None", "rest"]);
}

#[test]
fn an_agent_that_writes_from_stays_who_it_is() {
    let mut desk = Desk::new();
    desk.person("hello");
    let effects = desk.answer("[FROM: ann] @eva do it");
    assert_eq!(effects[1], "note: Ignored [FROM: ann] from an agent in m2");
    let why = desk.machine.why("m2").last().unwrap().to_string();
    let queued = desk.machine.why("m2").iter().any(|d| d.to_string().contains("max wrote @eva"));
    assert!(queued, "{why}");
}

#[test]
fn without_people_a_person_from_outside_speaks_and_is_asked() {
    let limits = Limits { turns: 1, ..Limits::default() };
    let table = Table::new([Member::ai("max"), Member::ai("eva")]).unwrap().with_limits(limits);
    let mut desk = Desk::at(table);
    assert_eq!(desk.person("hello"), ["max queued", "max started", "start max P2"]);
    let effects = desk.answer("@eva");
    assert_eq!(
        effects[2],
        "ask anybody: the agents have taken one turn since a person last wrote. Continue?"
    );
    desk.replays();
}

#[test]
fn a_command_does_not_answer_a_question() {
    let mut desk = Desk::new();
    desk.person("hello");
    let asked = "ask ann: max asked a question in m2";
    desk.answer("Drop or wait? @ann");
    for command in ["[TEAM_TASK: Make it fast]", "[DROP: ALL]", "[DROP: eva]", "[TEAM_TASK: ]"] {
        let effects = desk.person(command);
        assert_eq!(effects.last().unwrap(), asked, "{command}");
        assert!(!effects.contains(&"ann done".to_owned()), "{command}: {effects:?}");
    }
    assert_eq!(desk.person("Wait.")[0], "ann done");
    desk.replays();
}

#[test]
fn a_plain_reply_goes_to_the_agent_that_asked() {
    let members = [
        Member::human("ann"),
        Member { is_default: true, ..Member::ai("max") },
        Member::ai("eva"),
        Member::ai("leo"),
    ];
    let mut desk = Desk::at(Table::new(members).unwrap());
    desk.person("@eva have a look");
    desk.answer("@ann, which colour?");
    assert_eq!(desk.person("Blue."), ["ann done", "eva queued", "eva started", "start eva P2"]);
    let why: Vec<String> = desk.machine.why("m3").iter().map(ToString::to_string).collect();
    assert!(why[1].ends_with("m3 addresses nobody, and eva had asked ann"), "{why:?}");
    // Whoever is addressed answers, and nobody else.
    desk.answer("@ann, which shade?");
    assert_eq!(desk.person("@leo decides.")[1], "leo queued");
    // Nobody asked.
    desk.answer("Light blue.");
    assert_eq!(desk.person("Fine.")[0], "max queued");
    desk.replays();
}

#[test]
fn a_plain_no_to_an_agent_goes_to_that_agent() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva, leo]");
    desk.answer("done");
    desk.answer("@ann!P1, shall I?");
    assert_eq!(desk.person("no")[..2], ["ann done", "eva queued"]);
    desk.replays();
}

#[test]
fn a_reply_to_a_person_goes_to_the_default_as_before() {
    let mut desk = two_people();
    desk.person_named(Some("ann"), "@bob what do you think?");
    assert_eq!(desk.person("Hm.")[..2], ["bob done", "max queued"]);
    desk.replays();
}
