//! Tool specs: `{name, description?, parameterSchema, strict?}` here, another shape at every vendor.
//! A tool that only one vendor knows is kept whole, as `{name, vendor, tool}`.

use std::borrow::Cow;
use std::collections::HashSet;

use tertulia_session::json::{self, FieldError, Json, Kind, Object, RawValue};

use crate::fragment::{Map, Node};
use crate::spelling::Spelling;
use crate::surrogates::mended;
use crate::{Dialect, Note, NoteKind};

/// A tool, ready to be written in a vendor's shape.
#[derive(Debug)]
pub(crate) enum Tool {
    /// A function of the caller.
    Function(Function),
    /// The vendor's own, as it was read.
    Own(Json),
}

/// A function of the caller.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) schema: Json,
    pub(crate) strict: Option<bool>,
}

/// The tools that this vendor can take, in order.
pub(crate) fn tools(
    specs: &[Json],
    dialect: Dialect,
    names: Spelling,
    notes: &mut Vec<Note>,
) -> Vec<Tool> {
    let mut taken = HashSet::new();
    let mut take = |spec| match tool(spec, dialect, names, notes) {
        Ok(tool) => match &tool {
            Tool::Function(function) if !taken.insert(function.name.clone()) => {
                let (name, why) = (function.name.as_str().into(), "another has the same name");
                notes.push(Note::whole(NoteKind::ToolLeftOut { name, why }));
                None
            }
            _ => Some(tool),
        },
        Err(note) => {
            notes.push(Note::whole(note));
            None
        }
    };
    specs.iter().filter_map(&mut take).collect()
}

fn tool(
    spec: &Json,
    dialect: Dialect,
    names: Spelling,
    notes: &mut Vec<Note>,
) -> Result<Tool, NoteKind> {
    let left_out = |name: &str, why| NoteKind::ToolLeftOut { name: name.into(), why };
    let spec = mended(spec);
    let object = Object::try_from(spec.raw()).ok();
    let mut object = object.ok_or_else(|| left_out("", "it is no object"))?;
    let name = object.take_text("name").ok().flatten();
    let name = name.ok_or_else(|| left_out("", "it has no name"))?;
    if let Ok(Some(vendor)) = object.take_text("vendor") {
        let own = object.take("tool").filter(|_| vendor == dialect.as_str());
        let own = own.ok_or_else(|| left_out(&name, "it belongs to another vendor"))?;
        return Ok(Tool::Own(Json::from(own)));
    }
    let spelled = names.of(&name).into_owned();
    if spelled != name {
        let (from, to) = (name.as_str().into(), spelled.as_str().into());
        notes.push(Note::whole(NoteKind::ToolRenamed { from, to }));
    }
    let schema = object.take_some("parameterSchema");
    let is_schema = |raw: &&RawValue| Kind::from(*raw) == Kind::Object && says_object(raw);
    let schema = schema.filter(is_schema).map(Json::from).unwrap_or_else(|| {
        let field = "parameterSchema";
        notes.push(Note::whole(NoteKind::ToolFieldChanged { name: name.as_str().into(), field }));
        no_parameters()
    });
    Ok(Tool::Function(Function {
        name: spelled,
        description: object.take_text("description").ok().flatten(),
        schema,
        strict: object.take_some("strict").and_then(|raw| json::boolean(raw).ok()),
    }))
}

/// Whether a schema is one of an object, as all vendors demand at the top.
fn says_object(raw: &RawValue) -> bool {
    let kind = Object::try_from(raw).and_then(|mut schema| schema.take_text("type"));
    matches!(kind.ok().flatten().as_deref(), Some("object"))
}

fn no_parameters() -> Json {
    let properties = ("properties", Node::Map(Vec::new()));
    Node::Map(vec![("type", Node::text("object")), properties]).to_json()
}

impl Function {
    /// The fields that are called alike everywhere; the schema under the vendor's name.
    pub(crate) fn into_fields<'a>(self, schema: &'static str) -> Map<'a> {
        let mut fields = vec![("name", Node::text(self.name))];
        fields.extend(self.description.map(|text| ("description", Node::text(text))));
        fields.push((schema, Node::Raw(Cow::Owned(self.schema))));
        fields.extend(self.strict.map(|strict| ("strict", Node::Bool(strict))));
        fields
    }
}

/// Reads a function whose schema is under one of these names; other fields are kept.
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

/// Keeps a tool that only this vendor knows.
pub(crate) fn keep_own(raw: &RawValue, name: String, dialect: Dialect) -> Json {
    let fields = vec![
        ("name", Node::text(name)),
        ("vendor", Node::text(dialect.as_str())),
        ("tool", Node::Raw(Cow::Owned(Json::from(raw)))),
    ];
    Node::Map(fields).to_json()
}
