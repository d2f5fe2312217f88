//! The published schema of an entry: what is written keeps to it, and it refuses what the reader
//! refuses.

mod checker;

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::entry_wire::read;
use crate::golden::GOLDEN;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../schema/entry-v1.schema.json")).unwrap()
});

/// Where a value does not keep to the schema, if anywhere.
pub(crate) fn complaint(value: &Value) -> Option<String> {
    checker::complaint(&SCHEMA, &SCHEMA, value)
}

fn golden() -> impl Iterator<Item = Value> {
    GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn every_keyword_of_the_schema_is_checked() {
    checker::check_keywords(&SCHEMA);
}

#[test]
fn every_golden_entry_keeps_to_the_schema() {
    for value in golden() {
        assert_eq!(complaint(&value), None, "{value}");
    }
}

#[test]
fn whatever_is_taken_out_of_an_entry_schema_and_reader_agree() {
    let mut refused = 0;
    for value in golden() {
        for pointer in pointers(&value) {
            let mut broken = value.clone();
            take_out(&mut broken, &pointer);
            refused += usize::from(agree(&broken, &format!("without {pointer}")));
        }
    }
    assert!(refused > 60, "{refused}");
}

#[test]
fn whatever_is_put_in_place_of_a_payload_field_schema_and_reader_agree() {
    let mut refused = 0;
    for value in golden() {
        // The reader keeps these three as they are if it cannot read them; the schema does not.
        let strict = |pointer: &String| {
            !["/runId", "/timestamp", "/meta", "/intent", "/parentMessageId", "/content"]
                .iter()
                .any(|name| pointer.ends_with(name))
        };
        for pointer in pointers(&value).filter(strict) {
            for other in [json!(false), json!(-1), json!([[]])] {
                let mut broken = value.clone();
                *broken.pointer_mut(&pointer).unwrap() = other.clone();
                refused += usize::from(agree(&broken, &format!("{other} at {pointer}")));
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Says that schema and reader judge alike; gives whether they refuse.
#[track_caller]
fn agree(value: &Value, what: &str) -> bool {
    let (complaint, error) = (complaint(value), read(&value.to_string()).err());
    assert_eq!(complaint.is_some(), error.is_some(), "{what}: {complaint:?}, {error:?}: {value}");
    complaint.is_some()
}

/// The pointers to all fields of all objects.
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
