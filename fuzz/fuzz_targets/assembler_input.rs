//! Passes any JSON and any budget to the assemblers: the prompt must fit the budget, or its status must say that it
//! does not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_context::record::read_assembler_input;
use tertulia_context::{AgentType, Assembler, PromptStatus};
use tertulia_session::json;

fuzz_target!(|case: (u16, &str)| {
    let (budget, text) = case;
    let Ok(Ok(mut input)) = json::parse(text).map(read_assembler_input) else { return };
    for max_bytes in [input.max_bytes, u64::from(budget)] {
        input.max_bytes = max_bytes;
        for agent in ["claude", "codex", "gemini", "other"] {
            let assembler = Assembler::from(&AgentType::named(agent));
            let output = assembler.assemble(&input);
            let flag = output.system_flag.as_deref().unwrap_or_default();
            let size = output.prompt.len() + flag.len();
            assert_eq!(size, output.bytes.total());
            assert_eq!(size as u64 > max_bytes, output.status == PromptStatus::OverBudget);
            let mut written = Vec::new();
            assembler.plan(&input).write_to(&mut written).expect("memory takes every prompt");
            assert_eq!(written, output.prompt.as_bytes());
        }
    }
});
