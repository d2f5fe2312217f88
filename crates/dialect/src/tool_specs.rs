//! Tool specs: `{name, description?, parameterSchema, strict?}` in our format, and a different shape for every
//! vendor. A tool that only one vendor defines is kept whole, as `{name, vendor, tool}`.

use std::borrow::Cow;
use std::collections::HashSet;

use tertulia_session::json::{self, FieldError, Json, Object, RawValue};

use crate::fragment::Node;
use crate::identifier_rules::IdentifierRule;
use crate::surrogates::well_formed;
use crate::{Dialect, Note, NoteKind};

/// Returns the tools that this vendor accepts, in order. The vendor's own tools stay unchanged.
pub(crate) fn write_tools<'a>(
    dialect: Dialect,
    names: IdentifierRule,
    specs: &[Json],
    notes: &mut Vec<Note>,
) -> Vec<Node<'a>> {
    let mut taken = HashSet::new();
    let mut tools = Vec::with_capacity(specs.len());
    for spec in specs {
        match write_tool(dialect, names, spec, &mut taken, notes) {
            Ok(tool) => tools.push(tool),
            Err(note) => notes.push(note),
        }
    }
    tools
}

fn write_tool<'a>(
    dialect: Dialect,
    names: IdentifierRule,
    spec: &Json,
    taken: &mut HashSet<String>,
    notes: &mut Vec<Note>,
) -> Result<Node<'a>, Note> {
    let spec = well_formed(spec);
    let object = Object::try_from(spec.raw());
    let mut object = object.map_err(|_| left_out("", "it is not an object"))?;
    let name = object.take_text("name").ok().flatten();
    let name = name.ok_or_else(|| left_out("", "it has no name"))?;
    if let Ok(Some(vendor)) = object.take_text("vendor") {
        let own = object.take("tool").filter(|_| vendor == dialect.as_str());
        let own = own.ok_or_else(|| left_out(&name, "it belongs to another vendor"))?;
        return Ok(Node::Raw(Cow::Owned(Json::from(own))));
    }
    let spelled = names.rewrite(&name).into_owned();
    if spelled != name {
        let (from, to) = (name.as_str().into(), spelled.as_str().into());
        notes.push(Note::whole(NoteKind::ToolRenamed { from, to }));
    }
    let schema = object.take_some("parameterSchema").filter(|raw| says_object(raw));
    if schema.is_none() {
        notes.push(field_changed(&name, "parameterSchema"));
    }
    if !taken.insert(spelled.clone()) {
        return Err(left_out(&spelled, "another has the same name"));
    }
    let mut strict = object.take_some("strict").and_then(|raw| json::boolean(raw).ok());
    if dialect == Dialect::Gemini && strict.take().is_some() {
        notes.push(field_changed(&spelled, "strict"));
    }
    let description = object.take_text("description").ok().flatten();
    let mut fields = vec![("name", Node::text(spelled))];
    fields.extend(description.map(|text| ("description", Node::text(text))));
    let schema_name = match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => "parameters",
        Dialect::Anthropic => "input_schema",
        Dialect::Gemini => "parametersJsonSchema",
    };
    let schema = schema.map_or_else(no_parameters, Json::from);
    fields.push((schema_name, Node::Raw(Cow::Owned(schema))));
    fields.extend(strict.map(|strict| ("strict", Node::Bool(strict))));
    Ok(match dialect {
        Dialect::OpenAiChat => Node::typed("function", [("function", Node::Map(fields))]),
        Dialect::OpenAiResponses => {
            fields.insert(0, ("type", Node::text("function")));
            Node::Map(fields)
        }
        Dialect::Anthropic | Dialect::Gemini => Node::Map(fields),
    })
}

fn field_changed(name: &str, field: &'static str) -> Note {
    Note::whole(NoteKind::ToolFieldChanged { name: name.into(), field })
}

fn left_out(name: &str, reason: &'static str) -> Note {
    Note::whole(NoteKind::ToolLeftOut { name: name.into(), reason })
}

/// Returns whether a schema describes an object. All vendors require that at the top level.
fn says_object(raw: &RawValue) -> bool {
    let kind = Object::try_from(raw).and_then(|mut schema| schema.take_text("type"));
    matches!(kind.ok().flatten().as_deref(), Some("object"))
}

fn no_parameters() -> Json {
    Node::typed("object", [("properties", Node::Map(Vec::new()))]).to_json()
}

/// Reads a function whose schema has one of these field names. Other fields are kept.
pub(crate) fn read_function(
    mut object: Object<'_>,
    schema_names: &[&'static str],
) -> Result<Json, FieldError> {
    let mut fields = vec![("name", Node::text(object.need_text("name")?))];
    if let Some(text) = object.take_text("description")? {
        fields.push(("description", Node::text(text)));
    }
    let schema = schema_names.iter().find_map(|name| object.take_some(name));
    let schema = schema.map_or_else(no_parameters, Json::from);
    fields.push(("parameterSchema", Node::Raw(Cow::Owned(schema))));
    if let Some(strict) = object.take_with("strict", json::boolean)? {
        fields.push(("strict", Node::Bool(strict)));
    }
    Ok(Node::Map(fields).to_json())
}

pub(crate) fn keep_own(raw: &RawValue, name: String, dialect: Dialect) -> Json {
    let fields = vec![
        ("name", Node::text(name)),
        ("vendor", Node::text(dialect.as_str())),
        ("tool", Node::Raw(Cow::Owned(Json::from(raw)))),
    ];
    Node::Map(fields).to_json()
}
