//! The time when a usage limit ends, in the report of a failed turn.

use std::time::{SystemTime, UNIX_EPOCH};

use tertulia_agent::{AgentKind, agents};
use tertulia_dialect::stream::LimitScope;

use crate::fake_agent::{FakeAgent, play};

fn millis() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Runs a Codex that fails with this message.
fn failed(message: &str) -> (Option<LimitScope>, Option<i64>) {
    let script = format!(
        r#"cat >/dev/null
cat <<'END'
{{"type":"thread.started","thread_id":"t"}}
{{"type":"turn.started"}}
{{"type":"turn.failed","error":{{"message":"{message}"}}}}
END
exit 1
"#
    );
    let report = play(&FakeAgent::new(&script).spec(AgentKind::Cli(agents::CODEX)), "Hello");
    let limit = report.output.error.unwrap().limit;
    (limit.map(|limit| limit.scope), report.limit_resets_at.map(|at| at.millis()))
}

#[test]
fn a_wait_counts_from_the_end_of_the_turn() {
    const TWO_HOURS: i64 = 2 * 3600 * 1000;
    let before = millis();
    let (scope, reset) = failed("You've hit your usage limit. Try again in 2 hours.");
    assert_eq!(scope, Some(LimitScope::Unknown));
    let reset = reset.unwrap();
    assert!((before + TWO_HOURS..=millis() + TWO_HOURS).contains(&reset), "{before} {reset}");
}

#[test]
fn a_time_of_day_is_within_a_day_in_a_named_zone_and_in_the_local_one() {
    const DAY: i64 = 25 * 3600 * 1000;
    for resets in ["3pm", "3pm (UTC)"] {
        let before = millis();
        let (_, reset) = failed(&format!("You've hit your session limit · resets {resets}"));
        let reset = reset.unwrap();
        assert!((before..=millis() + DAY).contains(&reset), "{resets}: {before} {reset}");
    }
}

#[test]
fn an_unusable_time_or_another_failure_has_no_reset() {
    let late = "You've hit your usage limit. Try again in 3 months and 50 days.";
    assert_eq!(failed(late), (Some(LimitScope::Unknown), None));
    assert_eq!(failed("stream disconnected. Try again in 2 hours."), (None, None));
}
