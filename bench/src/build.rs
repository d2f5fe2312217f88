//! Checks the cost of building a context for a model: it must be close to the cost of copying the sent messages,
//! and the same in a log of a million entries. A summary must cost little more than counting the tokens that it
//! covers.

use std::collections::HashSet;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::time::Duration;

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextError, ContextIndex,
};
use tertulia_context::compact::{Covered, SummaryTask, extract};
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_session::json::Json;
use tertulia_session::{
    ContextCut, CutStrategy, Entry, EntryId, EntryKind, Fields, Message, NewEntry, Part, PartKind,
    Role, ToolCall, ToolResult,
};

use crate::arguments::Scale;
use crate::measure::{alone, in_turns};
use crate::report::{Figure, Theme, grouped};

const FEW_MESSAGES: usize = 1_000;

/// Messages of 320 bytes, about 80 tokens each: a window of 8,000 tokens.
const WINDOW_MESSAGES: usize = 100;

const MESSAGE_BYTES: usize = 320;

/// The limit of a build compared with cutting, deduplicating and copying the same window directly.
const FLOOR_LIMIT: f64 = 3.0;

/// The limit of a build in a log of a million entries, compared with a thousand.
const LENGTH_LIMIT: f64 = 1.5;

/// The limit of an extractive summary, compared with counting the tokens that it covers. Counting takes about 4 ns
/// a byte in texts that repeat their words.
const SUMMARY_LIMIT: f64 = 8.0;

pub(crate) fn measure(scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let mut few = Warm::new(FEW_MESSAGES)?;
    let mut many = Warm::new(scale.stored_messages)?;
    if few.prompt()? != many.prompt()? {
        return Err("the two logs do not give the same messages".into());
    }
    let stored = Stored::window(&few.log);
    if floor(&stored, WINDOW_MESSAGES as u64 * 80).len() > few.prompt()?.len() {
        return Err("the floor sends more than the build".into());
    }
    let by_hand = || floor(&stored, WINDOW_MESSAGES as u64 * 80);
    let against_floor = in_turns(scale.time * 2, FLOOR_LIMIT, by_hand, || few.prompt());
    let name = format!("{} entries against cutting and copying by hand", grouped(FEW_MESSAGES));
    let first = Figure::ratio(name, &against_floor, FLOOR_LIMIT);
    let mut growing = Growing::new()?;
    let with_more = in_turns(scale.time * 2, FLOOR_LIMIT, by_hand, || growing.prompt());
    let more = Figure::ratio("one entry more each time against the same", &with_more, FLOOR_LIMIT);
    let growth = in_turns(scale.time * 4, LENGTH_LIMIT, || few.prompt(), || many.prompt());
    let name = format!("{} entries against {}", grouped(many.messages), grouped(FEW_MESSAGES));
    let second = Figure::ratio(name, &growth, LENGTH_LIMIT);
    let title = "A warm build of a window of 8,000 tokens";
    Ok(Theme { title, figures: vec![first, more, second] })
}

/// Compares summaries of a long session with counting its tokens.
pub(crate) fn measure_summary(scale: &Scale) -> Theme {
    let log = agent_log(scale.stored_messages * 4);
    let messages: Vec<(&EntryId, &Message)> = log.iter().filter_map(message).collect();
    let counter = MessageCounter::new(Tokenizer::O200k);
    let count = || -> u64 {
        messages.iter().map(|(_, message)| counter.count_message(message).count.tokens).sum()
    };
    let covered: Vec<Covered<'_>> =
        messages.iter().map(|(entry, message)| Covered { entry, message }).collect();
    let tokenizer = &counter.tokenizer;
    let task = SummaryTask { previous: None, covered: &covered, max_tokens: 4_096, tokenizer };
    let tokens = count() as usize;
    let pair = in_turns(scale.time, SUMMARY_LIMIT, count, || extract(&task));
    let name = format!("summarising {} tokens against counting them, o200k", grouped(tokens));
    let figure = Figure::ratio(name, &pair, SUMMARY_LIMIT);
    Theme { title: "The extractive compactor", figures: vec![figure] }
}

/// Writes the seconds of a cold and of a warm build of 10,000 messages down to 8,000 tokens, as one JSON object. In
/// the cold build, nothing is counted, cut or indexed yet, but the vocabulary is loaded, as for the other programs.
pub(crate) fn times(writer: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let counter = MessageCounter::new(Tokenizer::O200k);
    counter.tokenizer.count("the vocabulary");
    let builder = ContextBuilder::new(ContextConfig::new(8_000).without_recall())?;
    let builder = builder.with_counter(counter).without_compactor();
    let mut log = log(10_000);
    log.pop();
    let cold = alone(Duration::from_secs(2), || {
        let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
        builder.build_context(&input).map(|built| built.stats)
    });
    let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
    let cut = builder.build_context(&input)?.entries_to_append;
    log.extend(cut);
    let mut index = ContextIndex::new();
    let warm = alone(Duration::from_secs(1), || {
        let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
        builder.build_with(&mut index, &input).map(|built| built.stats)
    });
    writeln!(writer, "{{\"cold\":{},\"warm\":{}}}", cold / 1e9, warm / 1e9)?;
    Ok(())
}

/// A log whose token counts are known.
struct Warm {
    log: Vec<Entry>,
    messages: usize,
    builder: ContextBuilder,
    index: ContextIndex,
}

impl Warm {
    fn new(messages: usize) -> Result<Self, ContextError> {
        let counter = MessageCounter::new(Tokenizer::O200k);
        let builder = ContextBuilder::new(ContextConfig::new(12_000).without_recall())?;
        let builder = builder.with_counter(counter).without_compactor();
        let mut warm = Self { log: log(messages), messages, builder, index: ContextIndex::new() };
        warm.prompt()?;
        Ok(warm)
    }

    fn prompt(&mut self) -> Result<String, ContextError> {
        prompt(&self.builder, &mut self.index, &self.log)
    }
}

/// Returns the messages for the next call, and their text.
fn prompt(
    builder: &ContextBuilder,
    index: &mut ContextIndex,
    log: &[Entry],
) -> Result<String, ContextError> {
    let input = ContextBuildInput { session_entries: log, ..ContextBuildInput::default() };
    let built = builder.build_with(index, &input)?;
    let bytes = built.model_messages.iter().map(|sent| sent.message.text().len() + 16);
    let mut prompt = String::with_capacity(bytes.sum());
    for sent in &built.model_messages {
        prompt.push_str(sent.message.effective_role().as_str());
        prompt.push('\n');
        prompt.push_str(&sent.message.text());
        prompt.push('\n');
    }
    Ok(prompt)
}

/// A log that grows by one entry at every build, and whose token counts are known. It is cut now and then, so that
/// the window has [`WINDOW_MESSAGES`] on average. When all entries are used, the log and its index start again.
struct Growing {
    log: Vec<Entry>,
    len: usize,
    builder: ContextBuilder,
    index: ContextIndex,
}

impl Growing {
    const LEN_MAX: usize = 20 * FEW_MESSAGES;

    const MESSAGES_PER_CUT: usize = WINDOW_MESSAGES / 2;

    fn new() -> Result<Self, ContextError> {
        let counter = MessageCounter::new(Tokenizer::O200k);
        let mut log = Vec::with_capacity(Self::LEN_MAX);
        while log.len() < Self::LEN_MAX {
            for number in 0..Self::MESSAGES_PER_CUT {
                push(&mut log, said(number));
            }
            let kept = WINDOW_MESSAGES - Self::MESSAGES_PER_CUT / 2;
            let newest = log.iter().filter(|entry| message(entry).is_some()).rev();
            let first_kept = newest.take(kept).last().map(|entry| entry.id.clone());
            push(&mut log, cut(first_kept));
        }
        let mut index = ContextIndex::new();
        let tokens = |message: &Message| counter.count_message(message).count.tokens;
        let messages = log.iter().filter_map(message);
        index.add_counts(messages.map(|(id, message)| (id.clone(), tokens(message))));
        let builder = ContextBuilder::new(ContextConfig::new(12_000).without_recall())?;
        let builder = builder.with_counter(counter).without_compactor();
        Ok(Self { log, len: FEW_MESSAGES, builder, index })
    }

    fn prompt(&mut self) -> Result<String, ContextError> {
        if self.len == self.log.len() {
            self.len = FEW_MESSAGES;
        }
        self.len += 1;
        prompt(&self.builder, &mut self.index, &self.log[..self.len])
    }
}

/// The prepared input of [`floor`].
struct Stored {
    tokens: u64,
    hash: u64,
    role: &'static str,
    text: String,
}

impl Stored {
    fn window(log: &[Entry]) -> Vec<Self> {
        let messages = log.iter().filter_map(message);
        let stored = messages.map(|(_, message)| {
            let mut hasher = DefaultHasher::new();
            message.text().hash(&mut hasher);
            let (role, text) = (message.effective_role().as_str(), message.text().into_owned());
            Self { tokens: 80, hash: hasher.finish(), role, text }
        });
        stored.collect()
    }
}

/// The minimum work of a build: cuts by stored counts, deduplicates by stored hashes, and copies.
fn floor(stored: &[Stored], budget: u64) -> String {
    let (mut tokens, mut first) = (0, stored.len());
    while first > 0 && tokens + stored[first - 1].tokens <= budget {
        first -= 1;
        tokens += stored[first].tokens;
    }
    let mut seen = HashSet::with_capacity(stored.len() - first);
    let bytes = stored[first..].iter().map(|one| one.text.len() + 16);
    let mut prompt = String::with_capacity(bytes.sum());
    for one in &stored[first..] {
        if seen.insert(one.hash) {
            prompt.push_str(one.role);
            prompt.push('\n');
            prompt.push_str(&one.text);
            prompt.push('\n');
        }
    }
    prompt
}

/// A log that was cut once, so that the newest messages are the window. Logs of different lengths end with the same
/// text.
fn log(messages: usize) -> Vec<Entry> {
    let mut log: Vec<Entry> = Vec::with_capacity(messages + 1);
    for back in (0..messages).rev() {
        push(&mut log, said(back));
    }
    let first_kept = log.len().saturating_sub(WINDOW_MESSAGES);
    let first_kept = log.get(first_kept).map(|entry| entry.id.clone());
    push(&mut log, cut(first_kept));
    log
}

/// Returns a message of a user or of an assistant.
fn said(number: usize) -> EntryKind {
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let text = words(number, MESSAGE_BYTES);
    EntryKind::Message(Message::with_role(role, std::iter::once(Part::text(text)).collect()))
}

fn cut(first_kept_entry_id: Option<EntryId>) -> EntryKind {
    EntryKind::ContextCut(ContextCut {
        strategy: CutStrategy::Drop,
        first_kept_entry_id,
        elided_ids: None,
        tokens_before: 0,
        tokens_after: 0,
        reason: "measured".into(),
        kept_ids: Some(Vec::new()),
        scale_permille: None,
        member: None,
        unknown: Fields::NONE,
    })
}

/// Returns an agent's session of about this many bytes: requests, answers with tool calls, and file contents as output.
pub(crate) fn agent_log(bytes: usize) -> Vec<Entry> {
    let mut log = Vec::new();
    let mut written = 0;
    for step in 0.. {
        if written >= bytes {
            break;
        }
        let request =
            format!("Please fix src/part_{step}.rs: it must never fail. {}", words(step, 200));
        let path = format!("src/part_{step}.rs");
        let call = ToolCall {
            tool_call_id: format!("call-{step}").into(),
            tool_name: "read_file".into(),
            arguments: Json::parse(&format!("{{\"path\":\"{path}\"}}"))
                .unwrap_or_else(|_| Json::text(&path)),
            raw_args_text: None,
        };
        let code = (0..40).map(|line| format!("    let value_{line} = compute_{step}({line});\n"));
        let code: String = code.collect();
        written += request.len() + code.len() + path.len();
        let result = ToolResult {
            tool_call_id: call.tool_call_id.clone(),
            is_error: step % 7 == 0,
            content: Json::text(&code),
        };
        let said = |role, parts: Vec<Part>| {
            EntryKind::Message(Message::with_role(role, parts.into_iter().collect()))
        };
        push(&mut log, said(Role::User, vec![Part::text(request)]));
        let answer = format!("I decided to read {path} first.");
        let call = Part::new(PartKind::ToolCall(Box::new(call)));
        push(&mut log, said(Role::Assistant, vec![Part::text(answer), call]));
        let result = Part::new(PartKind::ToolResult(Box::new(result)));
        push(&mut log, said(Role::Tool, vec![result]));
    }
    log
}

fn push(log: &mut Vec<Entry>, kind: EntryKind) {
    let entry = NewEntry::new(kind);
    let entry = match log.last() {
        Some(parent) => entry.after(parent),
        None => entry,
    };
    log.push(entry.with_content_id());
}

fn message(entry: &Entry) -> Option<(&EntryId, &Message)> {
    match &entry.kind {
        EntryKind::Message(message) => Some((&entry.id, message)),
        _ => None,
    }
}

/// Returns words that differ for every number.
fn words(number: usize, bytes: usize) -> String {
    let mut text = format!("{number}:");
    let mut state = number as u64;
    while text.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[(state >> 59) as usize % WORDS.len()];
        text.push(' ');
        text.push_str(word);
    }
    text.truncate(bytes);
    text
}

const WORDS: [&str; 16] = [
    "the", "button", "moves", "below", "form", "when", "device", "is", "new", "and", "numbers",
    "are", "weeks", "old", "before", "decide",
];
