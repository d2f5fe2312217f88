//! A team file as values with positions, for both languages. `fields` reads them; this module uses no field names.

use std::borrow::Cow;
use std::ops::Range;

use tertulia_session::json::{Kind, Object, RawValue, elements};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum nesting in a team file. Deeper values are not read, and are reported as values of the wrong type.
const DEPTH_MAX: usize = 16;

const TOO_DEEP: Value = Value::Unreadable("nested too deep");

/// A JSON text that cannot be decoded. Its syntax was checked before, so the only case is an escape such as a lone
/// `\ud800`.
const HALF_A_CHARACTER: Value = Value::Unreadable("text with half a surrogate pair");

#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    /// `None` if the number does not fit into 64 bits.
    Integer(Option<i64>),
    Float(f64),
    Boolean(bool),
    /// A date or a time, as written.
    Date(String),
    Null,
    List(Vec<Node>),
    Table(Vec<(Key, Node)>),
    /// A value that cannot be read, with its description.
    Unreadable(&'static str),
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

pub(super) struct Broken {
    pub(super) at: Range<usize>,
    pub(super) what: String,
}

impl Node {
    /// Returns a field of a table; if a name occurs twice, the last one.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        let Value::Table(fields) = &self.value else { return None };
        fields.iter().rev().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a float",
            Self::Boolean(_) => "true or false",
            Self::Date(_) => "a date",
            Self::Null => "null",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Unreadable(what) => what,
        }
    }
}

pub(super) fn toml(text: &str) -> Result<Node, Vec<Broken>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node { span: 0..0, value: toml_table(table.into_inner(), 0) });
    }
    let broken = |error: &toml::de::Error| Broken {
        at: error.span().unwrap_or(0..0),
        what: error.message().to_owned(),
    };
    Err(errors.iter().map(broken).collect())
}

fn toml_node(spanned: Spanned<DeValue<'_>>, depth: usize) -> Node {
    let span = spanned.span();
    let value = match spanned.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok())
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(_) | DeValue::Table(_) if depth >= DEPTH_MAX => TOO_DEEP,
        DeValue::Array(list) => {
            Value::List(list.into_iter().map(|item| toml_node(item, depth + 1)).collect())
        }
        DeValue::Table(table) => toml_table(table, depth + 1),
    };
    Node { span, value }
}

fn toml_table(table: DeTable<'_>, depth: usize) -> Value {
    let field = |(key, value): (Spanned<Cow<'_, str>>, Spanned<DeValue<'_>>)| {
        let span = key.span();
        (Key { name: key.into_inner().into_owned(), span }, toml_node(value, depth))
    };
    Value::Table(table.into_iter().map(field).collect())
}

pub(super) fn json(text: &str) -> Result<Node, Vec<Broken>> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => Ok(json_node(text, raw, 0)),
        Err(error) => {
            let at = byte_at(text, error.line(), error.column());
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or(&message).to_owned();
            Err(vec![Broken { at: at..at, what }])
        }
    }
}

fn json_node(text: &str, raw: &RawValue, depth: usize) -> Node {
    let written = raw.get();
    // The value borrows from the text, so its address gives its position.
    let start = (written.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let value = match Kind::from(raw) {
        Kind::Null => Value::Null,
        Kind::Boolean => Value::Boolean(written == "true"),
        Kind::Number if written.contains(['.', 'e', 'E']) => {
            Value::Float(written.parse().unwrap_or(f64::NAN))
        }
        Kind::Number => Value::Integer(written.parse().ok()),
        Kind::String => serde_json::from_str(written).map_or(HALF_A_CHARACTER, Value::Text),
        Kind::Array | Kind::Object if depth >= DEPTH_MAX => TOO_DEEP,
        Kind::Array => {
            let items = elements(raw).unwrap_or_default();
            Value::List(items.into_iter().map(|item| json_node(text, item, depth + 1)).collect())
        }
        Kind::Object => json_table(text, raw, depth),
    };
    Node { span: start..start + written.len(), value }
}

fn json_table(text: &str, raw: &RawValue, depth: usize) -> Value {
    let Ok(object) = Object::try_from(raw) else {
        return HALF_A_CHARACTER;
    };
    let field = |(name, raw): (Cow<'_, str>, &RawValue)| {
        let node = json_node(text, raw, depth + 1);
        (Key { span: key_span(text, node.span.start), name: name.into_owned() }, node)
    };
    Value::Table(object.into_fields().map(field).collect())
}

fn key_span(text: &str, value_start: usize) -> Range<usize> {
    let before = text.as_bytes().get(..value_start).unwrap_or_default();
    let end = before.iter().rposition(|byte| *byte == b'"').unwrap_or(0);
    let mut start = end;
    while let Some(quote) = before.get(..start).and_then(|s| s.iter().rposition(|b| *b == b'"')) {
        start = quote;
        let escapes = before.get(..quote).unwrap_or_default();
        let backslashes = escapes.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            break;
        }
    }
    start..end + 1
}

/// Returns the byte offset of a 1-based line and column.
fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
    (before.sum::<usize>() + column.saturating_sub(1)).min(text.len())
}

const SECRET_WORDS: [&str; 8] =
    ["env", "header", "key", "token", "secret", "password", "auth", "credential"];

/// Returns the ranges of a team file that may contain a key or a password.
pub(super) fn secrets(node: &Node) -> Vec<Range<usize>> {
    secrets_in(node, false, |name| matches!(name, "env" | "key_variable"))
}

/// Same as `secrets`, for settings with unknown fields.
pub(super) fn setting_secrets(node: &Node) -> Vec<Range<usize>> {
    secrets_in(node, false, |name| {
        let name = name.to_ascii_lowercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    })
}

fn secrets_in(node: &Node, is_secret: bool, is_named: fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut spans: Vec<_> = is_secret.then(|| node.span.clone()).into_iter().collect();
    match &node.value {
        Value::List(items) => {
            spans.extend(items.iter().flat_map(|item| secrets_in(item, is_secret, is_named)));
        }
        Value::Table(fields) => {
            for (key, item) in fields {
                let holds_password = key.name == "base_url"
                    && matches!(&item.value, Value::Text(url) if url.contains('@'));
                let is_secret = is_secret || is_named(&key.name) || holds_password;
                spans.extend(secrets_in(item, is_secret, is_named));
            }
        }
        _ => {}
    }
    spans
}
