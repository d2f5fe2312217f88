//! Log lines have the right text and level, and every line goes to the sink and to `tracing`.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use tertulia_context::{
    AssemblerInput, ContextManager, ContextManagerOptions, MessageCap, PromptStatus,
};
use tracing::level_filters::LevelFilter;

use crate::harness::{Notes, ann, context, everything, ivo, line, nothing, say, within};

/// A writer for `tracing` that keeps everything written to it.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Causes every log line.
fn make_every_line(notes: &Notes) {
    let mut manager = ContextManager::new(ContextManagerOptions {
        message_cap: Some(MessageCap {
            messages_max: NonZeroUsize::new(2).unwrap(),
            archive: Box::new(|_| {}),
        }),
        log_sink: Some(notes.sink()),
        ..ContextManagerOptions::default()
    });
    manager.set_team_task("x".repeat(5121));
    say(&mut manager, &ann(), &["hi"]);
    say(&mut manager, &ivo(), &["[TEAM_TASK] gone", "[TEAM_TASK] gone"]);
    context(&manager);
    let message = AssemblerInput { current_message: "hello".into(), ..nothing() };
    for max_bytes in [12, 4] {
        manager.assemble_prompt("claude", &within(max_bytes, message.clone()));
    }
    manager.assemble_prompt("codex", &within(5, everything()));
    manager.assemble_prompt("llama", &nothing());
    let flag = "x".repeat(131_072);
    manager.assemble_prompt(
        "claude",
        &AssemblerInput { system_instruction: Some(flag.into()), ..nothing() },
    );
}

#[test]
fn every_line_reaches_the_sink_with_its_level() {
    let notes = Notes::default();
    make_every_line(&notes);
    insta::assert_snapshot!(notes.read().join("\n"), @r#"
    warn [ContextManager] TeamTask exceeded 5KB limit (5121 bytes), truncated to 5120 bytes
    debug [ContextManager] Message added: msg-1
    debug [ContextManager] Message added: msg-2
    debug [ContextManager] Message added: msg-3
    debug [ContextManager] Message archived: msg-1
    debug [ContextManager] TEAM_TASK block removed: 16 bytes of msg-2
    debug [ContextManager] TEAM_TASK block removed: 16 bytes of msg-3
    debug [ContextManager] Deduplicated context for AI→AI
    warn [ContextManager] Message truncated: 2 of 5 bytes fit the budget of 12 bytes
    warn [ContextManager] Message dropped: none of its 5 bytes fit the budget of 4 bytes
    warn [ContextManager] Over budget: system text and team task take 65 bytes, the budget is 5 bytes
    warn [ContextManager] Unknown agentType "llama" (normalized: "llama"), using PlainTextAssembler
    warn [ContextManager] System flag too long: 131072 bytes cannot pass as one argument (at most 131071); pass it as a file
    "#);
}

#[test]
fn every_line_reaches_tracing_too() {
    let (notes, kept) = (Notes::default(), Kept::default());
    // Other tests log in other threads without a subscriber. With a single subscriber, `tracing` would ask only the
    // first thread whether a line is enabled; with two, it asks all of them.
    let silent =
        tracing::Dispatch::new(tracing_subscriber::fmt().with_max_level(LevelFilter::OFF).finish());
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || make_every_line(&notes));
    drop(silent);
    let bytes = kept.0.lock().unwrap().clone();
    let traced: Vec<String> = String::from_utf8(bytes)
        .unwrap()
        .lines()
        .map(|line| {
            let (level, text) = line.split_once(" tertulia::context: ").unwrap();
            format!("{} {text}", level.trim().to_lowercase())
        })
        .collect();
    assert_eq!(traced, notes.read());
}

#[test]
fn a_manager_without_sink_is_silent_and_works() {
    let mut manager = ContextManager::default();
    manager.set_team_task("x".repeat(6000));
    say(&mut manager, &ann(), &["hi"]);
    assert_eq!(manager.assemble_prompt("llama", &context(&manager)).status, PromptStatus::Fits);
}

#[test]
fn a_system_flag_is_warned_of_from_131072_bytes_on() {
    let notes = Notes::default();
    let manager = notes.logged();
    let with_flag = |bytes: usize| AssemblerInput {
        system_instruction: Some("x".repeat(bytes - 5).into()),
        instruction_file_text: Some("\n yyy ".into()),
        ..nothing()
    };
    let output = manager.assemble_prompt("claude", &with_flag(131_071));
    assert_eq!(output.system_flag.unwrap().len(), 131_071);
    assert!(notes.read().is_empty());
    let output = manager.assemble_prompt("claude", &with_flag(131_072));
    assert_eq!(output.system_flag.unwrap().len(), 131_072);
    assert_eq!(
        notes.read(),
        ["warn [ContextManager] System flag too long: 131072 bytes cannot pass as one argument \
          (at most 131071); pass it as a file"]
    );
    for no_flag in ["codex", "gemini"] {
        manager.assemble_prompt(no_flag, &with_flag(200_000));
    }
    assert!(notes.read().is_empty());
}

#[test]
fn cuts_are_warned_of_from_a_truncated_message_on() {
    let notes = Notes::default();
    let manager = notes.logged();
    let input = AssemblerInput {
        context_messages: vec![line("ann", None, "before")],
        current_message: "hello there".into(),
        team_task: Some("tea".into()),
        ..nothing()
    };
    let whole = manager.assemble_prompt("claude", &input).bytes.total() as u64;
    let mut seen = Vec::new();
    for max_bytes in (0..=whole).rev() {
        let status = manager.assemble_prompt("claude", &within(max_bytes, input.clone())).status;
        seen.push(status);
        let warnings = notes.read();
        let start = match status {
            PromptStatus::Fits | PromptStatus::ContextTrimmed => {
                assert!(warnings.is_empty(), "{warnings:?}");
                continue;
            }
            PromptStatus::MessageTruncated => "warn [ContextManager] Message truncated: ",
            PromptStatus::MessageDropped => "warn [ContextManager] Message dropped: ",
            PromptStatus::OverBudget => "warn [ContextManager] Over budget: ",
        };
        let [warning] = &warnings[..] else { panic!("one warning, not {warnings:?}") };
        assert!(warning.starts_with(start), "{warning}");
        assert!(warning.contains(&format!("{max_bytes} bytes")), "{warning}");
    }
    assert!(seen.is_sorted(), "a smaller budget never does better");
    seen.dedup();
    assert_eq!(seen.len(), 5, "all five were seen");
}

#[test]
fn a_repetition_that_was_left_out_is_logged() {
    let notes = Notes::default();
    let mut manager = notes.logged();
    say(&mut manager, &ivo(), &["Done.", "Done."]);
    notes.read();
    context(&manager);
    assert_eq!(notes.read(), ["debug [ContextManager] Deduplicated context for AI\u{2192}AI"]);
    say(&mut manager, &ann(), &["Good."]);
    notes.read();
    context(&manager);
    assert!(notes.read().is_empty());
}
