//! A checker for the keywords of JSON Schema (draft 2020-12) that our schema uses, and no others: a complete
//! validator would add sixty crates for one file. `check_keywords` ensures that no keyword is ignored.

use serde_json::{Map, Value};

const CHECKED: [&str; 14] = [
    "$ref",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "if",
    "items",
    "minLength",
    "minimum",
    "oneOf",
    "properties",
    "pattern",
    "required",
    "type",
];
const NOTES: [&str; 6] = ["$schema", "$id", "$defs", "title", "description", "then"];

/// Returns where a value violates a schema, if anywhere.
pub(crate) fn complaint(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let rules = match schema {
        Value::Bool(true) => return None,
        Value::Object(rules) => rules,
        other => return Some(format!("no schema: {other}")),
    };
    let broken = |(keyword, rule): (&String, &Value)| {
        let detail = judge(root, rules, (keyword, rule), value)?;
        Some(format!("{keyword}{detail}"))
    };
    rules.iter().find_map(broken)
}

/// Fails if a schema has a keyword that is not checked here.
pub(crate) fn check_keywords(schema: &Value) {
    for (keyword, rule) in schema.as_object().into_iter().flatten() {
        let word = keyword.as_str();
        assert!(CHECKED.contains(&word) || NOTES.contains(&word), "{keyword} is not checked");
        match word {
            "properties" | "$defs" => rule.as_object().unwrap().values().for_each(check_keywords),
            "allOf" | "anyOf" | "oneOf" => rule.as_array().unwrap().iter().for_each(check_keywords),
            "if" | "then" | "items" => check_keywords(rule),
            _ => {}
        }
    }
}

fn judge(
    root: &Value,
    rules: &Map<String, Value>,
    (keyword, rule): (&str, &Value),
    value: &Value,
) -> Option<String> {
    let check = |schema: &Value| complaint(root, schema, value);
    let list = || rule.as_array().unwrap();
    let fails = |holds: bool| (!holds).then(|| format!(" {rule}: {value}"));
    match keyword {
        "$ref" => check(root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap()),
        "allOf" => list().iter().find_map(check),
        "anyOf" => fails(list().iter().any(|schema| check(schema).is_none())),
        "oneOf" => fails(list().iter().filter(|schema| check(schema).is_none()).count() == 1),
        "if" if check(rule).is_none() => check(&rules["then"]),
        "const" => fails(is_equal(rule, value)),
        "enum" => fails(list().contains(value)),
        "minLength" => fails(
            value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap()),
        ),
        "minimum" => fails(value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap())),
        "type" => fails(match rule {
            Value::Array(names) => names.iter().any(|name| is_of_type(value, name)),
            name => is_of_type(value, name),
        }),
        // These are the two patterns of the schema.
        "pattern" => fails(value.as_str().is_none_or(|text| {
            let digits = match rule.as_str() {
                Some("^[0-9a-f]{64}$") => 64,
                Some("^[0-9a-f]{32}$") => 32,
                other => panic!("no pattern {other:?}"),
            };
            let is_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            text.len() == digits && text.bytes().all(is_hex)
        })),
        "required" => {
            let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
            fails(!value.is_object() || list().iter().all(has))
        }
        "properties" => rule.as_object().unwrap().iter().find_map(|(name, schema)| {
            let detail = complaint(root, schema, value.get(name)?)?;
            Some(format!(".{name}: {detail}"))
        }),
        "items" => value.as_array()?.iter().find_map(|item| complaint(root, rule, item)),
        _ => None,
    }
}

/// Compares values; `1` and `1.0` are the same number.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("no type {other}"),
    }
}
