//! The published schema of an entry accepts every written entry, and refuses what the reader refuses.

mod checker;

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::entry_wire::read;
use crate::golden::{VERSION_1, VERSION_2};

static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| {
    let files = [
        include_str!("../../schema/entry-v1.schema.json"),
        include_str!("../../schema/entry-v2.schema.json"),
    ];
    files.map(|file| serde_json::from_str(file).unwrap())
});

/// Returns where a value violates the schema of version 2, if anywhere.
pub(crate) fn complaint(value: &Value) -> Option<String> {
    checker::complaint(&SCHEMAS[1], &SCHEMAS[1], value)
}

/// Returns the golden entries, each with the schema of its version.
fn golden() -> impl Iterator<Item = (&'static Value, Value)> {
    let files = SCHEMAS.iter().zip([VERSION_1, VERSION_2]);
    let read = |line| serde_json::from_str(line).unwrap();
    files.flat_map(move |(schema, file)| file.lines().map(move |line| (schema, read(line))))
}

#[test]
fn every_keyword_of_the_schema_is_checked() {
    SCHEMAS.iter().for_each(checker::check_keywords);
}

#[test]
fn every_golden_entry_keeps_to_the_schema() {
    for (schema, value) in golden() {
        assert_eq!(checker::complaint(schema, schema, &value), None, "{value}");
    }
}

#[test]
fn whatever_is_taken_out_of_an_entry_schema_and_reader_agree() {
    let mut refused = 0;
    for (schema, value) in golden() {
        for pointer in pointers(&value) {
            let mut broken = value.clone();
            take_out(&mut broken, &pointer);
            refused += usize::from(agree(schema, &broken, &format!("without {pointer}")));
        }
    }
    assert!(refused > 60, "{refused}");
}

#[test]
fn whatever_is_put_in_place_of_a_payload_field_schema_and_reader_agree() {
    let mut refused = 0;
    for (schema, value) in golden() {
        // If these three fields cannot be read, the reader keeps them unchanged; the schema refuses them.
        let strict = |pointer: &String| {
            !["/runId", "/timestamp", "/meta", "/intent", "/parentMessageId", "/content"]
                .iter()
                .any(|name| pointer.ends_with(name))
        };
        for pointer in pointers(&value).filter(strict) {
            for other in [json!(false), json!(-1), json!([[]])] {
                let mut broken = value.clone();
                *broken.pointer_mut(&pointer).unwrap() = other.clone();
                refused += usize::from(agree(schema, &broken, &format!("{other} at {pointer}")));
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Checks that the schema and the reader agree on a value. Returns whether they refuse it.
#[track_caller]
fn agree(schema: &Value, value: &Value, what: &str) -> bool {
    let complaint = checker::complaint(schema, schema, value);
    let error = read(&value.to_string()).err();
    assert_eq!(complaint.is_some(), error.is_some(), "{what}: {complaint:?}, {error:?}: {value}");
    complaint.is_some()
}

/// Returns the pointers to all fields of all objects.
fn pointers(value: &Value) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found.into_iter()
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}/{name}");
                collect(value, &path, found);
                found.push(path);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn take_out(value: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
}
