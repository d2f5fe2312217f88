//! Failover with agents that are small programs: what the next member receives, and what waits.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and a limit ends at a time")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tertulia_agent::CommandOutput;
use tertulia_store::SessionStore;
use tertulia_team::{
    Command, Driver, EventSink, PauseReason, SessionEvent, StopReason, Team, TeamMember,
};

use crate::driver::{Heard, assert_stored, begin, scripted, shell, team, texts};

const TOOL: &str = r#"{"type":"tool_start","id":"t1","name":"Bash","input":{"command":"cargo test"}}
{"type":"tool_end","id":"t1","output":"ok","is_error":false}
"#;

/// Returns seconds since 1970 for a time that is this far ahead.
fn ahead(seconds: u64) -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds
}

/// Returns a member that prints these lines, and then reaches its usage limit.
fn limited(name: &str, lines: &str, resets_at: u64, fallback: &[&str]) -> TeamMember {
    let failed = format!(
        r#"{{"type":"error","class":"quota","message":"Claude AI usage limit reached|{resets_at}"}}"#
    );
    let script = format!("cat >/dev/null; cat <<'END'\n{lines}{failed}\nEND\n");
    with_fallback(shell(name, CommandOutput::Jsonl, &script), fallback)
}

fn with_fallback(mut member: TeamMember, names: &[&str]) -> TeamMember {
    member.member = member.member.with_fallback(names.iter().copied());
    member
}

fn run(team: Team) -> (SessionStore, Driver, StopReason) {
    let (store, mut driver) = begin(team);
    let mut heard = Heard::default();
    driver.say(None, "Please test. @max", &mut heard).unwrap();
    let stop = driver.run(&mut heard).unwrap();
    assert_stored(&store, &driver);
    (store, driver, stop)
}

#[test]
fn the_next_member_answers_and_learns_what_the_first_had_written() {
    let max = limited("max", "{\"type\":\"text\",\"text\":\"I begin.\"}\n", ahead(9000), &["eva"]);
    // Quotes its prompt, so that names in it address nobody.
    let eva = shell("eva", CommandOutput::Text, "sed 's/^/> /'");
    let (_, driver, stop) = run(team(vec![max, eva]));
    assert_eq!(stop, StopReason::Rested);
    let texts = texts(driver.entries());
    let [_, partial, report, answer] = &texts[..] else { panic!("{} messages", texts.len()) };
    assert_eq!(partial, "max: I begin.");
    assert!(report.starts_with("Tertulia: max has reached its usage limit until 20"), "{report}");
    assert!(report.ends_with("did not finish its turn. It had called no tools."), "{report}");
    for part in ["I begin.", "had called no tools", "Please test."] {
        assert!(answer.contains(part), "{answer}");
    }
}

#[test]
fn a_turn_that_called_tools_stops_and_names_them() {
    let max = limited("max", TOOL, ahead(9000), &["eva"]);
    let (store, mut driver, stop) = run(team(vec![max, scripted("eva", &["Tested."])]));
    let StopReason::Asked(question) = stop else { panic!("{stop:?}") };
    let text = question.why.to_string();
    assert!(text.ends_with("after it had called Bash. Let eva take over?"), "{text}");
    let mut heard = Heard::default();
    driver.say(None, "yes", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let texts = texts(driver.entries());
    assert!(texts[1].contains("- Bash `{\"command\":\"cargo test\"}`: done"), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "eva: Tested.");
    assert_stored(&store, &driver);
}

#[test]
fn a_rate_limit_that_ends_in_minutes_moves_no_turn() {
    let lines = r#"{"type":"error","class":"quota","message":"429 Too many requests. Please retry in 20s."}"#;
    let script = format!("cat >/dev/null; echo '{lines}'");
    let max = with_fallback(shell("max", CommandOutput::Jsonl, &script), &["eva"]);
    let (_, driver, stop) = run(team(vec![max, scripted("eva", &["Never."])]));
    assert!(
        matches!(&stop, StopReason::Asked(question) if matches!(question.why, PauseReason::Failed { .. })),
        "{stop:?}"
    );
    assert_eq!(texts(driver.entries()).len(), 1);
}

#[test]
fn the_run_ends_with_the_time_of_the_earliest_reset() {
    let (earlier, later) = (ahead(9000), ahead(20_000));
    let max = limited("max", "", later, &["eva"]);
    let eva = limited("eva", "", earlier, &[]);
    let (_, driver, stop) = run(team(vec![max, eva]));
    let StopReason::Asked(question) = stop else { panic!("{stop:?}") };
    let PauseReason::Limited { resets_at: Some(at), .. } = question.why else {
        panic!("{question:?}")
    };
    assert_eq!(at.millis(), i64::try_from(earlier * 1000).unwrap());
    assert_eq!(driver.machine().waiting().count(), 1);
}

/// Closes the driver when nothing is left to do.
struct UntilRest(tertulia_team::DriverHandle);

impl EventSink for UntilRest {
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Rested = event {
            self.0.send(Command::Close);
        }
    }
}

#[test]
fn a_waiting_turn_starts_by_itself_when_the_limit_ends() {
    let folder = tempfile::tempdir().unwrap();
    let tried = folder.path().join("tried");
    // The first attempt reaches a limit that ends soon, the second one succeeds.
    let script = format!(
        "cat >/dev/null; if [ -e {tried} ]; then echo '{{\"type\":\"text\",\"text\":\"Back.\"}}'; \
         echo '{{\"type\":\"end\"}}'; else touch {tried}; echo '{{\"type\":\"error\",\"class\":\
         \"quota\",\"message\":\"Claude AI usage limit reached|{soon}\"}}'; fi",
        tried = tried.display(),
        soon = ahead(3)
    );
    let max = with_fallback(shell("max", CommandOutput::Jsonl, &script), &["eva"]);
    let eva = limited("eva", "", ahead(9000), &[]);
    let (store, mut driver) = begin(team(vec![max, eva]));
    driver.say(None, "Please test. @max", &mut Heard::default()).unwrap();
    let mut sink = UntilRest(driver.handle());
    let watchdog = driver.handle();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(120));
        watchdog.send(Command::Close);
    });
    driver.attend(&mut sink).unwrap();
    let texts = texts(driver.entries());
    assert!(texts.iter().any(|text| text == "max: Back."), "{texts:?}");
    assert_stored(&store, &driver);
}
