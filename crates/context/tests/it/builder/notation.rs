//! A small notation for logs and contexts, so that a test is easy to read: lines in, lines out.
//!
//! A line of a log is an entry after the one before it: `u hi`, `a text +call`, `t =call`, `s rule`. It may begin
//! with `@3` (the parent is entry 3; `@-` means no parent) and `!` (the entry is pinned).
//!
//! Words: `+1` is a call, `=1` its result, `#1` a failed result, `~hm` thinking, `_` a space, `img` a picture, `odd`
//! an unknown part, `hi*400` a word of 400 bytes, `k$k` a word that contains the position of its entry.
//!
//! Other entries: `prompt p`, `init {..}`, `usage m 12`, `branch text`, `redact 3`, `odd`, `task t`, `sum first=3
//! kept=0,1 text`, `drop first=3 kept=0`, `elide 2,4`.

use tertulia_session::json::Json;
use tertulia_session::{
    BranchSummary, CompactionSummary, ContextCut, CutStrategy, Entry, EntryId, EntryKind, Fields,
    Image, ImageSource, Message, NewEntry, OtherEntry, OtherPart, Part, PartKind, Redaction, Role,
    RuntimeInit, SystemPromptOverride, TeamTask, ToolCall, ToolResult, Usage,
};

pub(super) fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Returns the log of these lines; the entry of line 3 is `e3`.
pub(super) fn log(lines: &[&str]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for line in lines {
        append(&mut entries, line);
    }
    entries
}

/// Returns the same log without `parentId`, as programs without branches write it.
pub(super) fn legacy_log(lines: &[&str]) -> Vec<Entry> {
    let mut entries = log(lines);
    for entry in &mut entries {
        entry.parent_id = None;
    }
    entries
}

pub(super) fn append(log: &mut Vec<Entry>, line: &str) {
    let line = line.replace('$', &log.len().to_string());
    let (mut parent_id, mut rest) = (log.last().map(|entry| entry.id.clone()), line.as_str());
    if let Some(after) = rest.strip_prefix('@') {
        let (place, words) = after.split_once(' ').unwrap();
        parent_id = place.parse().ok().map(|place| id(log, place));
        rest = words;
    }
    let pinned = rest.strip_prefix('!');
    let kind = kind(log, pinned.unwrap_or(rest));
    let meta = pinned.map(|_| json(r#"{"pinned":true}"#));
    let id = EntryId::from(format!("e{}", log.len()).as_str());
    log.push(
        NewEntry { parent_id, kind, timestamp: None, run_id: None, meta, salt: None }.with_id(id),
    );
}

fn id(log: &[Entry], place: usize) -> EntryId {
    let named = || EntryId::from(format!("e{place}").as_str());
    log.get(place).map_or_else(named, |entry| entry.id.clone())
}

fn kind(log: &[Entry], line: &str) -> EntryKind {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let unknown = Fields::NONE;
    match word {
        "prompt" => EntryKind::SystemPromptOverride(SystemPromptOverride {
            system_prompt: rest.into(),
            unknown,
        }),
        "init" => EntryKind::RuntimeInit(RuntimeInit { data: json(rest), unknown }),
        "usage" => EntryKind::Usage(usage(rest)),
        "branch" => EntryKind::BranchSummary(BranchSummary {
            source_session_id: "other".into(),
            source_entry_id: EntryId::from("x"),
            summary: (!rest.is_empty()).then(|| text(rest).into()),
            unknown,
        }),
        "redact" => EntryKind::Redaction(Redaction::new(&id(log, rest.parse().unwrap()))),
        "task" => EntryKind::TeamTask(TeamTask::set(rest)),
        "odd" => {
            EntryKind::Other(OtherEntry { type_name: "odd".into(), payload: Some(json("[1]")) })
        }
        "sum" => EntryKind::CompactionSummary(Box::new(summary(log, rest))),
        "drop" | "elide" => EntryKind::ContextCut(cut(log, word, rest)),
        _ => EntryKind::Message(message(line)),
    }
}

fn usage(line: &str) -> Usage {
    let mut words = line.split_whitespace();
    let member = words.next().unwrap().into();
    let input_tokens = words.next().unwrap().parse().unwrap();
    let model = words.next().map(Into::into);
    Usage { member, model, input_tokens, output_tokens: 1, ..Usage::default() }
}

fn ids(log: &[Entry], places: &str) -> Vec<EntryId> {
    let places = places.split(',').filter(|place| !place.is_empty());
    places.map(|place| id(log, place.parse().unwrap())).collect()
}

fn summary(log: &[Entry], line: &str) -> CompactionSummary {
    let mut said = Vec::new();
    let (mut first, mut kept_ids) = (0, None);
    for word in line.split_whitespace() {
        match word.split_once('=') {
            Some(("first", place)) => first = place.parse().unwrap(),
            Some(("kept", places)) => kept_ids = Some(ids(log, places)),
            _ => said.push(text(word)),
        }
    }
    CompactionSummary {
        summary: said.join(" ").into(),
        first_kept_entry_id: id(log, first),
        covered_from_id: None,
        covered_to_id: None,
        covered_count: None,
        covered_hash: None,
        tokens_before: None,
        tokens_after: None,
        strategy: None,
        author: None,
        kept_ids,
        refused: None,
        scale_permille: None,
        reason: None,
        older_count: None,
        member: None,
        unknown: Fields::NONE,
    }
}

fn cut(log: &[Entry], word: &str, line: &str) -> ContextCut {
    let is_drop = word == "drop";
    let old = is_drop.then(|| summary(log, line));
    ContextCut {
        strategy: if is_drop { CutStrategy::Drop } else { CutStrategy::Elide },
        first_kept_entry_id: old.as_ref().map(|old| old.first_kept_entry_id.clone()),
        elided_ids: (!is_drop).then(|| ids(log, line)),
        tokens_before: 9,
        tokens_after: 1,
        reason: "test".into(),
        kept_ids: old.and_then(|old| old.kept_ids),
        scale_permille: None,
        member: None,
        unknown: Fields::NONE,
    }
}

/// Returns a message such as `u hi`. A word such as `usage=700` adds a report of its provider.
pub(super) fn message(line: &str) -> Message {
    let (role, words) = line.split_once(' ').unwrap_or((line, ""));
    let role = match role {
        "s" => Role::System,
        "u" => Role::User,
        "a" => Role::Assistant,
        _ => Role::Tool,
    };
    let (reports, words): (Vec<&str>, Vec<&str>) =
        words.split_whitespace().partition(|word| word.starts_with("usage="));
    let mut message = Message::with_role(role, words.into_iter().map(part).collect());
    let report = reports.first().map(|word| &word["usage=".len()..]);
    message.meta = report.map(|number| json(&format!(r#"{{"usage":{{"inputTokens":{number}}}}}"#)));
    message
}

pub(super) fn messages(lines: &[&str]) -> Vec<Message> {
    lines.iter().map(|line| message(line)).collect()
}

/// Returns a word such as `hi*400` at its full length, as many different names that begin with it.
pub(super) fn text(word: &str) -> String {
    let Some((word, length)) = word.split_once('*') else { return word.to_owned() };
    let length: usize = length.parse().unwrap();
    let mut text = String::with_capacity(length + 16);
    for number in 0.. {
        text.push_str(&format!("{word}.{number} "));
        if text.len() >= length {
            break;
        }
    }
    text.truncate(length);
    text
}

fn part(word: &str) -> Part {
    let split = |rest: &str| {
        let id: Box<str> = rest.split('*').next().unwrap_or_default().into();
        let content = if rest.contains('*') { text(&format!("r{rest}")) } else { "ok".to_owned() };
        (id, content)
    };
    let kind = match word.split_at(1) {
        ("+", rest) => {
            let (tool_call_id, content) = split(rest);
            let arguments = json(&format!("{{\"a\":{}}}", Json::text(&content).as_str()));
            let (tool_name, raw_args_text) = ("tool".into(), None);
            PartKind::ToolCall(Box::new(ToolCall {
                tool_call_id,
                tool_name,
                arguments,
                raw_args_text,
            }))
        }
        (sign @ ("=" | "#"), rest) => {
            let (tool_call_id, content) = split(rest);
            let (is_error, content) = (sign == "#", Json::text(&content));
            PartKind::ToolResult(Box::new(ToolResult { tool_call_id, is_error, content }))
        }
        ("~", thought) => PartKind::Thinking(text(thought)),
        ("_", "") => PartKind::Text(" \n".to_owned()),
        _ if word == "img" => PartKind::Image(Box::new(Image {
            mime_type: "image/png".into(),
            source: ImageSource::Data("no base64!".into()),
        })),
        _ if word == "odd" => PartKind::Other(Box::new(OtherPart {
            kind: "odd".into(),
            payload: Some(json(r#"{"x":1}"#)),
        })),
        _ => PartKind::Text(text(word)),
    };
    Part::new(kind)
}

/// Returns a message as its line: long texts as their first word and length, stubs as `%1`, results that were made
/// up as `!1`.
pub(super) fn shown(message: &Message) -> String {
    let role = match message.effective_role() {
        Role::System => "s",
        Role::User => "u",
        Role::Assistant => "a",
        Role::Tool => "t",
    };
    let parts = message.parts.iter().map(shown_part);
    std::iter::once(role.to_owned()).chain(parts).collect::<Vec<_>>().join(" ")
}

fn shown_part(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) if text.trim().is_empty() => "_".to_owned(),
        PartKind::Text(text) => short(text),
        PartKind::Thinking(text) => format!("~{}", short(text)),
        PartKind::ToolCall(call) => format!("+{}", call.tool_call_id),
        PartKind::ToolResult(result) => {
            let (id, content) = (&result.tool_call_id, result.content.as_str());
            let length = content.len() - 2;
            match () {
                () if content == Json::text(ToolResult::NOT_RECORDED).as_str() => format!("!{id}"),
                () if content.starts_with("\"[elided: ") => format!("%{id}"),
                () if result.is_error => format!("#{id}"),
                () if length > 40 => format!("={id}*{length}"),
                () => format!("={id}"),
            }
        }
        PartKind::Image(_) => "img".to_owned(),
        PartKind::FileRef(file) => file.path.to_string(),
        PartKind::Other(other) => other.kind.to_string(),
    }
}

fn short(text: &str) -> String {
    match text.len() {
        0..=40 => text.replace('\n', "|"),
        length => {
            let end = text.find(['.', ' ', '\n']).unwrap_or(text.len().min(20));
            format!("{}*{length}", text.get(..end).unwrap_or("?"))
        }
    }
}
