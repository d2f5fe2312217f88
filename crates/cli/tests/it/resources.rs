//! Checks that hostile input uses at most 256 MiB of memory beyond its own size. The peak memory of the real
//! command is read from the system while it runs.

use std::process::Child;

use crate::harness::said;
use crate::workspace::{Workspace, feed};

const LIMIT_KB: u64 = 256 * 1024;

/// Runs a command with this input, and returns its output and its peak memory.
fn run(workspace: &Workspace, arguments: &[&str], input: &[u8]) -> (String, u64) {
    let child = workspace.start(arguments);
    let status = format!("/proc/{}/status", child.id());
    let (output, peak) = std::thread::scope(|scope| {
        let run = scope.spawn(|| feed(child, input));
        let mut peak = 0;
        while !run.is_finished() {
            peak = peak.max(peak_kb(&status).unwrap_or_default());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        (run.join().unwrap(), peak)
    });
    let reported =
        String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (reported.into_owned(), peak)
}

/// Returns the peak memory of a process so far; `None` after it has ended.
fn peak_kb(status: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Checks the memory of a command. A command that ends at once is not measured, but also cannot use much memory.
#[track_caller]
fn check(workspace: &Workspace, arguments: &[&str], input: &[u8], own_kb: u64) -> String {
    let (reported, peak) = run(workspace, arguments, input);
    let shown: String = reported.chars().take(400).collect();
    assert!(peak <= LIMIT_KB + own_kb, "{arguments:?} took {peak} kB: {shown}");
    reported
}

#[test]
fn tool_names_of_fifteen_megabytes_take_little_memory() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
         agent = \"command\"\noutput = \"jsonl\"\ncommand = [\"./flood.sh\"]\n",
    );
    let script = r#"#!/bin/sh
        cat >/dev/null; x=$(head -c 15000000 /dev/zero | tr '\0' x); i=0
        while [ $i -lt 40 ]; do
          echo '{"type":"tool_start","id":"t'$i'","name":"'$x'","input":{}}'; i=$((i+1))
        done; echo '{"type":"end","text":"Done."}'"#;
    crate::workspace::executable(&workspace.path("flood.sh"), script);
    let reported = check(&workspace, &["run", "Flood.", "--trust"], b"", 0);
    assert!(reported.contains("Done."), "{}", reported.chars().take(400).collect::<String>());
    let stored = std::fs::metadata(workspace.root().join("data/sessions.db")).unwrap().len();
    assert!(stored < 4 << 20, "{stored}");
}

#[test]
fn a_small_store_of_records_that_expand_takes_little_memory() {
    let workspace = Workspace::empty();
    let mut log = String::new();
    for number in 0..20 {
        let text = format!("needle{number} {}", "a ".repeat((8 << 20) - 512));
        log.push_str(&said(&format!("e{number}"), "user", &text));
        log.push('\n');
    }
    workspace.tertulia_with(&["sessions", "import", "-", "--as", "bomb"], log.as_bytes());
    drop(log);
    let size_kb =
        std::fs::metadata(workspace.root().join("data/sessions.db")).unwrap().len() / 1024;
    assert!(size_kb < 16 * 1024, "{size_kb} kB is not small");
    let (_, peak) = run(&workspace, &["sessions", "verify"], b"");
    assert!(peak > 20 * 1024, "{peak} kB: nothing was expanded");
    let found = check(&workspace, &["sessions", "search", "needle7", "--all"], b"", size_kb);
    assert!(found.contains("e7"), "{found}");
    for command in ["verify", "list", "export bomb"] {
        let words: Vec<&str> = ["sessions"].into_iter().chain(command.split(' ')).collect();
        check(&workspace, &words, b"", size_kb);
    }
    check(&workspace, &["sessions", "backup", "backup.db"], b"", size_kb);
    let other = Workspace::empty();
    std::fs::copy(workspace.path("backup.db"), other.path("backup.db")).unwrap();
    let reported = check(&other, &["sessions", "restore", "backup.db"], b"", size_kb);
    assert!(reported.contains("1 session"), "{reported}");
    check(&workspace, &["sessions", "redact", "bomb", "e3"], b"", size_kb);
    check(&workspace, &["sessions", "delete", "bomb", "--yes"], b"", size_kb);
}

#[test]
fn a_transcript_of_long_lines_takes_little_memory() {
    let workspace = Workspace::empty();
    let line = said("e1", "user", &"a ".repeat(15 << 20));
    let deep = "[".repeat(1 << 20);
    for input in [line, deep.clone(), format!("{{\"id\":{deep}"), "x".repeat(40 << 20)] {
        let own_kb = input.len() as u64 / 1024;
        check(&workspace, &["sessions", "import", "-"], input.as_bytes(), own_kb);
    }
}

#[test]
fn a_hostile_team_file_takes_little_memory() {
    let workspace = Workspace::empty();
    let members = |count: usize| {
        let member = |number| format!("[[member]]\nname = \"m{number}\"\nagent = \"scribe\"\n");
        (0..count).map(member).collect::<String>()
    };
    for text in [
        format!("task = \"{}\"\n", "a".repeat(8 << 20)),
        format!("task = {}", "[".repeat(1 << 20)),
        members(20_000),
        format!("a{} = 1\n", ".a".repeat(100_000)),
    ] {
        workspace.write("tertulia.toml", &text);
        check(&workspace, &["run", "hello"], b"", text.len() as u64 / 1024);
        check(&workspace, &["doctor"], b"", text.len() as u64 / 1024);
    }
}

/// Ends a child that was started by [`Workspace::start`].
fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn doctor_names_what_a_killed_import_left_and_the_next_writer_deletes_it() {
    let workspace = Workspace::empty();
    let mut child = workspace.start(&["sessions", "import", "-", "--as", "killed"]);
    let line = |number: usize| said(&format!("e{number}"), "user", "left words") + "\n";
    let mut stdin = child.stdin.take().unwrap();
    // More than fits into memory buffers and the pipe, so that a part is stored when everything is written.
    crate::workspace::tell(&mut stdin, (0..8_000).map(line).collect::<String>().as_bytes());
    end(child);
    let reported = workspace.exits(0, &["doctor"]).stdout;
    assert!(reported.contains("1 interrupted import or deletion left"), "{reported}");
    assert!(workspace.exits(0, &["sessions", "list", "--all"]).stdout.is_empty());
    let log = said("m1", "user", "hello");
    workspace.tertulia_with(&["sessions", "import", "-", "--as", "next"], log.as_bytes());
    let reported = workspace.exits(0, &["doctor"]).stdout;
    assert!(!reported.contains("interrupted import"), "{reported}");
}
