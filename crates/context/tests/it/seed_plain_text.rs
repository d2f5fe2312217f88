//! The 21 tests that the contract names for plain text, in its order: 4 of assembling, 5 of the
//! format, 5 of empty sections, 4 of the budget, 3 of the fallback.

use tertulia_context::{Assembler, AssemblerInput, AssemblerOutput, ContextManager, PromptStatus};

use crate::harness::{Notes, ann_said, context, everything, line, nothing, within};

fn assemble(input: &AssemblerInput<'_>) -> AssemblerOutput {
    Assembler::plain_text().assemble(input)
}

// Assembling: 4.

#[test]
fn agent_type_is_unknown() {
    assert_eq!(Assembler::plain_text().agent_type().as_str(), "unknown");
}

#[test]
fn produces_plain_text_output_without_markers() {
    assert_eq!(
        assemble(&everything()).prompt,
        "You are Ivo.\n\nMind the cups.\n\nHave breakfast\n\n\
         ann: Is the kettle on?\nivo: It whistles.\n\nThen pour the tea."
    );
}

#[test]
fn returns_no_system_flag() {
    assert_eq!(assemble(&everything()).system_flag, None);
    assert_eq!(assemble(&nothing()).system_flag, None);
}

#[test]
fn joins_parts_with_double_newlines() {
    let prompt = assemble(&everything()).prompt;
    assert_eq!(prompt.split("\n\n").count(), 5);
    assert!(!prompt.contains("\n\n\n"));
}

// The format: 5.

#[test]
fn outputs_system_instruction_without_title() {
    let input = AssemblerInput { system_instruction: Some(" You are Ivo. ".into()), ..nothing() };
    assert_eq!(assemble(&input).prompt, "You are Ivo.");
}

#[test]
fn outputs_team_task_without_title() {
    let input = AssemblerInput { team_task: Some(" Have  breakfast\n".into()), ..nothing() };
    assert_eq!(assemble(&input).prompt, "Have  breakfast");
}

#[test]
fn outputs_context_messages_as_from_and_content() {
    let input = AssemblerInput {
        context_messages: vec![line("ann", None, "Tea?"), line("ivo", None, " Yes: tea. ")],
        ..nothing()
    };
    assert_eq!(assemble(&input).prompt, "ann: Tea?\nivo:  Yes: tea. ");
}

#[test]
fn outputs_current_message_without_title() {
    let input = AssemblerInput { current_message: "Then pour.".into(), ..nothing() };
    assert_eq!(assemble(&input).prompt, "Then pour.");
}

#[test]
fn omits_addressees_from_context() {
    let input = AssemblerInput {
        context_messages: vec![line("ann", Some("somebody"), "Tea?")],
        ..nothing()
    };
    assert_eq!(assemble(&input).prompt, "ann: Tea?");
}

// Empty sections: 5.

#[test]
fn omits_system_body_when_both_instructions_missing() {
    let input = AssemblerInput {
        system_instruction: None,
        instruction_file_text: Some(" ".into()),
        ..everything()
    };
    assert!(assemble(&input).prompt.starts_with("Have breakfast\n\nann: "));
}

#[test]
fn omits_team_task_when_none() {
    let prompt = assemble(&AssemblerInput { team_task: None, ..everything() }).prompt;
    assert!(prompt.starts_with("You are Ivo.\n\nMind the cups.\n\nann: "), "{prompt}");
}

#[test]
fn omits_context_when_empty_list() {
    let prompt = assemble(&AssemblerInput { context_messages: Vec::new(), ..everything() }).prompt;
    assert!(prompt.ends_with("\n\nHave breakfast\n\nThen pour the tea."), "{prompt}");
}

#[test]
fn omits_current_message_when_empty_string() {
    let prompt = assemble(&AssemblerInput { current_message: "".into(), ..everything() }).prompt;
    assert!(prompt.ends_with("\nivo: It whistles."), "{prompt}");
}

#[test]
fn returns_empty_prompt_when_all_parts_empty() {
    assert_eq!(assemble(&nothing()).prompt, "");
}

// The budget: 4.

#[test]
fn budget_returns_unchanged_when_within() {
    let whole = assemble(&everything());
    assert_eq!(assemble(&within(whole.prompt.len() as u64, everything())), whole);
}

#[test]
fn budget_trims_oldest_context_messages_first() {
    let size = assemble(&everything()).prompt.len() as u64;
    let output = assemble(&within(size - 1, everything()));
    assert_eq!(
        output.prompt,
        "You are Ivo.\n\nMind the cups.\n\nHave breakfast\n\nivo: It whistles.\n\n\
         Then pour the tea."
    );
    assert_eq!(output.status, PromptStatus::ContextTrimmed);
}

#[test]
fn budget_preserves_system_body() {
    for max_bytes in 0..120 {
        let prompt = assemble(&within(max_bytes, everything())).prompt;
        assert!(prompt.starts_with("You are Ivo.\n\nMind the cups."), "{max_bytes}");
    }
}

#[test]
fn budget_preserves_team_task() {
    for max_bytes in 0..120 {
        let prompt = assemble(&within(max_bytes, everything())).prompt;
        assert!(prompt.contains("\n\nHave breakfast"), "{max_bytes}");
    }
}

// The fallback: 3.

#[test]
fn manager_uses_plain_text_for_unknown_agent_type() {
    let output = ContextManager::default().assemble_prompt("llama", &everything());
    assert_eq!(output, assemble(&everything()));
}

#[test]
fn manager_logs_warning_for_unknown_agent_type() {
    let notes = Notes::default();
    notes.logged().assemble_prompt("llama", &nothing());
    let [warning] = &notes.read()[..] else { panic!("one warning") };
    assert!(warning.starts_with("warn [ContextManager] Unknown agentType \"llama\""), "{warning}");
    assert!(warning.ends_with("using PlainTextAssembler"), "{warning}");
}

#[test]
fn manager_produces_valid_output_for_unknown_agent_type() {
    let manager = ann_said(&["Tea? [NEXT: ivo]", "Now."]);
    let output = manager.assemble_prompt("llama", &context(&manager));
    assert_eq!(output.prompt, "Ann: Tea?\n\nNow.");
    assert_eq!((output.system_flag, output.status), (None, PromptStatus::Fits));
}
