//! A member whose plan is used up is replaced by the next one, with the real programs.

use tertulia_fake_models::Step;

use crate::workspace::Workspace;
use crate::{CLAUDE, CODEX, GEMINI_ASKED};

#[test]
fn the_request_moves_from_claude_to_codex_to_gemini_when_their_plans_are_used_up() {
    let workspace = Workspace::with_fallbacks();
    workspace.does(CLAUDE, [Step::UsageLimit]);
    workspace.does(CODEX, [Step::UsageLimit]);
    workspace.says(GEMINI_ASKED, "A ring buffer of 50.");
    let run = workspace.run(&["@max how do we buffer the events?"]);
    assert_eq!(run.code, Some(0), "{run:#?}\n{:#?}", workspace.said());
    let said = workspace.said();
    let [_, max, eva, answer] = &said[..] else { panic!("{said:#?}") };
    assert!(max.starts_with("Tertulia: max has reached its usage limit"), "{max}");
    assert!(eva.starts_with("Tertulia: eva has reached its usage limit"), "{eva}");
    assert_eq!(answer, "leo: A ring buffer of 50.");
    let asked = workspace.asked(GEMINI_ASKED).remove(0);
    for part in ["how do we buffer the events?", "max has reached", "eva has reached"] {
        assert!(asked.user.contains(part), "{part}: {}", asked.user);
    }
    // Claude Code retries by itself, Codex does not.
    assert_eq!(workspace.asked(CODEX).len(), 1);
    assert!(workspace.replay_is_equal());
    assert_eq!(workspace.processes(), [] as [String; 0]);
}

#[test]
fn when_all_plans_are_used_up_the_run_ends_with_the_time_of_the_first_reset() {
    let workspace = Workspace::with_fallbacks();
    for model in [CLAUDE, CODEX, GEMINI_ASKED] {
        workspace.does(model, [Step::UsageLimit, Step::UsageLimit]);
    }
    let run = workspace.run(&["@max how do we buffer the events?"]);
    assert_eq!(run.code, Some(3), "{run:#?}\n{:#?}", workspace.said());
    assert!(run.talk.contains("nobody else can take over before 20"), "{run:#?}");
    assert!(workspace.replay_is_equal());
}
