//! Logs as JSON lines, fed one by one.

use tertulia_session::record::EntryLines;

#[track_caller]
fn check(log: &str, read: &[&str]) {
    let mut lines = EntryLines::new();
    let shown: Vec<String> = log
        .split('\n')
        .map(|line| match lines.read(line) {
            Ok(Some(entry)) => entry.id.to_string(),
            Ok(None) => String::new(),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(shown, read);
}

#[test]
fn blank_lines_and_line_breaks_of_windows_are_passed_over() {
    check(
        "{\"id\":\"a\",\"type\":\"custom\"}\r\n\r\n  \t\n {\"id\":\"b\",\"type\":\"custom\"} \n",
        &["a", "", "", "b", ""],
    );
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_passed_over() {
    check("\u{feff}{\"id\":\"a\",\"type\":\"custom\"}", &["a"]);
    check("\u{feff}", &[""]);
    check(
        "\n\u{feff}",
        &["", "line 2, column 1: invalid JSON: expected value; fix or remove the line"],
    );
}

#[test]
fn an_error_names_its_line_and_the_next_line_is_read() {
    check(
        "{\"id\":\"a\",\"type\":\"team_task\",\"payload\":{}}\n{\"id\":\"b\",\"type\":\"custom\"}\n{\"id\":\"c\",\"ty",
        &[
            "line 1: Entry a: payload.task is missing; give a string, or null to take the task away",
            "b",
            "line 3, column 13: invalid JSON: EOF while parsing a string; fix or remove the line",
        ],
    );
}

#[test]
fn a_log_of_a_later_version_is_refused_at_its_header() {
    check(
        r#"{"id":"h","type":"session_header","payload":{"version":3}}"#,
        &[
            "line 1: Entry h: payload.version is 3, and this program reads versions 1 to 2; take one that reads version 3",
        ],
    );
}
