//! The table of `tertulia build --explain`: the tokens of each part, and the outcome of every entry.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use tertulia_chat::terminal::{excerpt, grouped};
use tertulia_context::builder::{ModelMessage, Source};
use tertulia_context::{Outcome, Verdict};
use tertulia_operations::model_context::BuildOutput;
use tertulia_operations::names::short;
use tertulia_session::{Entry, EntryId, EntryKind, Part, PartKind, json};

use crate::commands::drawing::{Paint, bar, padded, share};

const ID_COLUMNS: usize = 12;
const ROLE_COLUMNS: usize = 14;
const EXCERPT_COLUMNS: usize = 36;

pub(super) fn write(output: &BuildOutput<'_>, out: &mut dyn Write, colour: bool) -> io::Result<()> {
    let paint = Paint::new(colour);
    write_head(output, out, &paint)?;
    write_zones(output, out, &paint)?;
    write_entries(output, out, &paint)
}

fn write_head(output: &BuildOutput<'_>, out: &mut dyn Write, paint: &Paint) -> io::Result<()> {
    let (stats, setup) = (&output.result.stats, &output.input.setup);
    let name = setup.model.as_deref().unwrap_or_else(|| setup.counter.tokenizer.id());
    let about = if stats.exact { "" } else { "~" };
    let [used, limit] = [stats.input_tokens, setup.limit()].map(grouped);
    let became = match (output.result.compacted, stats.dropped_messages_count) {
        (true, _) => paint.warning("history was cut; append the new entries to the log"),
        (false, 0) => paint.good("everything is sent"),
        (false, _) => paint.good("older history was cut before"),
    };
    let name = paint.strong(&excerpt(name, 40));
    writeln!(out, "{name}  {about}{used} of {limit} tokens  {became}\n")
}

fn write_zones(output: &BuildOutput<'_>, out: &mut dyn Write, paint: &Paint) -> io::Result<()> {
    let sum = |is: fn(&Source) -> bool| {
        let sent = output.result.model_messages.iter().filter(|sent| is(&sent.source));
        sent.map(|sent| sent.tokens).sum::<u64>()
    };
    let counter = &output.input.setup.counter;
    let rows = [
        ("frozen", "system", sum(|source| *source == Source::System)),
        ("frozen", "tools", counter.count_tools(&output.input.tool_specs).tokens),
        ("history", "summary", sum(|source| matches!(source, Source::Summary(_)))),
        ("history", "messages", sum(|source| matches!(source, Source::Entry(_)))),
        ("volatile", "recall", sum(|source| *source == Source::Recall)),
        ("volatile", "hints", sum(|source| *source == Source::RuntimeHints)),
        ("reply", "prefix", counter.count_reply().tokens),
    ];
    let total: u64 = rows.iter().map(|(.., tokens)| tokens).sum();
    let titles = format!("{:<10} {:<14} {:>12}", "zone", "part", "tokens");
    writeln!(out, "{}", paint.faint(&titles))?;
    for (zone, part, tokens) in rows.into_iter().filter(|(.., tokens)| *tokens > 0) {
        let [size, whole] = [tokens, total].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let (share, bar) = (share(size, whole), bar(size, whole));
        writeln!(out, "{zone:<10} {part:<14} {:>12}  {share:>5}  {bar}", grouped(tokens))?;
    }
    let scale = output.result.stats.scale_permille;
    if scale != 1_000 {
        let (whole, part) = (scale / 1_000, scale % 1_000);
        writeln!(out, "The usage that the API reported is {whole}.{part:03} times these counts.")?;
    }
    writeln!(out)
}

fn write_entries(output: &BuildOutput<'_>, out: &mut dyn Write, paint: &Paint) -> io::Result<()> {
    if output.result.verdicts.is_empty() {
        return writeln!(out, "No entries.");
    }
    let titles = format!("{} {:>9}  outcome", row("entry", "role", "text"), "tokens");
    writeln!(out, "{}", paint.faint(&titles))?;
    let log = &output.input.session_entries;
    let made = &output.result.entries_to_append;
    let entries: HashMap<&str, &Entry> =
        log.iter().chain(made).map(|entry| (entry.id.as_str(), entry)).collect();
    let counts = tokens(output);
    for verdict in &output.result.verdicts {
        let id = verdict.entry.as_str();
        let tokens = counts.get(id).map_or_else(|| "–".to_owned(), |tokens| grouped(*tokens));
        let entry = entries.get(id).copied();
        let begins = entry.map(|entry| begins(entry, verdict)).unwrap_or_default();
        let row = row(&short(id), entry.map_or("", role), &begins);
        writeln!(out, "{row} {tokens:>9}  {}", became(verdict, paint))?;
    }
    write_recalled(output, out, paint)
}

/// Writes the words that led to each recalled passage, one line per passage.
fn write_recalled(output: &BuildOutput<'_>, out: &mut dyn Write, paint: &Paint) -> io::Result<()> {
    if output.result.recalled.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.faint("recalled     for these words, with their weights"))?;
    for passage in &output.result.recalled {
        let words = passage.matches.iter().map(|one| {
            let word = excerpt(&one.word, EXCERPT_COLUMNS);
            let added = if one.is_added { " (added)" } else { "" };
            format!("{word} {}{added}", grouped(one.weight))
        });
        let words: Vec<String> = words.collect();
        let words = match words.is_empty() {
            true => "none: it is next to a passage that was found".to_owned(),
            false => words.join(", "),
        };
        let id = padded(&excerpt(&short(passage.entry.as_str()), ID_COLUMNS), ID_COLUMNS);
        writeln!(out, "{id} {words}")?;
    }
    Ok(())
}

/// Returns the tokens of every entry: as sent, or if it is not sent, as counted in the log.
fn tokens(output: &BuildOutput<'_>) -> HashMap<EntryId, u64> {
    let mut tokens: HashMap<_, _> = output.index.counts(&output.input.session_entries).collect();
    let mut sent: HashMap<EntryId, u64> = HashMap::new();
    for ModelMessage { tokens, source, .. } in &output.result.model_messages {
        if let Source::Entry(id) | Source::Summary(id) = source {
            *sent.entry(id.clone()).or_default() += tokens;
        }
    }
    tokens.extend(sent);
    tokens
}

fn row(id: &str, role: &str, begins: &str) -> String {
    let column = |text: &str, columns| padded(&excerpt(text, columns), columns);
    let (id, role) = (column(id, ID_COLUMNS), column(role, ROLE_COLUMNS));
    format!("{id} {role} {}", padded(begins, EXCERPT_COLUMNS))
}

fn role(entry: &Entry) -> &str {
    match &entry.kind {
        EntryKind::Message(message) => message.effective_role().as_str(),
        other => other.type_name(),
    }
}

/// Returns the beginning of an entry's text, or nothing for a hidden entry.
fn begins(entry: &Entry, verdict: &Verdict) -> String {
    if matches!(verdict.outcome, Outcome::Hidden { .. }) {
        return String::new();
    }
    match &entry.kind {
        EntryKind::Message(message) => {
            let mut said = message.parts.iter().map(|part| excerpt(&words(part), EXCERPT_COLUMNS));
            said.find(|text| !text.is_empty()).unwrap_or_default()
        }
        EntryKind::CompactionSummary(summary) => excerpt(&summary.summary, EXCERPT_COLUMNS),
        EntryKind::Recall(recall) => excerpt(&recall.text, EXCERPT_COLUMNS),
        EntryKind::SystemPromptOverride(other) => excerpt(&other.system_prompt, EXCERPT_COLUMNS),
        _ => String::new(),
    }
}

/// Returns the text of a part, or a description.
fn words(part: &Part) -> Cow<'_, str> {
    match &part.kind {
        PartKind::Text(text) | PartKind::Thinking(text) => Cow::Borrowed(text),
        PartKind::ToolCall(call) => {
            format!("{} {}", call.tool_name, call.arguments.as_str()).into()
        }
        PartKind::ToolResult(result) => json::words(result.content.raw()),
        PartKind::FileRef(file) => Cow::Borrowed(&file.path),
        PartKind::Image(image) => Cow::Borrowed(&image.mime_type),
        PartKind::Other(other) => Cow::Borrowed(&other.kind),
    }
}

fn became(verdict: &Verdict, paint: &Paint) -> String {
    let state = verdict.outcome.as_str();
    let mut text = match &verdict.outcome {
        Outcome::Kept => paint.good(state),
        // The summary covers all of these.
        Outcome::Elided | Outcome::Summarized { .. } => paint.warning(state),
        Outcome::Dropped { reason } => paint.bad(&format!("{state}: {}", reason.as_str())),
        Outcome::Hidden { reason } => paint.faint(&format!("{state}: {}", reason.as_str())),
        _ => state.to_owned(),
    };
    if verdict.recalled {
        text.push_str(", recalled");
    }
    text
}
