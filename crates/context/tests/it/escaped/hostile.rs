//! Parsing a prompt gives its input back, whatever the texts and the names are.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_context::{
    Assembler, AssemblerInput, ContextKind, ContextMessage, PromptStatus, SpokenBy, trim,
};
use tertulia_session::Addressee;

use super::formats;
use super::parser::{Item, Label, Parsed, parse};
use crate::properties::arbitrary::at_least;

/// Pieces of texts and names that look like structure.
const PIECES: [&str; 44] = [
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{1e}",
    "- ",
    " -> ",
    ": ",
    "[MESSAGE]",
    "[CONTEXT]",
    "[SYSTEM]",
    "[TEAM_TASK]",
    "[MESSAGE from ann]",
    "Your task:",
    "Instructions:",
    "Conversation so far:",
    "Your task, from ann:",
    "[summary of 3 messages]: ",
    "[recalled e-1 from ann]: ",
    " (built-in)",
    " (tool output)",
    "all",
    "ann",
    "max",
    "\"",
    "\\",
    "\\u000a",
    "  ",
    " ",
    "\t",
    "@",
    ",",
    ", ",
    " from ",
    "]",
    "é",
    "中",
    "\u{feff}",
    "\u{200b}",
];

fn hostile() -> impl Strategy<Value = String> {
    vec(select(&PIECES[..]), 0..10).prop_map(|pieces| pieces.concat())
}

/// Returns a hostile name, short enough not to be cut.
fn name() -> impl Strategy<Value = String> {
    hostile().prop_map(|text| text.chars().take(80).collect())
}

fn by() -> impl Strategy<Value = SpokenBy> {
    select(vec![SpokenBy::Member, SpokenBy::BuiltIn, SpokenBy::Namesake, SpokenBy::Tool])
}

fn note(by: SpokenBy) -> String {
    let note = match by {
        SpokenBy::Member => "",
        SpokenBy::BuiltIn => " (built-in)",
        SpokenBy::Namesake => " (agent)",
        SpokenBy::Tool => " (tool output)",
    };
    note.to_owned()
}

/// An item that owns the fields that a message of the context borrows.
#[derive(Clone, Debug)]
enum Kind {
    Text(Option<String>),
    Speech(Vec<Addressee>, SpokenBy),
    Summary(usize),
    Recalled(String, SpokenBy),
    Titled(&'static str),
}

fn kind() -> impl Strategy<Value = Kind> {
    let names = vec(name().prop_map(Addressee::named), 0..3);
    prop_oneof![
        1 => option::of(name()).prop_map(Kind::Text),
        4 => (names, by()).prop_map(|(to, by)| Kind::Speech(to, by)),
        1 => (0..3_usize).prop_map(Kind::Summary),
        2 => (name(), by()).prop_map(|(entry, by)| Kind::Recalled(entry, by)),
        1 => select(&["answer A", "answer B"][..]).prop_map(Kind::Titled),
    ]
}

fn message<'a>((from, content, kind): &'a (String, String, Kind)) -> ContextMessage<'a> {
    let (kind, to) = match kind {
        Kind::Text(to) => (ContextKind::Text, to.as_deref()),
        Kind::Speech(to, by) => (ContextKind::Speech { to, by: *by }, None),
        Kind::Summary(messages) => (ContextKind::Summary { messages: *messages, older: 0 }, None),
        Kind::Recalled(entry, by) => (ContextKind::Recalled { entry, by: *by }, None),
        Kind::Titled(title) => (ContextKind::Titled { title }, None),
    };
    ContextMessage { from: from.into(), to: to.map(Into::into), content: content.into(), kind }
}

/// Returns the item that the parser should find.
fn item((from, content, kind): &(String, String, Kind), has_addressees: bool) -> Item {
    let speech =
        |note, to| Label::Speech { from: from.clone(), note, to: has_addressees.then_some(to) };
    let label = match kind {
        Kind::Text(to) => speech(String::new(), to.iter().cloned().collect()),
        Kind::Speech(to, by) => {
            speech(note(*by), to.iter().map(|one| one.identifier.to_string()).collect())
        }
        Kind::Summary(messages) => Label::Summary(*messages),
        Kind::Recalled(entry, by) => {
            Label::Recalled { entry: entry.clone(), from: from.clone(), note: note(*by) }
        }
        Kind::Titled(title) => Label::Titled((*title).to_owned()),
    };
    Item { label, content: content.clone() }
}

fn is_gemini(format: &Assembler) -> bool {
    format.agent_type().as_str() == "google-gemini"
}

proptest! {
    #![proptest_config(at_least(1500))]

    #[test]
    fn a_prompt_is_read_as_it_was_written(
        format in select(formats().to_vec()),
        items in vec((name(), hostile(), kind()), 0..5),
        texts in (hostile(), hostile(), hostile(), hostile()),
        sender in option::of((name(), by())),
        max_bytes in prop_oneof![2 => 0..900_u64, 3 => Just(u64::MAX)],
    ) {
        let (instruction, file, task, current) = &texts;
        let input = AssemblerInput {
            context_messages: items.iter().map(message).collect(),
            current_message: current.into(),
            team_task: Some(task.into()),
            system_instruction: Some(instruction.into()),
            instruction_file_text: Some(file.into()),
            max_bytes,
        };
        let is_gemini = is_gemini(&format);
        let format = match &sender {
            Some((name, by)) => format.with_sender(name, *by),
            None => format,
        };
        let output = format.assemble(&input);
        let flag = output.system_flag.as_deref();
        let size = output.prompt.len() + flag.map_or(0, str::len);
        prop_assert_eq!(output.bytes.total(), size);
        prop_assert_eq!(size as u64 > max_bytes, output.status == PromptStatus::OverBudget);

        let read = parse(&output.prompt).map_err(TestCaseError::fail)?;
        let system: Vec<&str> =
            [trim(instruction), trim(file)].into_iter().filter(|text| !text.is_empty()).collect();
        let system = system.join("\n\n");
        let is_flag = format.agent_type().as_str() == "claude-code";
        prop_assert_eq!(flag.unwrap_or_default(), if is_flag { &system } else { "" });
        let whole = trim(current);
        let is_cut = output.status > PromptStatus::ContextTrimmed;
        let message = if is_cut { read.message.clone() } else { whole.to_owned() };
        let is_shorter = message.len() < whole.len() || whole.is_empty();
        prop_assert!(whole.starts_with(&message) && (!is_cut || is_shorter));
        let sender = sender.map(|(name, by)| (name, note(by)));
        let kept = &items[items.len() - output.kept_context..];
        let expected = Parsed {
            system: if is_flag { String::new() } else { system },
            task: trim(task).to_owned(),
            items: kept.iter().map(|one| item(one, !is_gemini)).collect(),
            sender: sender.filter(|_| !message.is_empty()),
            message,
        };
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn a_message_is_cut_only_where_one_more_character_does_not_fit(
        format in select(formats().to_vec()),
        current in hostile(),
        max_bytes in 0..120_u64,
    ) {
        let input = |max_bytes, current: &str| AssemblerInput {
            context_messages: Vec::new(),
            current_message: current.to_owned().into(),
            team_task: None,
            system_instruction: None,
            instruction_file_text: None,
            max_bytes,
        };
        let output = format.assemble(&input(max_bytes, &current));
        if output.status == PromptStatus::MessageTruncated {
            let whole = trim(&current);
            let kept = parse(&output.prompt).unwrap().message;
            let next = whole[kept.len()..].chars().next().unwrap();
            let header = output.bytes.message - written(&kept);
            let longer = header + written(&format!("{kept}{next}"));
            prop_assert!(longer as u64 > max_bytes);
        }
    }
}

/// Returns how many bytes a text needs below a header.
fn written(text: &str) -> usize {
    tertulia_context::indented(text, tertulia_context::LineStart::Margin).len()
}
