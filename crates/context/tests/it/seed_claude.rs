//! The 25 tests that the contract names for Claude's format, in its order: 4 of assembling, 6 of empty
//! sections, 6 of the system flag, 5 of the budget, 4 of the format.

use tertulia_context::{AgentType, Assembler, AssemblerInput, AssemblerOutput, PromptStatus};

use crate::harness::{everything, line, nothing, within};

fn assemble(input: &AssemblerInput<'_>) -> AssemblerOutput {
    Assembler::claude().assemble(input)
}

fn flag_of(instruction: Option<&'static str>, file: Option<&'static str>) -> Option<String> {
    let input = AssemblerInput {
        system_instruction: instruction.map(Into::into),
        instruction_file_text: file.map(Into::into),
        ..nothing()
    };
    assemble(&input).system_flag
}

// Assembling: 4.

#[test]
fn agent_type_is_claude_code() {
    assert_eq!(Assembler::claude().agent_type(), &AgentType::ClaudeCode);
    assert_eq!(Assembler::claude().agent_type().as_str(), "claude-code");
}

#[test]
fn produces_correct_format_with_all_sections() {
    let output = assemble(&everything());
    assert_eq!(
        output.prompt,
        "[TEAM_TASK]\nHave breakfast\n\n[CONTEXT]\n- ann -> ivo: Is the kettle on?\n\
         - ivo -> ann: It whistles.\n\n[MESSAGE]\nThen pour the tea."
    );
    assert_eq!(output.system_flag.as_deref(), Some("You are Ivo.\n\nMind the cups."));
    assert_eq!(output.status, PromptStatus::Fits);
}

#[test]
fn separates_system_flag_from_prompt() {
    let output = assemble(&everything());
    assert!(!output.prompt.contains("You are Ivo."));
    assert!(!output.prompt.contains("Mind the cups."));
    assert!(output.system_flag.is_some());
}

#[test]
fn joins_system_instruction_and_instruction_file_text() {
    assert_eq!(
        assemble(&everything()).system_flag.as_deref(),
        Some("You are Ivo.\n\nMind the cups.")
    );
}

// Empty sections: 6.

#[test]
fn omits_team_task_when_it_is_none() {
    let prompt = assemble(&AssemblerInput { team_task: None, ..everything() }).prompt;
    assert!(prompt.starts_with("[CONTEXT]\n"), "{prompt}");
}

#[test]
fn omits_team_task_when_it_is_whitespace() {
    for blank in ["", "  ", "\n\t\r", "\u{feff}\u{a0}\u{3000}"] {
        let prompt =
            assemble(&AssemblerInput { team_task: Some(blank.into()), ..everything() }).prompt;
        assert!(prompt.starts_with("[CONTEXT]\n"), "{prompt}");
    }
}

#[test]
fn omits_context_when_there_are_no_messages() {
    let input = AssemblerInput { context_messages: Vec::new(), ..everything() };
    assert_eq!(
        assemble(&input).prompt,
        "[TEAM_TASK]\nHave breakfast\n\n[MESSAGE]\nThen pour the tea."
    );
    let silent = AssemblerInput { context_messages: vec![line("", None, "")], ..nothing() };
    assert_eq!(assemble(&silent).prompt, "[CONTEXT]\n-  -> all: ");
}

#[test]
fn omits_message_when_it_is_empty() {
    for blank in ["", " \n "] {
        let input = AssemblerInput { current_message: blank.into(), ..everything() };
        let prompt = assemble(&input).prompt;
        assert!(prompt.ends_with("- ivo -> ann: It whistles."), "{prompt}");
    }
}

#[test]
fn returns_empty_prompt_when_all_sections_empty() {
    let output = assemble(&nothing());
    assert_eq!((output.prompt.as_str(), output.system_flag), ("", None));
    assert_eq!(output.status, PromptStatus::Fits);
}

#[test]
fn returns_no_system_flag_when_no_instructions() {
    let input =
        AssemblerInput { system_instruction: None, instruction_file_text: None, ..everything() };
    assert_eq!(assemble(&input).system_flag, None);
}

// The system flag: 6.

#[test]
fn system_flag_is_none_when_both_are() {
    assert_eq!(flag_of(None, None), None);
}

#[test]
fn system_flag_is_instruction_only() {
    assert_eq!(flag_of(Some("You are Ivo."), None).as_deref(), Some("You are Ivo."));
}

#[test]
fn system_flag_is_instruction_file_text_only() {
    assert_eq!(flag_of(None, Some("Mind the cups.")).as_deref(), Some("Mind the cups."));
}

#[test]
fn system_flag_joins_both_with_double_newline() {
    assert_eq!(flag_of(Some("a"), Some("b")).as_deref(), Some("a\n\nb"));
}

#[test]
fn system_flag_trims_whitespace_from_inputs() {
    assert_eq!(flag_of(Some("\n a\n\nb \t"), Some("\u{feff}c ")).as_deref(), Some("a\n\nb\n\nc"));
}

#[test]
fn system_flag_ignores_whitespace_only_inputs() {
    assert_eq!(flag_of(Some("  "), Some("text")).as_deref(), Some("text"));
    assert_eq!(flag_of(Some("text"), Some("\n")).as_deref(), Some("text"));
    assert_eq!(flag_of(Some(" "), Some("\t")), None);
    // U+0085 is whitespace in Rust but not in the contract.
    assert_eq!(flag_of(Some("\u{85}"), None).as_deref(), Some("\u{85}"));
}

// The budget: 5.

#[test]
fn budget_returns_unchanged_when_within() {
    let whole = assemble(&everything());
    let size = (whole.prompt.len() + whole.system_flag.as_deref().unwrap().len()) as u64;
    assert_eq!(assemble(&within(size, everything())), whole);
    assert_eq!(assemble(&within(size - 1, everything())).status, PromptStatus::ContextTrimmed);
}

#[test]
fn budget_trims_oldest_context_messages_first() {
    let whole = assemble(&everything());
    let size = whole.bytes.total() as u64;
    let output = assemble(&within(size - 1, everything()));
    assert_eq!(
        output.prompt,
        "[TEAM_TASK]\nHave breakfast\n\n[CONTEXT]\n- ivo -> ann: It whistles.\n\n\
         [MESSAGE]\nThen pour the tea."
    );
    assert_eq!((output.kept_context, output.dropped_context), (1, 1));
}

#[test]
fn budget_preserves_message_section() {
    let bare = assemble(&AssemblerInput { context_messages: Vec::new(), ..everything() });
    let output = assemble(&within(bare.bytes.total() as u64, everything()));
    assert_eq!(output.prompt, "[TEAM_TASK]\nHave breakfast\n\n[MESSAGE]\nThen pour the tea.");
    assert_eq!(output.status, PromptStatus::ContextTrimmed);
}

#[test]
fn budget_preserves_team_task_section() {
    for max_bytes in 0..100 {
        let output = assemble(&within(max_bytes, everything()));
        assert!(output.prompt.starts_with("[TEAM_TASK]\nHave breakfast"), "{max_bytes}");
    }
}

#[test]
fn budget_does_not_trim_system_flag() {
    let whole = assemble(&everything()).system_flag;
    for max_bytes in 0..200 {
        assert_eq!(assemble(&within(max_bytes, everything())).system_flag, whole);
    }
}

// The format: 4.

#[test]
fn uses_correct_section_markers() {
    let prompt = assemble(&everything()).prompt;
    let headers: Vec<&str> = prompt.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(headers, ["[TEAM_TASK]", "[CONTEXT]", "[MESSAGE]"]);
}

#[test]
fn uses_correct_context_message_format() {
    let input = AssemblerInput {
        context_messages: vec![
            line("ann", Some("ivo, lena"), "Tea?"),
            line("ivo", None, " kept as it is "),
            line("lena", Some(""), "no name"),
        ],
        ..nothing()
    };
    assert_eq!(
        assemble(&input).prompt,
        "[CONTEXT]\n- ann -> ivo, lena: Tea?\n- ivo -> all:  kept as it is \n- lena -> : no name"
    );
}

#[test]
fn separates_sections_with_double_newline() {
    let prompt = assemble(&everything()).prompt;
    let firsts: Vec<&str> =
        prompt.split("\n\n").map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(firsts, ["[TEAM_TASK]", "[CONTEXT]", "[MESSAGE]"]);
}

#[test]
fn preserves_newlines_within_content() {
    let input = AssemblerInput {
        context_messages: vec![line("ann", Some("ivo"), "one\n\n  two [x] é\n")],
        current_message: "\n three\n\n\tfour: [y]\n".into(),
        team_task: Some("five\r\nsix".into()),
        ..nothing()
    };
    assert_eq!(
        assemble(&input).prompt,
        "[TEAM_TASK]\nfive\r\nsix\n\n[CONTEXT]\n- ann -> ivo: one\n\n  two [x] é\n\n\n\
         [MESSAGE]\nthree\n\n\tfour: [y]"
    );
}
