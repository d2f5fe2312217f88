//! Schema, parser and reference have the same fields, and agree about the examples.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tertulia_team::file::{SCHEMA, TeamFile, known_agents, known_fields};

use super::written::to_toml;

const REFERENCE: &str = include_str!("../../../../../docs/team-file.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn names(value: &Value, prefix: &str) -> BTreeSet<String> {
    value.as_object().unwrap().keys().map(|name| format!("{prefix}{name}")).collect()
}

#[test]
fn the_schema_knows_the_fields_of_the_reader() {
    let schema = schema();
    let mut fields = names(&schema["properties"], "");
    fields.extend(names(&schema["$defs"]["limits"]["properties"], "limits."));
    fields.extend(names(&schema["$defs"]["member"]["properties"], "member."));
    assert_eq!(fields, known_fields().collect());
}

#[test]
fn the_reference_has_a_row_for_every_field() {
    let rows: BTreeSet<&str> =
        REFERENCE.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for field in known_fields() {
        let name = field.rsplit('.').next().unwrap();
        assert!(rows.contains(name), "{field}");
    }
    for agent in known_agents() {
        assert!(REFERENCE.contains(&format!("`{agent}`")), "{agent}");
    }
}

#[test]
fn the_schema_knows_the_agents_of_the_reader() {
    let words: Vec<_> = known_agents().map(|agent| agent.word).collect();
    assert_eq!(schema()["$defs"]["member"]["properties"]["agent"]["enum"], json!(words));
}

/// Returns the TOML blocks of the reference.
fn examples() -> impl Iterator<Item = &'static str> {
    REFERENCE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap())
}

#[test]
fn every_example_is_good_and_keeps_to_the_schema() {
    assert_eq!(examples().count(), 3);
    let schema = schema();
    let built_in = to_toml(&TeamFile::built_in());
    for text in examples().map(str::to_owned).chain([built_in]) {
        let team = super::good(&text);
        assert!(team.warnings.is_empty(), "{:?}", team.warnings);
        for text in [text, to_toml(&team)] {
            assert_eq!(complaint(&schema, &schema, &as_json(&text)), None, "{text}");
        }
    }
}

#[test]
fn the_error_in_the_reference_is_the_one_that_is_shown() {
    let text = "[[member]]\nname = \"max\"\nagnet = \"claude\"\nagent = \"claude\"\n";
    let error = super::bad(text).to_string();
    assert!(REFERENCE.contains(&error), "{error}");
}

/// Compares the schema and the parser on files with one member. Leaves out rules that a schema cannot express, such
/// as those about a name or the end of a URL.
#[test]
fn schema_and_reader_judge_broken_members_alike() {
    let schema = schema();
    let agents = ["claude", "command", "acp", "openai", "script", "scribe"].map(Some);
    let fields = [
        "kind = \"human\"",
        "kind = \"ai\"",
        "kind = \"dog\"",
        "agent = 5",
        "permissions = \"all\"",
        "window = -1",
        "window = 0",
        "timeout_s = 0",
        "timeout_s = \"1\"",
        "budget_usd = -1.0",
        "color = \"pink\"",
        "color = \"#ff0000\"",
        "command = []",
        "command = 5",
        "env = { A = 1 }",
        "answers = []",
        "nosuch = 1",
        "base_url = \"ftp://x\"",
        "key_variable = \"a-b\"",
        "memory = \"old\"",
        "instruction = \" \"",
        "model = \"-x\"",
    ];
    let mut refused = 0;
    for agent in agents.into_iter().chain([None]) {
        for field in fields {
            let agent = agent.map(|agent| format!("agent = \"{agent}\"\n")).unwrap_or_default();
            if field.starts_with("agent") && !agent.is_empty() {
                continue;
            }
            let text = format!("[[member]]\nname = \"max\"\n{agent}{field}\n");
            let complaint = complaint(&schema, &schema, &as_json(&text));
            let error = TeamFile::parse(&text, "t").err();
            // Only the parser checks which agent has which field.
            if complaint.is_some()
                || error.as_ref().is_none_or(|e| !e.to_string().contains("has no effect"))
            {
                assert!(complaint.is_some() == error.is_some(), "{complaint:?} {error:?}: {text}");
            }
            refused += usize::from(complaint.is_some());
        }
    }
    assert!(refused > 80, "{refused}");
}

fn as_json(text: &str) -> Value {
    fn value(toml: toml::Value) -> Value {
        match toml {
            toml::Value::String(text) => json!(text),
            toml::Value::Integer(number) => json!(number),
            toml::Value::Float(number) => json!(number),
            toml::Value::Boolean(yes) => json!(yes),
            toml::Value::Datetime(date) => json!(date.to_string()),
            toml::Value::Array(items) => items.into_iter().map(value).collect(),
            toml::Value::Table(table) => {
                Value::Object(table.into_iter().map(|(key, item)| (key, value(item))).collect())
            }
        }
    }
    value(toml::Value::Table(text.parse().unwrap()))
}

/// Returns where a value violates a schema, if it does. Supports only the keywords that our schema uses.
fn complaint(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let is_good = |schema: &Value| complaint(root, schema, value).is_none();
    for (keyword, rule) in schema.as_object().unwrap() {
        let list = || rule.as_array().unwrap().iter();
        let holds = match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "$defs" | "then" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                is_good(target)
            }
            "allOf" => list().all(is_good),
            "anyOf" => list().any(is_good),
            "oneOf" => list().filter(|schema| is_good(schema)).count() == 1,
            "not" => !is_good(rule),
            "if" => !is_good(rule) || is_good(&schema["then"]),
            "const" => value == rule,
            "enum" => list().any(|word| word == value),
            "type" => is_of_type(value, rule.as_str().unwrap()),
            "required" => value.as_object().is_none_or(|fields| {
                list().all(|name| fields.contains_key(name.as_str().unwrap()))
            }),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|v| v.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|v| v.len() as u64 <= rule.as_u64().unwrap()),
            "contains" => value
                .as_array()
                .is_none_or(|items| items.iter().any(|item| complaint(root, rule, item).is_none())),
            "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
            "items" => {
                let items = value.as_array().into_iter().flatten();
                items.into_iter().all(|item| complaint(root, rule, item).is_none())
            }
            "properties" | "additionalProperties" => fields_hold(root, schema, value),
            other => panic!("the keyword {other} is not checked"),
        };
        if !holds {
            return Some(format!("{keyword} {rule}: {value}"));
        }
    }
    None
}

fn fields_hold(root: &Value, schema: &Value, value: &Value) -> bool {
    value.as_object().into_iter().flatten().all(|(name, item)| {
        match (schema.pointer(&format!("/properties/{name}")), &schema["additionalProperties"]) {
            (Some(rule), _) | (None, rule @ Value::Object(_)) => {
                complaint(root, rule, item).is_none()
            }
            (None, rest) => rest != &Value::Bool(false),
        }
    })
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other}"),
    }
}

/// Returns whether a text matches a pattern of the schema. Each pattern is implemented here in Rust.
fn matches(pattern: &str, text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match pattern {
        r"\S" => !text.trim().is_empty(),
        "^[^- ][^ ]*$" => !text.is_empty() && !text.starts_with('-') && !text.contains(' '),
        "^https?://[^/]" => ["http://", "https://"]
            .iter()
            .filter_map(|scheme| text.strip_prefix(scheme))
            .any(|rest| !rest.is_empty() && !rest.starts_with('/')),
        "^[A-Za-z_][A-Za-z0-9_]*$" => {
            text.chars().all(is_word)
                && !text.starts_with(|c: char| c.is_ascii_digit())
                && !text.is_empty()
        }
        "^(red|green|yellow|blue|magenta|cyan|white|#[0-9A-Fa-f]{6})$" => {
            let colors = ["red", "green", "yellow", "blue", "magenta", "cyan", "white"];
            let hex = text.strip_prefix('#').unwrap_or_default();
            colors.contains(&text) || (hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
        }
        other => panic!("the pattern {other} is not checked"),
    }
}
