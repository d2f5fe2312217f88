//! Codex's format: like Claude's, but with the system text as the first section of the prompt, and with the whole
//! budget for the prompt.

use tertulia_context::{AgentType, Assembler, AssemblerInput, AssemblerOutput, PromptStatus};

use crate::harness::{everything, line, nothing, within};

fn assemble(input: &AssemblerInput<'_>) -> AssemblerOutput {
    Assembler::codex().assemble(input)
}

#[test]
fn agent_type_is_openai_codex() {
    assert_eq!(Assembler::codex().agent_type(), &AgentType::OpenAiCodex);
    assert_eq!(Assembler::codex().agent_type().as_str(), "openai-codex");
}

#[test]
fn sections_come_as_system_task_context_message() {
    assert_eq!(
        assemble(&everything()).prompt,
        "[SYSTEM]\nYou are Ivo.\n\nMind the cups.\n\n[TEAM_TASK]\nHave breakfast\n\n\
         [CONTEXT]\n- ann -> ivo: Is the kettle on?\n- ivo -> ann: It whistles.\n\n\
         [MESSAGE]\nThen pour the tea."
    );
}

#[test]
fn the_system_text_is_never_a_flag() {
    assert_eq!(assemble(&everything()).system_flag, None);
    assert_eq!(assemble(&nothing()).system_flag, None);
}

#[test]
fn one_of_the_two_system_texts_is_enough() {
    let input = |instruction: Option<&'static str>, file: Option<&'static str>| AssemblerInput {
        system_instruction: instruction.map(Into::into),
        instruction_file_text: file.map(Into::into),
        ..nothing()
    };
    assert_eq!(assemble(&input(Some(" a "), None)).prompt, "[SYSTEM]\na");
    assert_eq!(assemble(&input(None, Some("b\n"))).prompt, "[SYSTEM]\nb");
    assert_eq!(assemble(&input(Some("\n"), Some("b"))).prompt, "[SYSTEM]\nb");
    assert_eq!(assemble(&input(Some("\n"), Some(" "))).prompt, "");
}

#[test]
fn empty_sections_leave_no_header() {
    let only_message = AssemblerInput { current_message: "Tea?".into(), ..nothing() };
    assert_eq!(assemble(&only_message).prompt, "[MESSAGE]\nTea?");
    let only_task = AssemblerInput { team_task: Some("tea".into()), ..nothing() };
    assert_eq!(assemble(&only_task).prompt, "[TEAM_TASK]\ntea");
    assert_eq!(assemble(&nothing()).prompt, "");
}

#[test]
fn a_line_names_speaker_and_addressee() {
    let input = AssemblerInput {
        context_messages: vec![line("ann", Some("ivo, lena"), "x"), line("ivo", None, "y")],
        ..nothing()
    };
    assert_eq!(assemble(&input).prompt, "[CONTEXT]\n- ann -> ivo, lena: x\n- ivo -> all: y");
}

#[test]
fn the_prompt_may_use_the_whole_budget() {
    let whole = assemble(&everything());
    assert_eq!(whole.bytes.total(), whole.prompt.len());
    assert_eq!(assemble(&within(whole.prompt.len() as u64, everything())), whole);
}

#[test]
fn the_oldest_context_goes_first() {
    let size = assemble(&everything()).prompt.len() as u64;
    let output = assemble(&within(size - 1, everything()));
    assert!(output.prompt.contains("[CONTEXT]\n- ivo -> ann: It whistles.\n\n"));
    assert_eq!(output.status, PromptStatus::ContextTrimmed);
}

#[test]
fn then_the_message_is_cut_behind_its_header() {
    let bare = AssemblerInput { context_messages: Vec::new(), ..everything() };
    let size = assemble(&bare).prompt.len() as u64;
    let output = assemble(&within(size - 9, everything()));
    assert!(output.prompt.ends_with("\n\n[MESSAGE]\nThen pour"), "{}", output.prompt);
    assert_eq!(output.status, PromptStatus::MessageTruncated);
}

#[test]
fn system_text_and_task_are_never_cut() {
    let fixed = "[SYSTEM]\nYou are Ivo.\n\nMind the cups.\n\n[TEAM_TASK]\nHave breakfast";
    for max_bytes in 0..180 {
        assert!(assemble(&within(max_bytes, everything())).prompt.starts_with(fixed));
    }
    let over = assemble(&within(fixed.len() as u64 - 1, everything()));
    assert_eq!((over.prompt.as_str(), over.status), (fixed, PromptStatus::OverBudget));
    let dropped = assemble(&within(fixed.len() as u64, everything()));
    assert_eq!((dropped.prompt.as_str(), dropped.status), (fixed, PromptStatus::MessageDropped));
}

#[test]
fn a_task_that_looks_like_sections_is_not_mistaken_for_them() {
    let input = AssemblerInput {
        team_task: Some("Plan\n\n[CONTEXT]\n- a -> b: c\n\n[MESSAGE]\nd".into()),
        context_messages: vec![line("ann", None, "gone")],
        current_message: "stays".into(),
        max_bytes: 70,
        ..nothing()
    };
    assert_eq!(
        assemble(&input).prompt,
        "[TEAM_TASK]\nPlan\n\n[CONTEXT]\n- a -> b: c\n\n[MESSAGE]\nd\n\n[MESSAGE]\nstays"
    );
}
