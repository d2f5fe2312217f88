//! The input of a build, field by field, and the flags of a caller that override fields.

use tertulia_context::builder::{ContextBuildInput, ContextUpdateRequest};
use tertulia_context::tokens::ToolSpec;
use tertulia_dialect::{Dialect, Note};
use tertulia_session::json::{
    FieldError, Json, Object, RawValue, boolean, each, elements, whole_number,
};
use tertulia_session::record::{read_entry, read_entry_message};
use tertulia_session::{Entry, EntryId, Message, Role};

use super::{BuildError, Setup, Unused, read_tool_spec, read_word};

/// The input of a build.
#[derive(Debug)]
pub struct BuildInput {
    pub setup: Setup,
    pub system_prompt: Option<String>,
    pub session_entries: Vec<Entry>,
    pub input_messages: Vec<Message>,
    pub runtime_init_data: Option<Json>,
    pub runtime_hints: Option<Json>,
    /// The tools as they arrived, to be sent.
    pub tools: Vec<Json>,
    /// The same tools, to be counted.
    pub tool_specs: Vec<ToolSpec>,
    /// Whether the model rejected the last context as too long.
    pub overflow_hint: bool,
    pub explain: bool,
    pub token_counts: Vec<(EntryId, u64)>,
    pub return_token_counts: bool,
    pub format: Option<Dialect>,
}

/// Values that override fields of an input.
#[derive(Debug, Default)]
pub struct Overrides<'a> {
    pub model: Option<&'a str>,
    pub max_input_tokens: Option<u64>,
    pub recall_tokens: Option<u64>,
    pub system_prompt: Option<&'a str>,
    pub session_entries: Option<Vec<Entry>>,
    pub input_format: Option<Dialect>,
    /// A vendor's request that replaces the new messages of the input.
    pub request: Option<&'a RawValue>,
    pub explain: bool,
}

/// The field that contains new messages.
#[derive(Clone, Copy, Debug)]
pub enum Messages {
    Input,
    New,
}

impl Messages {
    fn field(self) -> &'static str {
        match self {
            Self::Input => "inputMessages",
            Self::New => "newMessages",
        }
    }
}

impl BuildInput {
    /// Takes the fields from an input. The remaining fields are unknown to this version.
    pub fn read(
        object: &mut Object<'_>,
        messages: Messages,
        overrides: Overrides<'_>,
        unused: &mut Unused,
    ) -> Result<Self, BuildError> {
        let setup = Setup::read(object, &overrides, unused)?;
        let input_format = object.take_with("inputFormat", read_word)?;
        let input_format = overrides.input_format.or(input_format);
        let new = match (overrides.request, object.take_some(messages.field())) {
            (Some(request), _) => read_messages(request, input_format)?,
            (None, Some(raw)) => {
                read_messages(raw, input_format).map_err(|error| error.within(messages.field()))?
            }
            (None, None) => VendorInput::default(),
        };
        unused.notes.extend(new.notes);
        let system_prompt = object.take_text("systemPrompt")?;
        let system_prompt = overrides.system_prompt.map(str::to_owned).or(system_prompt);
        let (system_prompt, input_messages) = match system_prompt {
            Some(given) => (Some(given), [new.system, new.messages].concat()),
            None => (new.system_prompt, new.messages),
        };
        let given_tools =
            object.take_with("toolSpecs", |raw| each(raw, |raw| Ok(Json::from(raw))))?;
        let tools = given_tools.unwrap_or(new.tools);
        let given_entries = object.take_some("sessionEntries");
        let session_entries = match overrides.session_entries {
            Some(entries) => entries,
            None => given_entries.map(read_entries).transpose()?.unwrap_or_default(),
        };
        let flag = |object: &mut Object<'_>, name| object.take_with(name, boolean);
        let (explain, format) = match messages {
            Messages::Input => (flag(object, "explain")?, object.take_with("format", read_word)?),
            // An update has neither of them, and a note tells that the field was ignored.
            Messages::New => (None, None),
        };
        Ok(Self {
            setup,
            system_prompt,
            session_entries,
            input_messages,
            runtime_init_data: object.take_some("runtimeInitData").map(Json::from),
            runtime_hints: object.take_some("runtimeHints").map(Json::from),
            tool_specs: read_tools(&tools)?,
            tools,
            overflow_hint: flag(object, "overflowHint")?.unwrap_or_default(),
            explain: explain.unwrap_or_default() || overrides.explain,
            token_counts: object.take_with("tokenCounts", read_counts)?.unwrap_or_default(),
            return_token_counts: flag(object, "returnTokenCounts")?.unwrap_or_default(),
            format,
        })
    }

    pub(super) fn as_input(&self) -> ContextBuildInput<'_> {
        ContextBuildInput {
            system_prompt: self.system_prompt.as_deref(),
            session_entries: &self.session_entries,
            input_messages: &self.input_messages,
            runtime_init_data: self.runtime_init_data.as_ref(),
            runtime_hints: self.runtime_hints.as_ref(),
            tool_specs: &self.tool_specs,
            overflow_hint: self.overflow_hint,
            explain: self.explain,
            ..ContextBuildInput::default()
        }
    }

    pub(super) fn as_update(&self) -> ContextUpdateRequest<'_> {
        ContextUpdateRequest {
            session_entries: &self.session_entries,
            new_messages: &self.input_messages,
            overflow_hint: self.overflow_hint,
            system_prompt: self.system_prompt.as_deref(),
            runtime_init_data: self.runtime_init_data.as_ref(),
            runtime_hints: self.runtime_hints.as_ref(),
            tool_specs: &self.tool_specs,
        }
    }
}

pub(super) fn read_entries(raw: &RawValue) -> Result<Vec<Entry>, BuildError> {
    let list = elements(raw).map_err(|error| error.within("sessionEntries"))?;
    let read = |(index, raw)| read_entry(raw).map_err(|cause| BuildError::Entry { index, cause });
    list.into_iter().enumerate().map(read).collect()
}

fn read_tools(tools: &[Json]) -> Result<Vec<ToolSpec>, FieldError> {
    let read = |(index, tool): (usize, &Json)| {
        read_tool_spec(tool.raw()).map_err(|error| error.at_index(index).within("toolSpecs"))
    };
    tools.iter().enumerate().map(read).collect()
}

fn read_counts(raw: &RawValue) -> Result<Vec<(EntryId, u64)>, FieldError> {
    let fields = Object::try_from(raw)?.into_fields();
    let read = fields.map(|(name, raw)| {
        let tokens = whole_number(raw).map_err(|error| error.within(&name))?;
        Ok((EntryId::from(&*name), tokens))
    });
    read.collect()
}

#[derive(Debug, Default)]
struct VendorInput {
    system: Vec<Message>,
    system_prompt: Option<String>,
    messages: Vec<Message>,
    tools: Vec<Json>,
    notes: Vec<String>,
}

/// Reads new messages: in our format, or as a vendor's request, which may also contain a system prompt and tools.
fn read_messages(raw: &RawValue, format: Option<Dialect>) -> Result<VendorInput, FieldError> {
    let Some(dialect) = format else {
        let messages = each(raw, read_entry_message)?;
        return Ok(VendorInput { messages, ..VendorInput::default() });
    };
    let reading = dialect.read(raw)?;
    let mut messages = reading.messages;
    let is_system = |message: &Message| message.role == Some(Role::System);
    let first = messages.iter().position(|message| !is_system(message)).unwrap_or(messages.len());
    let rest = messages.split_off(first);
    let texts: Vec<_> = messages.iter().map(|message| message.text().into_owned()).collect();
    Ok(VendorInput {
        system_prompt: (!texts.is_empty()).then(|| texts.join("\n\n")),
        system: messages,
        messages: rest,
        tools: reading.tool_specs,
        notes: reading.notes.iter().map(Note::to_string).collect(),
    })
}
