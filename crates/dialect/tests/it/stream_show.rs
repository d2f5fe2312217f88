//! Formats the events and the result of a stream as readable lines, for the tests that compare them.

use std::fmt::Write as _;

use tertulia_dialect::stream::{
    Cost, ErrorClass, Scope, StreamEvent, StreamParser, TurnError, TurnOutput, Usage,
};

use crate::stream_fixtures::Fixture;

/// Compares the events and the result of a recorded stream with these lines.
#[track_caller]
pub(crate) fn check(name: &str, expected: &str) {
    let fixture = Fixture::named(name);
    let (events, output) = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
    assert_eq!(show(&events, &output), expected, "{name}");
}

/// Parses the chunks, and ends the turn in the recorded way.
pub(crate) fn run<'a>(
    mut parser: StreamParser,
    fixture: &Fixture,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, TurnOutput) {
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut events);
    }
    let output = parser.finish(fixture.exit, "", &mut events);
    (joined(events), output)
}

/// Returns the events, with adjacent pieces of text joined.
pub(crate) fn joined(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut joined: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (
                Some(StreamEvent::TextDelta { text: before }),
                StreamEvent::TextDelta { text: piece },
            )
            | (
                Some(StreamEvent::Thinking { text: before }),
                StreamEvent::Thinking { text: piece },
            ) => before.push_str(&piece),
            (_, event) => joined.push(event),
        }
    }
    joined
}

/// Returns one line for each event, and the result.
pub(crate) fn show(events: &[StreamEvent], output: &TurnOutput) -> String {
    let mut shown = String::from("\n");
    for event in events {
        writeln!(shown, "{}", show_event(event)).unwrap();
    }
    match (&output.final_text, &output.error) {
        (Some(text), None) => writeln!(shown, "=> {:?}", text.text).unwrap(),
        (None, Some(error)) => writeln!(shown, "=> {}", show_error(error)).unwrap(),
        other => panic!("an answer or an error, not {other:?}"),
    }
    if let Some(partial) = &output.partial_text {
        writeln!(shown, "   so far {partial:?}").unwrap();
    }
    shown
}

fn show_event(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Started { session_id, model } => {
            let short = session_id.as_deref().map(|id| id.get(..8).unwrap_or(id));
            format!("started {} {}", short.unwrap_or("-"), model.as_deref().unwrap_or("-"))
        }
        StreamEvent::TextDelta { text } => format!("text {text:?}"),
        StreamEvent::TextEnd => "text ends".to_owned(),
        StreamEvent::TextWithdrawn => "text withdrawn".to_owned(),
        StreamEvent::Thinking { text } => format!("thinking {text:?}"),
        StreamEvent::ToolStarted { id, name, input, parent } => {
            let by = parent.as_ref().map(|id| format!(" by {}", short_id(id))).unwrap_or_default();
            format!("tool {name} {}{by} {input:?}", short_id(id))
        }
        StreamEvent::ToolFinished { id, name, output, is_error } => {
            let name = name.as_deref().unwrap_or("?");
            let how = if *is_error { "failed" } else { "done" };
            let output = output.as_ref().map(|text| text.chars().take(80).collect::<String>());
            format!("tool {name} {} {how} {output:?}", short_id(id))
        }
        StreamEvent::ToolDenied(denied) => {
            format!("tool {} {} denied", denied.name, short_id(&denied.id))
        }
        StreamEvent::Usage(usage) => format!("usage {}", show_usage(usage)),
        StreamEvent::Cost(Cost { usd, scope }) => format!("cost {usd} {}", show_scope(*scope)),
        StreamEvent::Warning { class, message } => {
            let class = class.map_or("-", ErrorClass::as_str);
            format!("warning {class}: {}", beginning(message))
        }
        StreamEvent::FinalText { origin, .. } => format!("success {origin:?}"),
        StreamEvent::Failed(error) => format!("failed {}", show_error(error)),
        StreamEvent::Violation { kind, line } => {
            format!("violation {kind:?} in {} bytes", line.len())
        }
        StreamEvent::Unparsed { reason, line } => {
            format!("unparsed {reason:?}: {}", line.escape_ascii())
        }
        StreamEvent::Oversize { length, prefix } => {
            format!("oversize {length}: {}", prefix.escape_ascii())
        }
        new => unreachable!("not shown yet: {new:?}"),
    }
}

/// Returns the end of an id, because only the end differs.
fn short_id(id: &str) -> &str {
    id.get(id.len().saturating_sub(6)..).unwrap_or(id)
}

/// Returns the class, and the part of the message that identifies it.
fn show_error(error: &TurnError) -> String {
    format!("{}: {}", error.class, beginning(&error.message))
}

fn beginning(message: &str) -> String {
    let line: String = message.lines().next().unwrap_or_default().chars().take(80).collect();
    line.trim_end().to_owned()
}

/// Returns the counts: fresh, cached, written, output, thinking.
pub(crate) fn show_usage(usage: &Usage) -> String {
    let Usage { input, cache_read, cache_write, output, thinking, scope } = *usage;
    let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let counts = [input, cache_read, cache_write, output, thinking].map(number).join(" ");
    format!("{counts} {}", show_scope(scope))
}

fn show_scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Turn => "of the turn",
        Scope::Session => "of the session",
    }
}
