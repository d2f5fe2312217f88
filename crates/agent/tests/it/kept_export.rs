//! Sessions in a database, which the agent prints: opencode, played by a shell script. Printing takes long.

use std::thread;

use tertulia_agent::{
    AgentKind, CancelToken, Drift, Ended, Memory, NativeHead, TurnReport, TurnRequest, agents, run,
};

use crate::fake_agent::{RecordingListener, await_that, request, set_supervisor};
use crate::fake_kept::{FakeMember, answer_of};

/// Every turn adds two messages to the session. `$OUT/exports` counts how often it was printed. `between` runs while it
/// is printed.
const OPENCODE: &str = r#"#!/bin/sh
DB="$HOME/.local/share/opencode/opencode.db"
mkdir -p "${DB%/*}"
if [ "$1" = export ]; then
  echo printed >>"$OUT/exports"
  printf '{"info":{"id":"ses_1"},"messages":[%s]}' "$(sed 's/$/,/' "$DB" | tr -d '\n' | sed 's/,$//')"
  between
  exit 0
fi
cat >/dev/null
number=$(($(wc -l <"$DB" 2>/dev/null || echo 0) + 1))
for role in user assistant; do
  printf '{"info":{"id":"m-%s-%s","role":"%s"},"parts":[]}\n' "$number" "$role" "$role" >>"$DB"
done
printf '{"type":"step_start","sessionID":"ses_1","part":{}}\n'
[ -e "$OUT/hang" ] && : >"$OUT/hangs" && sleep 600
printf '{"type":"text","sessionID":"ses_1","part":{"text":"answer"}}\n'
printf '{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":1,"output":1}}}\n'
"#;

fn opencode(between: &str) -> FakeMember {
    let script = OPENCODE.replace("  between\n", &format!("  {between}\n"));
    FakeMember::new(AgentKind::Cli(agents::OPENCODE), &script)
}

fn database(max: &FakeMember) -> std::path::PathBuf {
    max.agent.out("home/.local/share/opencode/opencode.db")
}

/// Adds a message, as somebody else does.
fn add_message(max: &FakeMember) {
    let path = database(max);
    let text = std::fs::read_to_string(&path).unwrap();
    let message = r#"{"info":{"id":"x","role":"user"},"parts":[]}"#;
    std::fs::write(path, format!("{text}{message}\n")).unwrap();
}

fn exports(max: &FakeMember) -> usize {
    max.agent.note("exports").lines().count()
}

fn say_until(
    max: &FakeMember,
    head: Option<&NativeHead>,
    is_time: impl Fn() -> bool + Send,
) -> TurnReport {
    set_supervisor();
    let cancel = CancelToken::new();
    let memory = match head {
        None => Memory::Begin { kept: &max.kept, member: "max" },
        Some(head) => Memory::Continue { kept: &max.kept, member: "max", head },
    };
    let request = TurnRequest { memory, ..request("go") };
    thread::scope(|scope| {
        scope.spawn(|| {
            await_that(is_time);
            cancel.cancel();
        });
        run(&max.spec, &request, &cancel, &mut RecordingListener::default())
    })
}

#[test]
fn a_session_is_printed_after_each_turn_and_again_only_if_the_database_has_changed() {
    let mut max = opencode(":");
    for turn in 1..=3 {
        answer_of(&max.say("go"));
        assert_eq!(exports(&max), turn);
    }
    add_message(&max);
    let head = max.head.clone().unwrap();
    assert_eq!(max.kept.check("max", &max.spec, None, &head), Ok(()), "the turn checks it");
    assert_eq!(exports(&max), 3, "only a turn waits until the session is printed");
    assert_eq!(max.say("go").drift, Some(Drift::Continued { messages: 1 }));
    assert_eq!(exports(&max), 4);
}

#[test]
fn a_message_that_somebody_adds_while_the_session_is_printed_is_noticed() {
    let add =
        r#"[ -e "$OUT/add" ] && printf '{"info":{"id":"x","role":"user"},"parts":[]}\n' >>"$DB""#;
    let mut max = opencode(add);
    std::fs::write(max.agent.out("add"), "").unwrap();
    answer_of(&max.say("go"));
    std::fs::remove_file(max.agent.out("add")).unwrap();
    assert_eq!(max.say("go").drift, Some(Drift::Continued { messages: 1 }));
}

#[test]
fn a_cancelled_turn_does_not_wait_until_its_session_is_printed() {
    let slow = r#": >"$OUT/prints"; [ -e "$OUT/slow" ] && sleep 600"#;
    let mut max = opencode(slow);
    answer_of(&max.say("go"));
    let head = max.head.clone().unwrap();

    // The session is printed after the turn.
    let is_there = |name: &str| max.agent.out(name).exists();
    std::fs::write(max.agent.out("slow"), "").unwrap();
    std::fs::remove_file(max.agent.out("prints")).unwrap();
    let report = say_until(&max, Some(&head), || is_there("prints"));
    assert_eq!(report.native, None);

    // The session is printed before the turn.
    std::fs::remove_file(max.agent.out("prints")).unwrap();
    let report = say_until(&max, Some(&head), || is_there("prints"));
    assert_eq!((report.ended, report.drift), (Ended::Cancelled, None));

    // The agent works.
    std::fs::remove_file(max.agent.out("prints")).unwrap();
    std::fs::write(max.agent.out("hang"), "").unwrap();
    let report = say_until(&max, None, || is_there("hangs"));
    assert_eq!((report.ended, report.native), (Ended::Cancelled, None));
    assert!(!is_there("prints"));
}
