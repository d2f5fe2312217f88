//! Tests of the real binary: pipes that close, messages of 100 MB, colours, and answers that are written at once.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::harness::{repository_file, request};
use crate::workspace::{feed, tell};

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tertulia"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn every_request_is_answered_before_the_next_is_written() {
    let mut child = start(&["rpc"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        tell(&mut stdin, format!("{}\n", request("getTeamTask", "{}")).as_bytes());
        assert!(answers.next().unwrap().unwrap().contains("\"task\":null"));
    }
    drop(stdin);
    assert!(answers.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn rpc_ends_with_an_error_when_its_reader_closes_the_output() {
    let mut child = start(&["rpc"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // The server ends after the first answer, so the later lines may not be read.
    for _ in 0..100 {
        let _ = writeln!(stdin, "{}", request("getTeamTask", "{}"));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(reported.contains("standard output was closed by its reader"), "{reported}");
}

#[test]
fn a_reader_that_has_enough_of_prompts_is_no_failure() {
    let mut child = start(&["assemble"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let line = r#"{"contextMessages":[],"currentMessage":"x","teamTask":null}"#;
    for _ in 0..2000 {
        let _ = writeln!(stdin, "{line}");
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_message_of_a_hundred_megabytes_passes_through() {
    let mut child = start(&["rpc"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let text = "x".repeat(100_000_000);
        let params = format!(r#"{{"message":{{"content":"{text}","speaker":{{"roleId":"u"}}}}}}"#);
        let lines = [request("addMessage", &params), request("getTeamTask", "{}"), String::new()];
        tell(&mut stdin, lines.join("\n").as_bytes());
    });
    let lines: Vec<usize> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| line.unwrap().len())
        .collect();
    writer.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Log line, notification, answer, and the answer to the small request after it.
    assert_eq!(lines.len(), 4);
    assert!(lines[1] > 100_000_000 && lines[2] > 100_000_000);
}

#[test]
fn colours_come_when_they_are_forced_and_never_with_no_color() {
    let snapshot = repository_file("examples/login.json");
    let table = |variable: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tertulia"))
            .args(["context", "--type", "claude", "--explain", "--snapshot"])
            .arg(&snapshot)
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env(variable, "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(table("CLICOLOR_FORCE").contains("\u{1b}[32m"));
    assert!(!table("NO_COLOR").contains('\u{1b}'));
}

#[test]
fn log_lines_go_to_standard_error_when_asked_for() {
    let child = Command::new(env!("CARGO_BIN_EXE_tertulia"))
        .arg("rpc")
        .env("TERTULIA_LOG", "debug")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let params = r#"{"message":{"content":"x","speaker":{"roleId":"u"}}}"#;
    let output = feed(child, format!("{}\n", request("addMessage", params)).as_bytes());
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(
        reported.contains("DEBUG tertulia::context: [ContextManager] Message added: msg-1"),
        "{reported}"
    );
}

/// Tests the harness itself, with a shell instead of the command.
#[test]
fn a_process_may_end_before_it_reads_and_write_while_it_reads() {
    let input = vec![b'x'; 1_000_000];
    let play = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped());
        feed(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), &input)
    };
    let refused = play("echo no >&2; exit 2");
    assert_eq!((refused.status.code(), &*refused.stderr), (Some(2), "no\n".as_bytes()));
    assert_eq!(play("exec cat").stdout, input);
}
