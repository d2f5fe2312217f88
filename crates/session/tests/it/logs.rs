//! Logs as JSON lines, read one by one. The code that reads files skips blank lines and byte order marks, so they do
//! not occur here.

use tertulia_session::record::read_entry_line;

#[track_caller]
fn check(log: &str, read: &[&str]) {
    let read_line = |(line, number)| match read_entry_line(number, line) {
        Ok(entry) => entry.id.to_string(),
        Err(error) => error.to_string(),
    };
    let shown: Vec<String> = log.split('\n').zip(1..).map(read_line).collect();
    assert_eq!(shown, read);
}

#[test]
fn whitespace_around_an_entry_is_skipped() {
    check(
        "{\"id\":\"a\",\"type\":\"custom\"}\r\n {\"id\":\"b\",\"type\":\"custom\"} ",
        &["a", "b"],
    );
}

#[test]
fn an_error_names_its_line_and_the_next_line_is_read() {
    check(
        "{\"id\":\"a\",\"type\":\"team_task\",\"payload\":{}}\n{\"id\":\"b\",\"type\":\"custom\"}\n{\"id\":\"c\",\"ty",
        &[
            "line 1: Entry a: payload.task is missing; give a string, or null to remove the task",
            "b",
            "line 3, column 13: invalid JSON: EOF while parsing a string; fix or remove the line",
        ],
    );
}

#[test]
fn a_log_of_a_later_version_is_refused_at_its_header() {
    check(
        r#"{"id":"h","type":"session_header","payload":{"version":3}}"#,
        &["line 1: Entry h: payload.version is 3, and this program reads versions 1 to 2; use a \
             newer version of Tertulia"],
    );
}
