//! Every message has a verdict, with the right numbers and in agreement with the prompt.

use tertulia_context::{
    Assembler, ContextManager, ContextManagerOptions, ContextRequest, DropReason, Explanation,
    Outcome, PromptStatus, Section,
};
use tertulia_session::Message;

use crate::harness::{Notes, ann, ivo, lena, say};

fn with_window(context_window_size: usize) -> ContextManagerOptions {
    ContextManagerOptions { context_window_size, ..ContextManagerOptions::default() }
}

fn with_budget(max_bytes: u64) -> ContextManagerOptions {
    ContextManagerOptions { max_bytes, ..ContextManagerOptions::default() }
}

fn explain(manager: &ContextManager) -> Explanation<'_> {
    manager.explain("rosa", "claude", &ContextRequest::default())
}

/// Returns one line for each verdict, such as `msg-2 Ann: context, 17 bytes`.
fn verdicts(manager: &ContextManager) -> Vec<String> {
    let explanation = explain(manager);
    let lines = explanation.verdicts().map(|verdict| {
        let message = verdict.entry;
        let name = &message.message.speaker.as_deref().unwrap().role_name;
        let outcome = match verdict.outcome {
            Outcome::InPrompt { section: Section::Context, bytes } => {
                format!("context, {bytes} bytes")
            }
            Outcome::InPrompt { section: Section::Message, bytes } => {
                format!("message, {bytes} bytes")
            }
            Outcome::Truncated { kept_bytes, bytes } => format!("{kept_bytes} of {bytes} bytes"),
            Outcome::Dropped { reason } => match reason {
                DropReason::OutsideWindow { behind } => format!("outside the window by {behind}"),
                DropReason::Duplicate { of } => format!("repeats {of}"),
                DropReason::OverBudget { bytes } => format!("over budget, {bytes} bytes"),
                other => other.as_str().to_owned(),
            },
            other => panic!("{other:?}"),
        };
        format!("{} {name}: {outcome}", message.id)
    });
    lines.collect()
}

#[test]
fn a_small_conversation_is_explained() {
    let mut manager =
        ContextManager::new(ContextManagerOptions { max_bytes: 75, ..with_window(4) });
    say(&mut manager, &ann(), &["Good morning, all of you", "Who bakes today?"]);
    say(&mut manager, &lena(), &["Not me"]);
    say(&mut manager, &ann(), &["Ivo, would you? [NEXT: ivo]"]);
    say(&mut manager, &ivo(), &["I will. [NEXT: rosa]", "I will."]);
    insta::assert_snapshot!(verdicts(&manager).join("\n"), @r"
    msg-1 Ann: outside the window by 1
    msg-2 Ann: over budget, 30 bytes
    msg-3 Lena: over budget, 21 bytes
    msg-4 Ann: context, 29 bytes
    msg-5 Ivo: repeats msg-6
    msg-6 Ivo: message, 7 bytes
    ");
    insta::assert_snapshot!(explain(&manager).prompt().to_text(), @r"
    [CONTEXT]
    - Ann -> all: Ivo, would you?

    [MESSAGE]
    I will.
    ");
}

#[test]
fn a_conversation_of_nothing_has_no_verdicts() {
    assert!(verdicts(&ContextManager::default()).is_empty());
}

#[test]
fn messages_before_the_window_say_how_far() {
    let mut manager = ContextManager::new(with_window(1));
    say(&mut manager, &ann(), &["1", "2", "3", "4"]);
    assert_eq!(
        verdicts(&manager),
        [
            "msg-1 Ann: outside the window by 2",
            "msg-2 Ann: outside the window by 1",
            "msg-3 Ann: context, 15 bytes",
            "msg-4 Ann: message, 1 bytes",
        ]
    );
    let mut manager = ContextManager::new(with_window(0));
    say(&mut manager, &ann(), &["1", "2"]);
    assert_eq!(
        verdicts(&manager),
        ["msg-1 Ann: outside the window by 1", "msg-2 Ann: message, 1 bytes"]
    );
}

#[test]
fn a_repetition_names_what_it_repeats() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ivo(), &["Done.", "Done."]);
    assert_eq!(verdicts(&manager), ["msg-1 Ivo: repeats msg-2", "msg-2 Ivo: message, 5 bytes"]);
}

#[test]
fn a_repetition_does_not_hide_that_others_are_over_the_budget() {
    let mut manager = ContextManager::new(with_budget(15));
    say(&mut manager, &ann(), &["too long for this"]);
    say(&mut manager, &ivo(), &["Done.", "Done."]);
    assert_eq!(
        verdicts(&manager),
        [
            "msg-1 Ann: over budget, 31 bytes",
            "msg-2 Ivo: repeats msg-3",
            "msg-3 Ivo: message, 5 bytes",
        ]
    );
}

#[test]
fn a_message_in_part_says_which_part() {
    let mut manager = ContextManager::new(with_budget(16));
    say(&mut manager, &ann(), &["before", "  hello there "]);
    assert_eq!(
        verdicts(&manager),
        ["msg-1 Ann: over budget, 20 bytes", "msg-2 Ann: 6 of 11 bytes"]
    );
}

#[test]
fn a_message_that_is_left_out_says_what_it_would_take() {
    let mut manager = ContextManager::new(with_budget(10));
    say(&mut manager, &ann(), &["hello"]);
    assert_eq!(verdicts(&manager), ["msg-1 Ann: over budget, 5 bytes"]);
    manager.set_team_task("longer than that");
    assert_eq!(verdicts(&manager), ["msg-1 Ann: over budget, 5 bytes"]);
    assert_eq!(explain(&manager).prompt().status(), PromptStatus::OverBudget);
}

#[test]
fn a_message_of_markers_is_empty_as_the_current_one_only() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["[NEXT: ivo]", " [NEXT: ivo] \n"]);
    assert_eq!(verdicts(&manager), ["msg-1 Ann: context, 14 bytes", "msg-2 Ann: empty"]);
}

#[test]
fn every_message_has_exactly_one_verdict_in_order() {
    let mut manager = ContextManager::new(with_budget(300));
    for n in 0..100 {
        let text = "x".repeat(n % 40);
        manager.add_message(Message::said(if n % 3 == 0 { ann() } else { ivo() }, text)).unwrap();
        let explanation = explain(&manager);
        let judged: Vec<_> = explanation.verdicts().map(|verdict| &verdict.entry.id).collect();
        let all: Vec<_> = manager.messages().map(|message| &message.id).collect();
        assert_eq!(judged, all);
    }
}

#[test]
fn the_verdicts_add_up_to_the_sections_of_the_prompt() {
    for max_bytes in 0..260 {
        let mut manager =
            ContextManager::new(ContextManagerOptions { max_bytes, ..with_window(4) });
        manager.set_team_task("tea");
        for (n, speaker) in [ann(), ivo(), lena(), ann(), ivo(), ivo()].iter().enumerate() {
            let text = if n >= 4 { "the same twice".to_owned() } else { "é".repeat(n * 5) };
            say(&mut manager, speaker, &[&text]);
        }
        let explanation = explain(&manager);
        let (mut lines, mut message) = (Vec::new(), 0);
        for verdict in explanation.verdicts() {
            match verdict.outcome {
                Outcome::InPrompt { section: Section::Context, bytes } => lines.push(bytes),
                Outcome::InPrompt { section: Section::Message, bytes: kept }
                | Outcome::Truncated { kept_bytes: kept, .. } => message = kept,
                _ => {}
            }
        }
        let prompt = explanation.prompt();
        let header = |body: usize, header: &str| if body == 0 { 0 } else { header.len() + body };
        let breaks = lines.len().saturating_sub(1);
        let context = lines.iter().sum::<usize>() + breaks;
        assert_eq!(lines.len(), prompt.kept_context());
        assert_eq!(prompt.bytes().context, header(context, "[CONTEXT]\n"));
        assert_eq!(prompt.bytes().message, header(message, "[MESSAGE]\n"));
        assert_eq!(prompt.bytes().total(), prompt.to_text().len());
    }
}

#[test]
fn an_explanation_is_of_the_prompt_that_the_agent_gets() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["1", "2", "3"]);
    let request = ContextRequest {
        window_size: Some(1),
        system_instruction: Some("be kind"),
        ..ContextRequest::default()
    };
    for agent_type in ["claude", "codex", "gemini", "llama"] {
        let explanation = manager.explain("rosa", agent_type, &request);
        let input = manager.get_context_for_agent("rosa", agent_type, &request);
        assert_eq!(explanation.input(), &input);
        assert_eq!(explanation.prompt().output(), manager.assemble_prompt(agent_type, &input));
    }
}

#[test]
fn an_explanation_is_reported_and_not_logged() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(ContextManagerOptions {
        log_sink: Some(notes.sink()),
        ..with_budget(12)
    });
    say(&mut manager, &ann(), &["hello"]);
    notes.read();
    let explanation = explain(&manager);
    assert_eq!(explanation.verdicts().count(), 1);
    assert_eq!(explanation.prompt().warnings().count(), 1);
    assert!(notes.read().is_empty());
}

#[test]
fn an_explanation_may_be_in_a_format_of_the_callers_choice() {
    let mut manager = ContextManager::new(ContextManagerOptions {
        member_windows: [("google-gemini".to_owned(), 1), ("unknown".to_owned(), 2)].into(),
        ..ContextManagerOptions::default()
    });
    say(&mut manager, &ann(), &["1", "2", "3", "4"]);
    let explained = |assembler: Assembler| {
        let explanation = manager.explain_in(assembler.clone(), "rosa", &ContextRequest::default());
        assert_eq!(explanation.assembler(), &assembler);
        explanation.prompt().to_text()
    };
    assert_eq!(
        explained(Assembler::gemini().with_message_header("Now:")),
        "Conversation so far:\n- Ann: 3\n\nNow:\n4"
    );
    assert_eq!(explained(Assembler::plain_text()), "Ann: 2\nAnn: 3\n\n4");
}
