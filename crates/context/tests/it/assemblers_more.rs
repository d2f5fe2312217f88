//! Features of the assemblers that the contract's own tests do not cover: strict assembly, another header, sizes,
//! streaming.

use tertulia_context::{
    AgentType, Assembler, AssemblerInput, OverBudget, PromptStatus, PromptWarning, SectionBytes,
};

use crate::harness::{everything, line, nothing, within};

fn all_assemblers() -> [Assembler; 4] {
    [Assembler::claude(), Assembler::codex(), Assembler::gemini(), Assembler::plain_text()]
}

#[test]
fn an_agent_has_the_assembler_of_its_type() {
    for (name, agent_type) in [
        ("claude", "claude-code"),
        ("codex", "openai-codex"),
        ("gemini", "google-gemini"),
        ("llama", "unknown"),
    ] {
        let assembler = Assembler::from(&AgentType::named(name));
        assert_eq!(assembler.agent_type().as_str(), agent_type);
    }
}

#[test]
fn strict_assembly_gives_what_fits_with_its_message_whole() {
    for assembler in all_assemblers() {
        let whole = assembler.assemble(&everything());
        assert_eq!(assembler.assemble_strict(&everything()), Ok(whole.clone()));
        let trimmed = within(whole.bytes.total() as u64 - 1, everything());
        assert_eq!(assembler.assemble_strict(&trimmed), Ok(assembler.assemble(&trimmed)));
    }
}

#[test]
fn strict_assembly_refuses_everything_else_with_numbers() {
    let input = AssemblerInput {
        current_message: "hello".into(),
        team_task: Some("tea".into()),
        system_instruction: Some("be kind".into()),
        ..nothing()
    };
    let refused = |max_bytes: u64| {
        Assembler::claude().assemble_strict(&within(max_bytes, input.clone())).unwrap_err()
    };
    let needed_bytes = "be kind[TEAM_TASK]\ntea\n\n[MESSAGE]\nhello".len();
    for (max_bytes, status) in [
        (38, PromptStatus::MessageTruncated),
        (35, PromptStatus::MessageTruncated),
        (34, PromptStatus::MessageDropped),
        (22, PromptStatus::MessageDropped),
        (21, PromptStatus::OverBudget),
        (0, PromptStatus::OverBudget),
    ] {
        assert_eq!(refused(max_bytes), OverBudget { status, max_bytes, needed_bytes });
    }
    assert_eq!(
        refused(21).to_string(),
        "the prompt does not fit: even without context it takes 39 bytes, the budget is 21; raise \
         maxBytes or shorten instructions, task or message"
    );
}

#[test]
fn a_refused_prompt_would_fit_into_what_it_needs() {
    let without_message = AssemblerInput { current_message: "".into(), ..everything() };
    for assembler in all_assemblers() {
        for input in [everything(), without_message.clone()] {
            let error = assembler.assemble_strict(&within(0, input.clone())).unwrap_err();
            let needed = error.needed_bytes as u64;
            assert!(assembler.assemble_strict(&within(needed, input.clone())).is_ok());
            assert!(assembler.assemble_strict(&within(needed - 1, input)).is_err());
        }
    }
}

#[test]
fn geminis_message_header_may_be_another() {
    let assembler = Assembler::gemini().with_message_header("User message:");
    let input = AssemblerInput {
        context_messages: vec![line("ann", None, "Tea?")],
        current_message: "Now.".into(),
        ..nothing()
    };
    let output = assembler.assemble(&input);
    assert_eq!(output.prompt, "Conversation so far:\n- ann: Tea?\n\nUser message:\nNow.");
    assert_eq!(output.bytes.message, "User message:\nNow.".len());
    let cut = assembler.assemble(&within(16, input));
    assert_eq!(cut.prompt, "User message:\nNo");
    assert_eq!(cut.status, PromptStatus::MessageTruncated);
}

#[test]
fn a_message_header_may_be_none() {
    let assembler = Assembler::gemini().with_message_header("");
    let input = AssemblerInput { current_message: "Now.".into(), ..nothing() };
    assert_eq!(assembler.assemble(&input).prompt, "Now.");
    assert_eq!(assembler.assemble(&within(2, input)).prompt, "No");
}

#[test]
fn the_bytes_of_every_section_are_reported() {
    let bytes = |assembler: Assembler| assembler.assemble(&everything()).bytes;
    assert_eq!(
        bytes(Assembler::claude()),
        SectionBytes { system: 28, team_task: 26, context: 68, message: 28, separators: 4 }
    );
    assert_eq!(
        bytes(Assembler::codex()),
        SectionBytes { system: 37, team_task: 26, context: 68, message: 28, separators: 6 }
    );
    assert_eq!(
        bytes(Assembler::gemini()),
        SectionBytes { system: 42, team_task: 25, context: 65, message: 29, separators: 6 }
    );
    assert_eq!(
        bytes(Assembler::plain_text()),
        SectionBytes { system: 28, team_task: 14, context: 40, message: 18, separators: 6 }
    );
    assert_eq!(Assembler::claude().assemble(&nothing()).bytes, SectionBytes::default());
}

#[test]
fn a_plan_knows_its_numbers_before_it_is_written() {
    let input = everything();
    let assembler = Assembler::claude();
    let plan = assembler.plan(&input);
    assert_eq!(plan.status(), PromptStatus::Fits);
    assert_eq!((plan.kept_context(), plan.dropped_context()), (2, 0));
    assert_eq!(plan.line_bytes(0), Some("- ann -> ivo: Is the kettle on?".len()));
    assert_eq!(plan.line_bytes(1), Some("- ivo -> ann: It whistles.".len()));
    assert_eq!(plan.line_bytes(2), None);
    assert_eq!(plan.message_bytes(), (18, 18));
    assert_eq!(plan.prompt_bytes(), plan.to_text().len());
    assert_eq!(plan.flag_bytes(), 28);
    assert_eq!(plan.bytes().total(), plan.prompt_bytes() + plan.flag_bytes());
    assert_eq!(plan.warnings().count(), 0);
}

#[test]
fn a_plan_contains_the_warnings_for_its_sender() {
    let input = AssemblerInput {
        current_message: "hello".into(),
        system_instruction: Some("x".repeat(131_072).into()),
        ..nothing()
    };
    let warnings = |assembler: Assembler, max_bytes: u64| -> Vec<PromptWarning> {
        assembler.plan(&within(max_bytes, input.clone())).warnings().collect()
    };
    let flag = PromptWarning::SystemFlagTooLong { bytes: 131_072 };
    let (bytes, kept_bytes) = (5, 2);
    assert_eq!(warnings(Assembler::claude(), u64::MAX), [flag]);
    assert_eq!(warnings(Assembler::codex(), u64::MAX), []);
    assert_eq!(
        warnings(Assembler::claude(), 131_084),
        [PromptWarning::MessageTruncated { kept_bytes, bytes, max_bytes: 131_084 }, flag]
    );
    assert_eq!(
        warnings(Assembler::claude(), 131_082),
        [PromptWarning::MessageDropped { bytes, max_bytes: 131_082 }, flag]
    );
    assert_eq!(
        warnings(Assembler::plain_text(), 9),
        [PromptWarning::OverBudget { bytes: 131_072, max_bytes: 9 }]
    );
}

#[test]
fn a_prompt_can_be_written_without_being_built() {
    for assembler in all_assemblers() {
        for max_bytes in 0..200 {
            let input = within(max_bytes, everything());
            let plan = assembler.plan(&input);
            let mut written = Vec::new();
            plan.write_to(&mut written).unwrap();
            assert_eq!(written, plan.to_text().into_bytes());
        }
    }
}

#[test]
fn an_error_of_the_writer_is_handed_on() {
    let input = everything();
    let assembler = Assembler::claude();
    let mut small = [0; 20];
    let error = assembler.plan(&input).write_to(&mut small.as_mut_slice()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
    assert_eq!(&small, b"[TEAM_TASK]\nHave bre");
}

#[test]
fn a_cut_never_splits_a_character() {
    let input = AssemblerInput { current_message: "a😀é中".into(), ..nothing() };
    let prompt = |max_bytes| Assembler::plain_text().assemble(&within(max_bytes, input.clone()));
    let cuts = (0..=10).map(|max_bytes| prompt(max_bytes).prompt).collect::<Vec<_>>();
    assert_eq!(cuts, ["", "a", "a", "a", "a", "a😀", "a😀", "a😀é", "a😀é", "a😀é", "a😀é中"]);
    let first_too_wide = AssemblerInput { current_message: "😀".into(), ..nothing() };
    let output = Assembler::plain_text().assemble(&within(3, first_too_wide));
    assert_eq!((output.prompt.as_str(), output.status), ("", PromptStatus::MessageDropped));
}

#[test]
fn the_largest_budget_is_one() {
    let output = Assembler::claude().assemble(&within(u64::MAX, everything()));
    assert_eq!(output.status, PromptStatus::Fits);
}
