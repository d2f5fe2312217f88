//! Tests that agents hand over by name. The models get only the request, so the names come from the list of members
//! in the prompt.

use tertulia_fake_models::{Sign, Step};

use crate::workspace::Workspace;
use crate::{CLAUDE, CODEX, COPILOT, GEMINI_ASKED, OPENCODE, PI};

/// Hands over from Max to Eva to Leo to Ann; each model gets a role and finds the name in its request.
fn hand_round(signs: [Sign; 3]) -> Workspace {
    let workspace = Workspace::new();
    let roles = [(CLAUDE, "reviewer"), (CODEX, "researcher"), (GEMINI_ASKED, "person")];
    for ((model, role), sign) in roles.into_iter().zip(signs) {
        workspace.does(model, [Step::hand_over(role, sign)]);
    }
    let run = workspace.run(&["@max how do we buffer the events?"]);
    assert_eq!(run.code, Some(0), "{run:#?}\n{:#?}", workspace.said());
    assert!(workspace.replay_is_equal());
    workspace
}

#[test]
fn a_model_that_knows_only_its_request_hands_over_by_a_mention() {
    let workspace = hand_round([Sign::Mention, Sign::Mention, Sign::Mention]);
    assert_eq!(
        workspace.said(),
        [
            "ann: @max how do we buffer the events?",
            "max: max is done. @eva, what do you think?",
            "eva: eva is done. @leo, what do you think?",
            "leo: leo is done. @ann, what do you think?",
        ]
    );
}

#[test]
fn a_model_that_knows_only_its_request_hands_over_by_a_marker() {
    let workspace = hand_round([Sign::Marker, Sign::Marker, Sign::Marker]);
    assert_eq!(
        workspace.said(),
        [
            "ann: @max how do we buffer the events?",
            "max: max is done.\n\n[NEXT: eva]",
            "eva: eva is done.\n\n[NEXT: leo]",
            "leo: leo is done.\n\n[NEXT: ann]",
        ]
    );
}

#[test]
fn every_request_names_the_sender_and_no_member_with_a_backslash() {
    let workspace = hand_round([Sign::Mention, Sign::Mention, Sign::Marker]);
    let requests = [(CLAUDE, "ann"), (CODEX, "max"), (GEMINI_ASKED, "eva")];
    for (model, sender) in requests {
        let asked = workspace.asked(model).remove(0);
        assert!(asked.user.contains(&format!("from {sender}")), "{model}: {}", asked.user);
        assert!(!asked.user.contains("\\@"), "{model}: {}", asked.user);
    }
}

#[test]
fn what_a_turn_was_sent_is_what_the_model_was_asked() {
    let workspace = hand_round([Sign::Mention, Sign::Marker, Sign::Marker]);
    for (model, member) in [(CLAUDE, "max"), (CODEX, "eva"), (GEMINI_ASKED, "leo")] {
        let asked = workspace.asked(model).remove(0);
        let turn = workspace.turn_of(member);
        let prompt = workspace.tertulia(&["context", "--turn", &turn, "--part", "prompt"]);
        assert_eq!((prompt.code, &*prompt.answers), (Some(0), &*asked.user), "{prompt:#?}");
        let system = workspace.tertulia(&["context", "--turn", &turn, "--part", "system"]);
        assert!(asked.system.contains(system.answers.trim()), "{model}: {}", asked.system);
    }
}

#[test]
fn opencode_copilot_and_pi_hand_over_to_each_other_and_then_to_the_person() {
    let workspace = Workspace::of_open_programs();
    workspace.does(OPENCODE, [Step::hand_over("reviewer", Sign::Mention)]);
    workspace.does(COPILOT, [Step::hand_over("researcher", Sign::Marker)]);
    workspace.does(PI, [Step::hand_over("person", Sign::Mention)]);
    let run = workspace.run(&["@max how do we buffer the events?"]);
    assert_eq!(run.code, Some(0), "{run:#?}\n{:#?}", workspace.said());
    assert_eq!(
        workspace.said(),
        [
            "ann: @max how do we buffer the events?",
            "max: max is done. @eva, what do you think?",
            "eva: eva is done.\n\n[NEXT: leo]",
            "leo: leo is done. @ann, what do you think?",
        ]
    );
    assert!(workspace.replay_is_equal());
    assert_eq!(workspace.processes(), [] as [String; 0]);
}

/// Tests the example of the README: two agents hand over to each other, then to the person. Only `tertulia init`
/// was run before.
#[test]
fn a_new_team_of_claude_and_codex_hands_over_and_then_asks_the_person() {
    let workspace = Workspace::of_a_new_user();
    let init = workspace.tertulia(&["init"]);
    assert_eq!(init.code, Some(0), "{init:#?}");
    workspace.does(
        CLAUDE,
        [Step::hand_over("reviewer", Sign::Mention), Step::hand_over("person", Sign::Mention)],
    );
    workspace.does(CODEX, [Step::hand_over("author", Sign::Marker)]);
    let run = workspace.tertulia(&["run", "--json", "How do we buffer the events?"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        workspace.said(),
        [
            "ann: How do we buffer the events?",
            "claude: claude is done. @codex, what do you think?",
            "codex: codex is done.\n\n[NEXT: claude]",
            "claude: claude is done. @ann, what do you think?",
        ]
    );
    let asks = r#""to":"ann","why":"answer""#;
    assert!(run.answers.contains(asks), "{run:#?}");
    assert!(workspace.replay_is_equal());
    assert_eq!(workspace.processes(), [] as [String; 0]);
}
