//! The 25 tests that the contract names for Gemini's format, in its order: 5 of assembling, 6 of the
//! instructions, 4 of the conversation, 5 of empty sections, 5 of the budget.

use tertulia_context::{AgentType, Assembler, AssemblerInput, AssemblerOutput, PromptStatus};

use crate::harness::{everything, line, nothing, within};

fn assemble(input: &AssemblerInput<'_>) -> AssemblerOutput {
    Assembler::gemini().assemble(input)
}

fn instructions(instruction: Option<&'static str>, file: Option<&'static str>) -> String {
    let input = AssemblerInput {
        system_instruction: instruction.map(Into::into),
        instruction_file_text: file.map(Into::into),
        ..nothing()
    };
    assemble(&input).prompt
}

fn conversation(messages: &[(&'static str, Option<&'static str>, &'static str)]) -> String {
    let lines = messages.iter().map(|(from, to, content)| line(from, *to, content));
    assemble(&AssemblerInput { context_messages: lines.collect(), ..nothing() }).prompt
}

// Assembling: 5.

#[test]
fn agent_type_is_google_gemini() {
    assert_eq!(Assembler::gemini().agent_type(), &AgentType::GoogleGemini);
    assert_eq!(Assembler::gemini().agent_type().as_str(), "google-gemini");
}

#[test]
fn produces_correct_format_with_all_sections() {
    assert_eq!(
        assemble(&everything()).prompt,
        "Instructions:\nYou are Ivo.\n\nMind the cups.\n\nTeam Task:\nHave breakfast\n\n\
         Conversation so far:\n- ann: Is the kettle on?\n- ivo: It whistles.\n\n\
         Your task:\nThen pour the tea."
    );
}

#[test]
fn returns_no_system_flag() {
    assert_eq!(assemble(&everything()).system_flag, None);
}

#[test]
fn follows_correct_section_order() {
    let prompt = assemble(&everything()).prompt;
    let places = ["Instructions:", "Team Task:", "Conversation so far:", "Your task:"]
        .map(|header| prompt.find(header).unwrap());
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn uses_natural_language_headers_without_brackets() {
    assert!(!assemble(&everything()).prompt.contains(['[', ']']));
}

// Instructions: 6.

#[test]
fn instructions_include_system_instruction() {
    assert_eq!(instructions(Some(" You are Ivo.\n"), None), "Instructions:\nYou are Ivo.");
}

#[test]
fn instructions_include_instruction_file_text() {
    assert_eq!(instructions(None, Some("\tMind the cups.")), "Instructions:\nMind the cups.");
}

#[test]
fn instructions_join_both_with_double_newline() {
    assert_eq!(instructions(Some("a"), Some("b")), "Instructions:\na\n\nb");
}

#[test]
fn instructions_are_omitted_when_both_missing() {
    assert_eq!(instructions(None, None), "");
}

#[test]
fn instructions_are_omitted_when_both_whitespace() {
    assert_eq!(instructions(Some(" \n"), Some("\u{2003}")), "");
}

#[test]
fn instructions_use_their_header() {
    assert!(assemble(&everything()).prompt.starts_with("Instructions:\n"));
}

// The conversation: 4.

#[test]
fn conversation_formats_messages_as_from_and_content() {
    assert_eq!(
        conversation(&[("ann", None, "Tea: yes or no?")]),
        "Conversation so far:\n- ann: Tea: yes or no?"
    );
}

#[test]
fn conversation_ignores_addressees() {
    assert_eq!(
        conversation(&[("ann", Some("somebody"), "Tea?")]),
        conversation(&[("ann", None, "Tea?")])
    );
}

#[test]
fn conversation_uses_its_header() {
    assert!(conversation(&[("ann", None, "")]).starts_with("Conversation so far:\n"));
}

#[test]
fn conversation_separates_messages_with_newlines() {
    assert_eq!(
        conversation(&[("a", None, "1"), ("b", None, ""), ("c", None, "3\n4")]),
        "Conversation so far:\n- a: 1\n- b: \n- c: 3\n4"
    );
}

// Empty sections: 5.

#[test]
fn omits_instructions_when_none_given() {
    let input =
        AssemblerInput { system_instruction: None, instruction_file_text: None, ..everything() };
    assert!(assemble(&input).prompt.starts_with("Team Task:\n"));
}

#[test]
fn omits_team_task_when_none() {
    let prompt = assemble(&AssemblerInput { team_task: None, ..everything() }).prompt;
    assert!(!prompt.contains("Team Task:"), "{prompt}");
    assert!(prompt.contains("Mind the cups.\n\nConversation so far:\n"), "{prompt}");
}

#[test]
fn omits_conversation_when_there_are_no_messages() {
    let prompt = assemble(&AssemblerInput { context_messages: Vec::new(), ..everything() }).prompt;
    assert!(prompt.ends_with("Have breakfast\n\nYour task:\nThen pour the tea."), "{prompt}");
}

#[test]
fn omits_your_task_when_message_is_empty() {
    let prompt = assemble(&AssemblerInput { current_message: " ".into(), ..everything() }).prompt;
    assert!(prompt.ends_with("- ivo: It whistles."), "{prompt}");
}

#[test]
fn returns_empty_prompt_when_all_sections_empty() {
    let output = assemble(&nothing());
    assert_eq!((output.prompt.as_str(), output.system_flag), ("", None));
}

// The budget: 5.

#[test]
fn budget_returns_unchanged_when_within() {
    let whole = assemble(&everything());
    assert_eq!(assemble(&within(whole.prompt.len() as u64, everything())), whole);
}

#[test]
fn budget_trims_oldest_context_messages_first() {
    let size = assemble(&everything()).prompt.len() as u64;
    let prompt = assemble(&within(size - 1, everything())).prompt;
    assert!(prompt.contains("Conversation so far:\n- ivo: It whistles.\n\n"), "{prompt}");
}

#[test]
fn budget_preserves_instructions_section() {
    for max_bytes in 0..180 {
        let prompt = assemble(&within(max_bytes, everything())).prompt;
        assert!(prompt.starts_with("Instructions:\nYou are Ivo.\n\nMind the cups."), "{max_bytes}");
    }
}

#[test]
fn budget_preserves_team_task_section() {
    for max_bytes in 0..180 {
        let prompt = assemble(&within(max_bytes, everything())).prompt;
        assert!(prompt.contains("\n\nTeam Task:\nHave breakfast"), "{max_bytes}");
    }
}

#[test]
fn budget_truncates_your_task_as_last_resort() {
    let bare = AssemblerInput { context_messages: Vec::new(), ..everything() };
    let size = assemble(&bare).prompt.len() as u64;
    let output = assemble(&within(size - 5, everything()));
    assert!(output.prompt.ends_with("\n\nYour task:\nThen pour the"), "{}", output.prompt);
    assert_eq!(output.prompt.len() as u64, size - 5);
    assert_eq!(output.status, PromptStatus::MessageTruncated);
    assert_eq!((output.kept_context, output.dropped_context), (0, 2));
}
