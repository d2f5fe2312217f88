//! Converts a JSON Schema to Markdown tables, with the fields in the order of the schema.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// JSON that keeps the order of fields.
#[derive(Clone)]
enum Node {
    Object(Vec<(String, Self)>),
    List(Vec<Self>),
    Scalar(Value),
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

impl Node {
    fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, node)| node)
    }

    fn fields(&self) -> &[(String, Self)] {
        if let Self::Object(fields) = self { fields } else { &[] }
    }

    fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Scalar(value) = self { value.as_str() } else { None }
    }

    /// Returns a scalar as text, without quotes.
    fn plain(&self) -> String {
        match self {
            Self::Scalar(Value::String(text)) => text.clone(),
            Self::Scalar(value) => value.to_string(),
            Self::Object(_) | Self::List(_) => String::new(),
        }
    }
}

pub(super) struct Schema(Node);

impl Schema {
    pub(super) fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    /// Returns the fields of the object at this path.
    pub(super) fn fields(&self, path: &[&str]) -> String {
        let object = path.iter().fold(&self.0, |node, name| node.get(name).unwrap());
        let mut table = "| field | value | default | meaning |\n|---|---|---|---|\n".to_owned();
        for (name, field) in object.get("properties").map(Node::fields).unwrap_or_default() {
            let default = field.get("default").map(|node| format!("`{}`", node.plain()));
            let row = [
                format!("`{name}`"),
                self.value(field),
                default.unwrap_or_default(),
                self.meaning(field),
            ];
            table.push_str(&row_of(&row));
        }
        table
    }

    /// Returns one section for every type of entry, with the fields of its payload.
    pub(super) fn types(&self) -> String {
        let mut text = String::new();
        for rule in self.0.get("allOf").map(Node::items).unwrap_or_default() {
            let condition = rule.get("if").and_then(|node| node.get("properties")).unwrap();
            let name = condition.get("type").and_then(|node| node.get("const")).unwrap().plain();
            let then = rule.get("then").and_then(|node| node.get("properties")).unwrap();
            let payload = self.resolve(then.get("payload").unwrap());
            text.push_str(&format!("## `{name}`\n\n"));
            if let Some(meaning) = payload.get("description").and_then(Node::text) {
                text.push_str(&format!("{meaning}\n\n"));
            }
            text.push_str("| field | required | value | meaning |\n|---|---|---|---|\n");
            text.push_str(&self.payload_rows(payload));
            text.push('\n');
        }
        text.truncate(text.trim_end().len() + 1);
        text
    }

    fn payload_rows(&self, payload: &Node) -> String {
        let first_choice = payload.get("anyOf").map(Node::items).and_then(<[Node]>::first);
        let more = first_choice.and_then(|choice| choice.get("properties"));
        let fields = payload.get("properties").map(Node::fields).unwrap_or_default();
        let fields = fields.iter().chain(more.map(Node::fields).unwrap_or_default());
        let required: Vec<String> = match payload.get("required") {
            Some(required) => required.items().iter().map(Node::plain).collect(),
            None => Vec::new(),
        };
        let rows = fields.map(|(name, field)| {
            let is_required = if required.contains(name) { "yes" } else { "" };
            let name = format!("`{name}`");
            row_of(&[name, is_required.to_owned(), self.value(field), self.meaning(field)])
        });
        rows.collect()
    }

    fn resolve<'a>(&'a self, node: &'a Node) -> &'a Node {
        let name = node.get("$ref").and_then(Node::text).and_then(|path| path.rsplit('/').next());
        let definition = name.and_then(|name| self.0.get("$defs")?.get(name));
        definition.unwrap_or(node)
    }

    fn meaning(&self, field: &Node) -> String {
        let own = field.get("description").and_then(Node::text);
        let text = own.or_else(|| self.resolve(field).get("description").and_then(Node::text));
        text.unwrap_or_default().replace('|', "\\|")
    }

    /// Describes the values of a field.
    fn value(&self, field: &Node) -> String {
        let node = self.resolve(field);
        if let Some(choices) = node.get("enum") {
            let words = choices.items().iter().map(|choice| format!("`{}`", choice.plain()));
            return words.collect::<Vec<_>>().join(", ");
        }
        if let Some(only) = node.get("const") {
            return format!("`{}`", only.plain());
        }
        if let Some(choices) = node.get("anyOf").filter(|_| node.get("type").is_none()) {
            let words = choices.items().iter().map(|choice| self.value(choice));
            return words.collect::<Vec<_>>().join(" or ");
        }
        let kinds: Vec<String> = match node.get("type") {
            Some(Node::List(kinds)) => kinds.iter().map(Node::plain).collect(),
            Some(kind) => vec![kind.plain()],
            None => return "any JSON".to_owned(),
        };
        let words: Vec<String> = kinds.iter().map(|kind| self.kind(kind, node)).collect();
        words.join(" or ")
    }

    fn kind(&self, kind: &str, node: &Node) -> String {
        let word = match kind {
            "integer" => "whole number",
            "array" => {
                let items = node.get("items").map(|items| self.value(items));
                return items.map_or("list".to_owned(), |items| format!("list of {items}"));
            }
            other => other,
        };
        match (node.get("minimum"), node.get("maximum")) {
            (Some(low), Some(high)) => format!("{word}, {} to {}", low.plain(), high.plain()),
            (Some(low), None) => format!("{word}, {} or more", low.plain()),
            _ => word.to_owned(),
        }
    }
}

fn row_of(cells: &[String]) -> String {
    let row = format!("| {} |\n", cells.join(" | "));
    row.replace("|  |", "| |")
}
