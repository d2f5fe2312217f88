//! Assembling within a budget: never over it except where the contract allows it, and with as much content as fits.

use proptest::prelude::*;
use tertulia_context::{AssemblerInput, AssemblerOutput, PromptStatus};

use super::arbitrary::{assembler, at_least, input};
use super::naive::{Assembled, format_of, trim};

fn flag_bytes(output: &AssemblerOutput) -> usize {
    output.system_flag.as_deref().map_or(0, str::len)
}

/// Returns the input with only the newest messages of its context.
fn with_newest<'a>(input: &AssemblerInput<'a>, kept: usize) -> AssemblerInput<'a> {
    let from = input.context_messages.len() - kept;
    AssemblerInput {
        context_messages: input.context_messages[from..].to_vec(),
        max_bytes: u64::MAX,
        ..input.clone()
    }
}

proptest! {
    #![proptest_config(at_least(1500))]

    #[test]
    fn every_format_does_what_trying_everything_would(
        assembler in assembler(),
        input in input(),
    ) {
        let output = assembler.assemble(&input);
        let other_header = assembler == assembler.clone().with_message_header("Last message:");
        let header = if other_header { "Last message:\n" } else { "Your task:\n" };
        let expected = format_of(assembler.agent_type().as_str(), header).assemble(&input);
        let got = Assembled {
            prompt: output.prompt,
            flag: output.system_flag,
            kept: output.kept_context,
            status: output.status,
        };
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn the_budget_is_never_exceeded_unless_it_is_reported(
        assembler in assembler(),
        input in input(),
    ) {
        let output = assembler.assemble(&input);
        let size = (output.prompt.len() + flag_bytes(&output)) as u64;
        prop_assert_eq!(size > input.max_bytes, output.status == PromptStatus::OverBudget);
    }

    #[test]
    fn one_message_more_would_not_fit(assembler in assembler(), input in input()) {
        let output = assembler.assemble(&input);
        prop_assert_eq!(output.kept_context + output.dropped_context, input.context_messages.len());
        if output.status == PromptStatus::ContextTrimmed {
            let more = assembler.assemble(&with_newest(&input, output.kept_context + 1));
            prop_assert!((more.prompt.len() + flag_bytes(&more)) as u64 > input.max_bytes);
        }
    }

    #[test]
    fn the_kept_context_is_the_newest_in_order(assembler in assembler(), input in input()) {
        let output = assembler.assemble(&input);
        if output.status <= PromptStatus::ContextTrimmed {
            let same = assembler.assemble(&with_newest(&input, output.kept_context));
            prop_assert_eq!(output.prompt, same.prompt);
        } else {
            prop_assert_eq!(output.kept_context, 0);
        }
    }

    #[test]
    fn the_status_agrees_with_what_is_in_the_prompt(assembler in assembler(), input in input()) {
        let output = assembler.assemble(&input);
        let message = trim(&input.current_message);
        let whole = output.prompt.ends_with(message);
        match output.status {
            PromptStatus::Fits => prop_assert!(whole && output.dropped_context == 0),
            PromptStatus::ContextTrimmed => prop_assert!(whole && output.dropped_context > 0),
            PromptStatus::MessageTruncated => {
                prop_assert!(output.bytes.message > 0 && output.kept_context == 0);
                let mut cuts = (1..message.len()).filter(|end| message.is_char_boundary(*end));
                prop_assert!(cuts.any(|end| output.prompt.ends_with(&message[..end])));
            }
            PromptStatus::MessageDropped | PromptStatus::OverBudget => {
                prop_assert_eq!((output.bytes.message, output.bytes.context), (0, 0));
            }
        }
    }

    #[test]
    fn the_bytes_of_the_sections_add_up(assembler in assembler(), input in input()) {
        let output = assembler.assemble(&input);
        prop_assert_eq!(output.bytes.total(), output.prompt.len() + flag_bytes(&output));
    }

    #[test]
    fn writing_gives_the_bytes_of_the_text(assembler in assembler(), input in input()) {
        let plan = assembler.plan(&input);
        let mut written = Vec::new();
        plan.write_to(&mut written).unwrap();
        let text = plan.to_text();
        prop_assert_eq!(plan.prompt_bytes(), text.len());
        prop_assert_eq!(written, text.into_bytes());
    }

    #[test]
    fn the_same_input_gives_the_same_bytes(assembler in assembler(), input in input()) {
        let once = assembler.assemble(&input);
        prop_assert_eq!(&assembler.assemble(&input), &once);
        let copy = input.clone();
        drop(input);
        prop_assert_eq!(&assembler.assemble(&copy), &once);
    }

    #[test]
    fn a_larger_budget_never_does_worse(assembler in assembler(), input in input()) {
        let more = AssemblerInput { max_bytes: input.max_bytes.saturating_add(1), ..input.clone() };
        let (less, more) = (assembler.assemble(&input), assembler.assemble(&more));
        prop_assert!(more.status <= less.status);
        prop_assert!(more.kept_context >= less.kept_context);
    }

    #[test]
    fn strict_assembly_agrees_with_the_status(assembler in assembler(), input in input()) {
        let output = assembler.assemble(&input);
        match assembler.assemble_strict(&input) {
            Ok(strict) => {
                prop_assert!(output.status <= PromptStatus::ContextTrimmed);
                prop_assert_eq!(strict, output);
            }
            Err(error) => {
                prop_assert_eq!(error.status, output.status);
                prop_assert_eq!(error.max_bytes, input.max_bytes);
            }
        }
    }
}
