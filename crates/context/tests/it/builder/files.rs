//! Files as they are now: at a cut, and when the work turns to a file that is no longer sent.

use proptest::prelude::*;
use tertulia_context::builder::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextConfig, ContextError,
    ContextIndex, Source, Strategy as Way,
};
use tertulia_session::record::read_entry_line;
use tertulia_session::{Entry, EntryKind, Message, Recall};

use super::claim::{build, builder, of_log};

/// A log of an agent's work on files.
#[derive(Default)]
struct Work {
    log: Vec<Entry>,
    calls: usize,
}

impl Work {
    fn add(&mut self, kind: &str, payload: &str) {
        let parent = self.log.last().map(|entry| format!(r#""parentId":"{}","#, entry.id));
        let (id, parent) = (self.log.len(), parent.unwrap_or_default());
        let line = format!(r#"{{"id":"n{id}",{parent}"type":"{kind}","payload":{payload}}}"#);
        self.log.push(read_entry_line(1, &line).unwrap());
    }

    fn say(&mut self, role: &str, text: &str) {
        let content = serde_json::Value::from(text);
        self.add("message", &format!(r#"{{"role":"{role}","content":{content}}}"#));
    }

    fn call(&mut self, tool: &str, arguments: &serde_json::Value, result: &str) {
        self.calls += 1;
        let (id, result) = (self.calls, serde_json::Value::from(result));
        let call = format!(
            r#"{{"kind":"tool_call","payload":{{"toolCallId":"c{id}","toolName":"{tool}","arguments":{arguments}}}}}"#
        );
        self.add("message", &format!(r#"{{"role":"assistant","parts":[{call}]}}"#));
        let answer = format!(
            r#"{{"kind":"tool_result","payload":{{"toolCallId":"c{id}","isError":false,"content":{result}}}}}"#
        );
        self.add("message", &format!(r#"{{"role":"tool","parts":[{answer}]}}"#));
    }

    /// Appends a read of lines of a file with this text.
    fn read(&mut self, path: &str, text: &[String]) {
        let numbered = text.iter().enumerate().map(|(at, line)| format!("{:6}→{line}", at + 1));
        let shown = numbered.collect::<Vec<_>>().join("\n");
        self.call("Read", &serde_json::json!({ "file_path": path }), &shown);
    }

    fn edit(&mut self, path: &str, old: &str, new: &str) {
        let arguments =
            serde_json::json!({ "file_path": path, "old_string": old, "new_string": new });
        self.call("Edit", &arguments, "The file has been updated.");
    }

    /// Builds, checks that a second build gives the same result, and appends the new entries.
    fn build(&mut self, builder: &ContextBuilder) -> Vec<(Source, Message)> {
        let log = self.log.clone();
        let built = build(builder, &of_log(&log));
        self.log.extend(built.entries_to_append.iter().cloned());
        let log = self.log.clone();
        let again = build(builder, &of_log(&log));
        assert!(again.entries_to_append.is_empty(), "{:?}", again.entries_to_append);
        assert_eq!(owned(&again), owned(&built));
        owned(&built)
    }
}

fn owned(built: &ContextBuildResult<'_>) -> Vec<(Source, Message)> {
    let messages = built.model_messages.iter();
    messages.map(|one| (one.source.clone(), (*one.message).clone())).collect()
}

fn recalling(max_input_tokens: u64) -> ContextBuilder {
    let mut config = ContextConfig::new(max_input_tokens);
    config.recall_tokens = Some(max_input_tokens / 8);
    builder(config)
}

fn numbered_file(name: &str) -> Vec<String> {
    (1..=20).map(|line| format!("{name} line {line} of the file")).collect()
}

/// Returns a shown line without the number before it.
fn bare(line: &str) -> &str {
    let rest = line.trim_start_matches(|one: char| one.is_ascii_digit());
    rest.strip_prefix('→').unwrap_or(line)
}

/// Returns the texts of the messages that show files.
fn shown(messages: &[(Source, Message)]) -> Vec<String> {
    let texts = messages.iter().map(|(_, message)| message.text().into_owned());
    texts.filter(|text| text.starts_with("[Files as they are now")).collect()
}

fn recalls(log: &[Entry]) -> Vec<&Recall> {
    let recalls = log.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Recall(recall) => Some(&**recall),
        _ => None,
    });
    recalls.collect()
}

/// Returns a log in which a file is read and edited, and then so much is said that the context is cut.
fn cut_work(builder: &ContextBuilder) -> (Work, Vec<(Source, Message)>) {
    let mut work = Work::default();
    work.say("user", "Mend main.rs.");
    work.read("src/main.rs", &numbered_file("main"));
    work.edit("src/main.rs", "main line 7 of the file", "main line 7 was changed");
    for part in 0..12 {
        work.call(
            "Bash",
            &serde_json::json!({ "command": "make" }),
            &format!("part {part} ").repeat(90),
        );
    }
    let messages = work.build(builder);
    (work, messages)
}

#[test]
fn at_a_cut_a_file_comes_back_as_it_is_now() {
    let (work, messages) = cut_work(&recalling(1_500));
    let shown = shown(&messages);
    assert_eq!(shown.len(), 1, "{messages:?}");
    assert!(shown[0].contains("[src/main.rs, lines 1-20]\nmain line 1 of the file\n"), "{shown:?}");
    assert!(shown[0].contains("main line 7 was changed"), "{shown:?}");
    assert!(!shown[0].contains("main line 7 of the file"), "{shown:?}");
    let recalls = recalls(&work.log);
    assert!(recalls.len() == 1 && recalls[0].replaces);
    let mut sources: Vec<_> = recalls[0].source_ids.iter().map(|id| id.as_str()).collect();
    sources.sort_unstable();
    assert_eq!(sources, ["n2", "n4"]);
}

#[test]
fn the_next_cut_replaces_recalled_text() {
    let builder = recalling(1_500);
    let (mut work, _) = cut_work(&builder);
    for part in 0..12 {
        work.call(
            "Bash",
            &serde_json::json!({ "command": "make" }),
            &format!("more {part} ").repeat(90),
        );
    }
    let messages = work.build(&builder);
    assert_eq!(recalls(&work.log).len(), 2);
    assert_eq!(shown(&messages).len(), 1);
    let summaries = work.log.iter().filter_map(|entry| match &entry.kind {
        EntryKind::CompactionSummary(summary) => Some(&*summary.summary),
        _ => None,
    });
    let summaries: Vec<&str> = summaries.collect();
    assert!(!summaries.is_empty());
    let is_recalled = |text: &&&str| text.contains("Files as they are now");
    assert_eq!(summaries.iter().find(is_recalled), None, "what was recalled is not summarised");
}

#[test]
fn a_file_that_the_work_turns_to_is_appended_and_no_line_comes_twice() {
    let builder = recalling(4_000);
    let mut work = Work::default();
    work.say("user", "Mend all of it.");
    let texts: Vec<String> =
        (0..90).map(|line| format!("util line {line} has some more words in it")).collect();
    work.read("src/util.rs", &texts);
    for name in ["a", "b", "c"] {
        let texts: Vec<String> =
            (0..70).map(|line| format!("{name} line {line} has some more words in it")).collect();
        work.read(&format!("src/{name}.rs"), &texts);
    }
    for part in 0..12 {
        work.call(
            "Bash",
            &serde_json::json!({ "command": "make" }),
            &format!("part {part} ").repeat(60),
        );
    }
    let before = work.build(&builder);
    let is_shown = |messages: &[(Source, Message)]| {
        shown(messages).iter().any(|text| text.contains("util line 80 has"))
    };
    assert!(!is_shown(&before), "{before:?}");
    work.say("assistant", "Now util line 80 in util.rs has to change.");
    work.say("user", "Yes, util line 80.");
    let after = work.build(&builder);
    assert!(is_shown(&after), "{:?}", shown(&after));
    let kept: Vec<_> = before.iter().filter(|(source, _)| *source != Source::Recall).collect();
    assert!(after.iter().take(kept.len()).eq(kept), "what was sent before stays");
    work.say("assistant", "Done with util line 80 in util.rs.");
    work.say("user", "Thanks.");
    let last = shown(&work.build(&builder)).join("\n");
    let mut lines: Vec<&str> =
        last.lines().map(bare).filter(|line| line.starts_with("util line")).collect();
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), count);
}

#[test]
fn an_old_read_does_not_come_back_beside_the_file_as_it_is_now() {
    let builder = recalling(1_500);
    let (mut work, _) = cut_work(&builder);
    work.say("assistant", "Done.");
    work.say("user", "What is main line 7 of the file?");
    let messages = work.build(&builder);
    let texts: Vec<_> = messages.iter().map(|(_, message)| message.text().into_owned()).collect();
    assert!(texts.iter().any(|text| text.contains("main line 7 was changed")), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("→main line 7")), "{texts:?}");
}

#[test]
fn what_was_recalled_from_a_redacted_entry_is_gone() {
    let builder = recalling(1_500);
    let (mut work, _) = cut_work(&builder);
    work.add("redaction", r#"{"targetId":"n2"}"#);
    let log = work.log.clone();
    let built = build(&builder, &of_log(&log));
    let texts: Vec<_> =
        owned(&built).iter().map(|(_, message)| message.text().into_owned()).collect();
    assert!(!texts.iter().any(|text| text.contains("main line 3 of the file")), "{texts:?}");
}

#[test]
fn without_recall_no_file_comes_back() {
    let (work, messages) = cut_work(&builder(ContextConfig::new(1_500)));
    assert!(shown(&messages).is_empty() && recalls(&work.log).is_empty());
}

#[test]
fn a_stub_names_the_newer_run_of_its_command_and_stays_the_same_until_the_next_cut() {
    let mut config = ContextConfig::new(1_500);
    (config.strategies, config.recall_tokens) = (vec![Way::Elide], Some(0));
    let builder = builder(config);
    let mut work = Work::default();
    work.say("user", "Build it.");
    let run = |work: &mut Work, command: &str, words: usize| {
        let arguments = serde_json::json!({ "command": command });
        work.call("Bash", &arguments, &"word ".repeat(words));
    };
    for command in ["make", "make", "ls", "pwd"] {
        run(&mut work, command, 420);
    }
    let sent = |work: &mut Work| format!("{:?}", work.build(&builder));
    let first = sent(&mut work);
    assert!(first.contains("entry n2, newer n4]"), "{first}");
    assert!(!first.contains("entry n4, newer"), "{first}");
    run(&mut work, "make", 1);
    let next = sent(&mut work);
    assert!(next.contains("entry n2, newer n4]") && !next.contains("newer n1"), "{next}");
}

#[derive(Clone, Debug)]
enum Step {
    Say(bool, u8),
    Read(u8),
    Edit(u8, u8),
    Run(u8),
    Build,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (any::<bool>(), 0..8_u8).prop_map(|(user, about)| Step::Say(user, about)),
        3 => (0..4_u8).prop_map(Step::Read),
        3 => (0..4_u8, 0..20_u8).prop_map(|(file, line)| Step::Edit(file, line)),
        3 => (0..200_u8).prop_map(Step::Run),
        4 => Just(Step::Build),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_back_the_budget_holds_and_the_log_alone_gives_the_same(
        steps in proptest::collection::vec(step(), 1..60),
        budget in 600..6_000_u64,
    ) {
        let builder = recalling(budget);
        let mut files: Vec<Vec<String>> =
            ["a", "b", "c", "d"].iter().map(|name| numbered_file(name)).collect();
        let (mut work, mut index) = (Work::default(), ContextIndex::new());
        let mut before = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Say(user, about) => {
                    let role = if user { "user" } else { "assistant" };
                    work.say(role, &format!("Look at {}.rs, line {about}.", ["a", "b", "c", "d"][usize::from(about) % 4]));
                }
                Step::Read(file) => {
                    let text = files[usize::from(file)].clone();
                    work.read(&format!("{}.rs", ["a", "b", "c", "d"][usize::from(file)]), &text);
                }
                Step::Edit(file, line) => {
                    let text = &mut files[usize::from(file)][usize::from(line)];
                    let new = format!("changed by step {number}");
                    let path = format!("{}.rs", ["a", "b", "c", "d"][usize::from(file)]);
                    work.edit(&path, &text.clone(), &new);
                    *text = new;
                }
                Step::Run(words) => {
                    let output = "output ".repeat(usize::from(words));
                    work.call("Bash", &serde_json::json!({ "command": "make" }), &output);
                }
                Step::Build => check(&builder, &mut work, &mut index, &files, &mut before, budget)?,
            }
        }
    }
}

fn check(
    builder: &ContextBuilder,
    work: &mut Work,
    index: &mut ContextIndex,
    files: &[Vec<String>],
    before: &mut Vec<(Source, Message)>,
    budget: u64,
) -> Result<(), TestCaseError> {
    let log = work.log.clone();
    let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
    let built = match builder.build_with(index, &input) {
        Ok(built) => built,
        Err(ContextError::Overflow(_)) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    prop_assert!(built.stats.input_tokens <= budget);
    let stable = |messages: Vec<(Source, Message)>| -> Vec<(Source, Message)> {
        messages.into_iter().filter(|(source, _)| *source != Source::Recall).collect()
    };
    let sent = stable(owned(&built));
    if !built.compacted {
        prop_assert!(sent.len() >= before.len() && sent[..before.len()] == before[..]);
    }
    *before = sent;
    let cold = builder.build_context(&input).unwrap();
    prop_assert_eq!(owned(&cold), owned(&built));
    work.log.extend(built.entries_to_append.iter().cloned());
    let log = work.log.clone();
    let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
    let again = builder.build_with(index, &input).unwrap();
    prop_assert!(again.entries_to_append.is_empty());
    prop_assert_eq!(owned(&again), owned(&built));
    if let Some(EntryKind::Recall(recall)) = work.log.last().map(|entry| &entry.kind) {
        for line in recall.text.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
            prop_assert!(
                files.iter().flatten().any(|known| known == bare(line)),
                "{line} is not there now"
            );
        }
    }
    Ok(())
}
