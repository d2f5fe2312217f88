//! `tertulia build`: builds the messages for a model's next call.

mod table;

use std::path::Path;

use tertulia_context::builder::ContextIndex;
use tertulia_operations::lines;
use tertulia_operations::model_context::{
    BuildError, BuildInput, BuildOutput, Messages, Overrides, Unused, render,
};
use tertulia_operations::stored_log::StoredLog;
use tertulia_session::Entry;
use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_store::{Append, SessionId, SessionStore};

use super::files::{Source, name, read_text};
use super::sessions::write_json;
use crate::Streams;
use crate::args::BuildArgs;
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;

pub(crate) fn run(args: &BuildArgs, streams: &mut Streams<'_>) -> Result {
    let standard_input = Path::new("-");
    let is_both = args.file.as_deref() == Some(standard_input);
    if is_both && args.log.as_deref() == Some(standard_input) {
        return Err(CliError::Usage("only one of FILE and --log can be -"));
    }
    let log = args.log.as_deref().map(|path| read_log(path, streams)).transpose()?;
    let stored = Stored::load(args)?;
    // The input borrows the stored log during the build.
    let log = log.or_else(|| stored.is_some().then(Vec::new));
    // With a log, standard input is not needed.
    let path = args.file.as_deref().or_else(|| log.is_none().then_some(standard_input));
    let text = match path {
        Some(path) => read_text(path, streams)?,
        None => "{}".to_owned(),
    };
    let raw = json::parse(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let path = name(path.unwrap_or(standard_input));
        CliError::Content { path, error: error.into() }
    })?;
    let mut input = read_input(args, raw, log, streams)?;
    match stored {
        None => {
            let mut index = ContextIndex::new();
            let result = input.build(&mut index)?;
            write(args, &BuildOutput { input: &input, index: &index, result: &result }, streams)
        }
        Some(mut stored) => stored.build(args, &mut input, streams),
    }
}

struct Stored {
    store: SessionStore,
    session: SessionId,
    log: StoredLog,
}

impl Stored {
    fn load(args: &BuildArgs) -> Result<Option<Self>> {
        let Some(given) = &args.session else { return Ok(None) };
        let (store, session) = StoreLocation::read(&args.store)?.find(given)?;
        let log = StoredLog::load(&store, &session)?;
        Ok(Some(Self { store, session, log }))
    }

    fn build(
        &mut self,
        args: &BuildArgs,
        input: &mut BuildInput,
        streams: &mut Streams<'_>,
    ) -> Result {
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
        // The context is complete without the stored counts; the next build only takes longer.
        if let Err(error) = log.store_counts(store) {
            streams.note(&format!("the token counts were not stored: {error}"));
        }
        Ok(())
    }
}

fn read_input(
    args: &BuildArgs,
    raw: &RawValue,
    log: Option<Vec<Entry>>,
    streams: &mut Streams<'_>,
) -> Result<BuildInput, BuildError> {
    let request = (args.from.is_some() && is_request(raw)).then_some(raw);
    let mut object = match request {
        Some(_) => Object::default(),
        None => Object::try_from(raw).map_err(|error| error.within("the input"))?,
    };
    let requested = request.and_then(|raw| Object::try_from(raw).ok()?.take_text("model").ok()?);
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
        streams.note(&format!("unknown fields ignored: {}", names.join(", ")));
    }
    for note in &unused.notes {
        streams.note(note);
    }
    Ok(input)
}

/// Returns whether this is a request of an SDK, rather than a `ContextBuildInput`.
fn is_request(raw: &RawValue) -> bool {
    let Ok(object) = Object::try_from(raw) else { return Kind::from(raw) == Kind::Array };
    !object.names().any(|name| matches!(name, "config" | "inputMessages" | "sessionEntries"))
}

fn read_log(path: &Path, streams: &mut Streams<'_>) -> Result<Vec<Entry>> {
    let mut source = Source::open(path, streams.stdin)?;
    lines::read_log(&mut *source.reader).map_err(|error| CliError::log(name(path), error))
}

fn write(args: &BuildArgs, output: &BuildOutput<'_>, streams: &mut Streams<'_>) -> Result {
    if args.explain {
        let written = table::write(output, streams.stdout, streams.stdout_has_colour);
        return written.map_err(CliError::output);
    }
    let Some(dialect) = args.format else {
        return write_json(streams, output);
    };
    let rendered = render(dialect, output.result, &output.input.tools);
    for note in &rendered.notes {
        streams.note(&note.to_string());
    }
    write_json(streams, &rendered.fragment)
}
