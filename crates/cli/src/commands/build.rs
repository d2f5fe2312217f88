//! `tertulia build`: the messages for a model's next call, from an input, a log, a stored session, or a
//! vendor's request.

mod table;

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use tertulia_chat::terminal::visible;
use tertulia_context::builder::ContextIndex;
use tertulia_operations::lines;
use tertulia_operations::model_context::{
    BuildError, BuildInput, BuildOutput, Messages, Overrides, Unused, render,
};
use tertulia_operations::names::{Latest, find_session};
use tertulia_operations::stored_log::StoredLog;
use tertulia_session::Entry;
use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_store::{Append, SessionId, SessionStore};

use super::files::{Source, name, read_text};
use crate::Streams;
use crate::args::BuildArgs;
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::project_here;

pub(crate) fn run(args: &BuildArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let standard_input = Path::new("-");
    let is_both = args.file.as_deref() == Some(standard_input);
    if is_both && args.log.as_deref() == Some(standard_input) {
        return Err(CliError::Usage("only one of FILE and --log can be -"));
    }
    let log = args.log.as_deref().map(|path| read_log(path, streams)).transpose()?;
    let stored = Stored::load(args)?;
    // The session's log is lent to the input when it is built.
    let log = log.or_else(|| stored.is_some().then(Vec::new));
    // A log is enough: nobody has to close standard input for it.
    let path = args.file.as_deref().or_else(|| log.is_none().then_some(standard_input));
    let text = match path {
        Some(path) => read_text(path, streams)?,
        None => "{}".to_owned(),
    };
    let raw = json::parse(text.trim_start_matches('\u{feff}'))
        .map_err(|error| CliError::Syntax { path: name(path.unwrap_or(standard_input)), error })?;
    let mut input = read_input(args, raw, log, streams.notes())?;
    match stored {
        None => {
            let mut index = ContextIndex::new();
            let result = input.build(&mut index)?;
            write(args, &BuildOutput { input: &input, index: &index, result: &result }, streams)
        }
        Some(mut stored) => stored.build(args, &mut input, streams),
    }
}

/// A stored session that is built from.
struct Stored {
    store: SessionStore,
    session: SessionId,
    log: StoredLog,
}

impl Stored {
    fn load(args: &BuildArgs) -> Result<Option<Self>, CliError> {
        let Some(given) = &args.session else { return Ok(None) };
        let store = StorePlace::read(&args.store)?.need()?;
        let session = find_session(&store, given, Latest::OfProject(&project_here()))?;
        let log = StoredLog::load(&store, &session)?;
        Ok(Some(Self { store, session, log }))
    }

    fn build(
        &mut self,
        args: &BuildArgs,
        input: &mut BuildInput,
        streams: &mut Streams<'_>,
    ) -> Result<(), CliError> {
        let Self { store, session, log } = self;
        let tail = log.tail().cloned();
        log.lend(input, |input, index| {
            let result = input.build(index)?;
            if args.append && !result.entries_to_append.is_empty() {
                let append = Append::new(result.entries_to_append.iter().cloned());
                store.append(session, Append { expected_tail: tail, ..append })?;
            }
            write(args, &BuildOutput { input, index, result: &result }, streams)
        })?;
        // The context is there; the next one only takes longer without.
        if let Err(error) = log.store_counts(store) {
            let line = format!("the counts of tokens were not stored: {error}");
            let _ = writeln!(streams.notes(), "tertulia: {}", visible(&line));
        }
        Ok(())
    }
}

fn read_input(
    args: &BuildArgs,
    raw: &RawValue,
    log: Option<Vec<Entry>>,
    talk: &mut dyn Write,
) -> Result<BuildInput, BuildError> {
    let request = (args.from.is_some() && is_request(raw)).then_some(raw);
    let mut object = match request {
        Some(_) => Object::default(),
        None => Object::try_from(raw).map_err(|error| error.within("the input"))?,
    };
    let requested = request.and_then(requested_model);
    let overrides = Overrides {
        model: args.model.as_deref().or(requested.as_deref()),
        max_input_tokens: args.budget,
        recall_tokens: args.recall,
        system_prompt: args.system.as_deref(),
        session_entries: log,
        input_format: args.from,
        request,
        explain: args.explain,
    };
    let mut unused = Unused::default();
    let input = BuildInput::read(&mut object, Messages::Input, overrides, &mut unused)?;
    let mut names: Vec<&str> = object.names().collect();
    names.extend(unused.names.iter().map(String::as_str));
    if !names.is_empty() {
        names.truncate(8);
        let line = format!("unknown fields ignored: {}", names.join(", "));
        let _ = writeln!(talk, "tertulia: {}", visible(&line));
    }
    for note in &unused.notes {
        let _ = writeln!(talk, "tertulia: {}", visible(note));
    }
    Ok(input)
}

/// Whether this is what an SDK holds, rather than an input of ours.
fn is_request(raw: &RawValue) -> bool {
    let Ok(object) = Object::try_from(raw) else { return Kind::from(raw) == Kind::Array };
    !object.names().any(|name| matches!(name, "config" | "inputMessages" | "sessionEntries"))
}

/// The model that a vendor's request names.
fn requested_model(raw: &RawValue) -> Option<String> {
    Object::try_from(raw).ok()?.take_text("model").ok()?
}

fn read_log(path: &Path, streams: &mut Streams<'_>) -> Result<Vec<Entry>, CliError> {
    let mut source = Source::open(path, streams.stdin)?;
    lines::read_log(&mut *source.reader).map_err(|error| CliError::log(name(path), error))
}

fn write(
    args: &BuildArgs,
    output: &BuildOutput<'_>,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let BuildOutput { input, index, result } = output;
    if args.explain {
        let table = table::Table { input, index, result };
        let colour = streams.stdout_has_colour;
        return table.write(streams.stdout, colour).map_err(CliError::output);
    }
    let Some(dialect) = args.format else {
        return write_json(streams, output);
    };
    let rendered = render(dialect, result, &input.tools);
    for note in &rendered.notes {
        let _ = writeln!(streams.notes(), "tertulia: {}", visible(&note.to_string()));
    }
    write_json(streams, &rendered.fragment)
}

/// Writes a value on one line, straight to the output unless people may have to be protected from it.
fn write_json(streams: &mut Streams<'_>, value: &impl Serialize) -> Result<(), CliError> {
    let written = match streams.stdout_is_terminal {
        true => serde_json::to_string(value)
            .map_err(Into::into)
            .and_then(|json| write!(streams.stdout, "{}", visible(&json))),
        false => serde_json::to_writer(&mut *streams.stdout, value).map_err(Into::into),
    };
    written.and_then(|()| writeln!(streams.stdout)).map_err(CliError::output)
}
