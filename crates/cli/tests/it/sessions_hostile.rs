//! Tests hostile and faulty imports, names and paths: they are refused, and nothing is left behind.

use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{TestStore, said, tertulia};

#[test]
fn an_import_with_one_bad_line_leaves_nothing_behind() {
    let store = TestStore::new();
    store.import("first", &said("m", "user", "Hello"));
    let mut log = String::new();
    for line in 1..=8000 {
        match line {
            7000 => log.push_str("{\"id\":\"x\",\"type\":\"message\"}\n"),
            _ => writeln!(log, "{}", said(&format!("m-{line}"), "user", "Hello")).unwrap(),
        }
    }
    let reported = store.refuses(&["import", "-", "--as", "bad"], &log);
    assert!(reported.contains("standard input: line 7000: Entry x: payload"), "{reported}");
    assert_eq!(store.ids(), ["first"]);
    assert!(store.refuses(&["show", "bad"], "").contains("there is no session bad"));
    assert_eq!(store.prints(&["verify", "--json"], "").lines().count(), 1);
    // The id is free, and the corrected file is imported.
    let mended = log.replace("{\"id\":\"x\",\"type\":\"message\"}\n", "\n");
    store.prints(&["import", "-", "--as", "bad"], &mended);
    assert_eq!(store.ids(), ["bad", "first"]);
}

#[test]
fn entries_that_do_not_fit_together_are_named() {
    let store = TestStore::new();
    let orphan = r#"{"id":"a","parentId":"nobody","type":"custom"}"#;
    let reported = store.refuses(&["import", "-"], orphan);
    assert!(
        reported.contains(
            "standard input: entry a follows nobody, which is not in the session; append that one first; \
             nothing was imported"
        ),
        "{reported}"
    );
    let twice = "{\"id\":\"a\",\"type\":\"custom\"}\n{\"id\":\"a\",\"type\":\"other\"}";
    assert!(store.refuses(&["import", "-"], twice).contains("entry a already exists"));
    let lost = r#"{"id":"a","type":"redaction","payload":{"targetId":"nobody"}}"#;
    assert!(store.refuses(&["import", "-"], lost).contains("redaction a refers to nobody"));
    let nul = r#"{"id":"a\u0000b","type":"custom"}"#;
    assert!(store.refuses(&["import", "-"], nul).contains("an id without NUL"));
    let later = r#"{"id":"a","type":"session_header","payload":{"version":3}}"#;
    assert!(store.refuses(&["import", "-"], later).contains("this program reads versions 1 to 2"));
    assert_eq!(store.ids(), [""; 0]);
}

#[test]
fn a_line_of_sixty_four_megabytes_is_refused_by_its_limit_with_its_place() {
    let store = TestStore::new();
    let long = "x".repeat(64 << 20);
    let log = format!("{}\n{}\n", said("a", "user", "Hello"), said("b", "user", &long));
    let reported = store.refuses(&["import", "-", "--max-line-bytes", "1MiB"], &log);
    assert!(
        reported.contains(
            "standard input: line 2 is longer than 1048576 bytes; raise --max-line-bytes"
        ),
        "{reported}"
    );
    let document = format!("{{\n\"messages\":\n[\"{long}\"]}}");
    let reported = store.refuses(&["import", "-", "--max-line-bytes", "1MiB"], &document);
    assert!(reported.contains("line 3 is longer than 1048576 bytes"), "{reported}");
    let many = format!("{{\n{}", "\"x\",\n".repeat(300_000));
    let reported = store.refuses(&["import", "-", "--max-line-bytes", "1MiB"], &many);
    assert!(reported.contains("too long for other formats (1048576 bytes at most)"), "{reported}");
    assert_eq!(store.ids(), [""; 0]);
}

#[test]
fn nesting_and_bytes_that_are_no_text_do_no_harm() {
    let store = TestStore::new();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    store.import("deep", &format!(r#"{{"id":"a","type":"custom","payload":{deep}}}"#));
    assert!(store.prints(&["export", "deep"], "").contains(&deep));
    let path = store.path("bytes");
    std::fs::write(&path, b"{\"id\":\"\xff\"}\n").unwrap();
    let reported = store.refuses(&["import", &path.display().to_string()], "");
    assert!(reported.contains("line 1 is not UTF-8: byte 8"), "{reported}");
    for nothing in ["", "\n\n", "\u{feff}"] {
        assert!(store.refuses(&["import", "-"], nothing).contains("is empty"), "{nothing:?}");
    }
    for other in ["[]", "7", "null", "{}", "{\"a\":1}"] {
        assert!(store.refuses(&["import", "-"], other).contains("unknown file format"), "{other}");
    }
    assert_eq!(store.ids(), ["deep"]);
}

#[test]
fn only_files_are_imported() {
    let store = TestStore::new();
    let pipe = store.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let folder = store.refuses(&["import", &store.path("").display().to_string()], "");
    assert!(folder.contains("no session of an agent was found in this folder"), "{folder}");
    for path in [pipe, "/dev/zero".into(), "/dev/null".into()] {
        let reported = store.refuses(&["import", &path.display().to_string()], "");
        assert!(
            reported.contains("is not a file; name a file, or - for standard input"),
            "{reported}"
        );
    }
    let reported = store.refuses(&["import", "nowhere.jsonl"], "");
    assert!(reported.contains("cannot read nowhere.jsonl"), "{reported}");
    assert!(!store.path("sessions.db").exists(), "a wrong path makes no store");
}

#[test]
fn hostile_names_are_refused_everywhere() {
    let store = TestStore::new();
    store.import("one", &said("m", "user", "Hello"));
    for name in ["../x", "a/b", "'; DROP TABLE session; --", "a\nb", "a\u{202e}b", "..", ""] {
        for arguments in
            [["branch", "one", "m", "--into", name].as_slice(), &["import", "-", "--as", name]]
        {
            let outcome = store.sessions(arguments, &said("m", "user", "Hello"));
            let reported = &outcome.stderr;
            assert!(outcome.exits_with(2), "{arguments:?}: {reported}");
            assert!(
                reported.contains("cannot be the id of a session"),
                "{arguments:?}: {reported}"
            );
        }
        for arguments in [
            ["show", name].as_slice(),
            &["export", name],
            &["delete", name, "--yes"],
            &["verify", name],
            &["redact", name, "m"],
            &["rename", name, "x"],
            &["search", "x", "--session", name],
        ] {
            let reported = store.refuses(arguments, "");
            assert!(reported.contains("there is no session"), "{arguments:?}: {reported}");
        }
    }
    assert_eq!(store.ids(), ["one"]);
}

#[test]
fn sql_in_every_text_is_text() {
    let store = TestStore::new();
    let sql = "'); DROP TABLE entry; --\" OR 1=1 %_* NEAR(";
    let entry = json!({"id": sql, "type": "message", "runId": sql, "meta": {sql: sql}, "payload":
        {"content": sql, "speaker": {"roleId": sql, "roleName": sql, "roleTitle": sql, "type": sql}}});
    let task = json!({"id": "t", "parentId": sql, "type": sql, "payload": sql});
    store.import("one", &format!("{entry}\n{task}"));
    let exported = store.prints(&["export", "one"], "");
    store.sessions(&["search", sql, "--speaker", sql, "--type", sql], "");
    store.sessions(&["list", "--prefix", sql], "");
    store.prints(&["show", "one", "--from", sql], "");
    store.prints(&["branch", "one", sql], "");
    store.prints(&["redact", "one", "t", "--reason", sql], "");
    assert!(exported.contains("DROP TABLE entry"));
    assert!(store.prints(&["verify"], "").contains("one  ok  4 entries, 2 redacted"));
}

#[test]
fn a_store_that_others_could_swap_or_read_is_refused() {
    let store = TestStore::new();
    store.import("one", &said("m", "user", "Hello"));
    let link = store.path("link.db");
    symlink(store.path("sessions.db"), &link).unwrap();
    let list = |path: &std::path::Path| {
        let outcome =
            tertulia(&["sessions", "list", "--store", &format!("sqlite:{}", path.display())], "");
        assert!(outcome.exits_with(1), "{}", outcome.stdout);
        outcome.stderr
    };
    assert!(list(&link).contains("is a symbolic link"), "{}", list(&link));
    let open = store.path("sessions.db");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(list(&open).contains("can be read by others; run `chmod 600`"), "{}", list(&open));
    let folder = store.path("open");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    let url = format!("sqlite:{}", folder.join("new.db").display());
    let outcome = tertulia(&["sessions", "import", "-", "--store", &url], &said("m", "user", "x"));
    assert!(outcome.stderr.contains("can be written to by others"), "{}", outcome.stderr);
}

#[test]
fn a_store_is_named_in_one_of_three_ways() {
    let outcome = tertulia(&["sessions", "list", "--store", "mysql://ann:s3cret@db"], "");
    assert!(outcome.exits_with(2));
    assert!(outcome.stderr.contains("write sqlite:PATH, postgres://USER@HOST/DATABASE or memory"));
    assert!(!outcome.stderr.contains("s3cret"), "{}", outcome.stderr);
    let memory = tertulia(&["sessions", "list", "--store", "memory"], "");
    assert!(memory.exits_with(0) && memory.stderr.contains("there are no sessions yet"));
}

fn binary(home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tertulia"));
    command.env_remove("TERTULIA_STORE").env_remove("TERTULIA_HOME").env_remove("XDG_DATA_HOME");
    command.env("HOME", home).stdin(Stdio::null());
    command
}

#[test]
fn the_file_is_where_the_environment_says() {
    let store = TestStore::new();
    let log = store.path("log.jsonl");
    std::fs::write(&log, said("m", "user", "Hello")).unwrap();
    let places = [
        (None, ".local/share/tertulia/sessions.db"),
        (Some("XDG_DATA_HOME"), "data/tertulia/sessions.db"),
        (Some("TERTULIA_HOME"), "data/sessions.db"),
    ];
    for (variable, file) in places {
        let mut command = binary(&store.path(""));
        command.args(["sessions", "import"]).arg(&log);
        if let Some(variable) = variable {
            command.env(variable, store.path("data"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let about = store.path(file).metadata().unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{file}");
        let folder = store.path(file).parent().unwrap().metadata().unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700, "{file}");
    }
    let named = binary(&store.path(""))
        .env("TERTULIA_STORE", store.url())
        .args(["sessions", "import"])
        .arg(&log)
        .output();
    assert!(named.unwrap().status.success());
    assert_eq!(store.ids().len(), 1);
}

#[test]
fn commands_that_need_no_session_make_no_store() {
    let store = TestStore::new();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"getTeamTask"}"#;
    tertulia(&["rpc", "--store", &store.url()], request);
    tertulia(&["build", "--budget", "100", "--store", &store.url()], "{}");
    assert!(!store.path("sessions.db").exists());
}

#[test]
fn without_a_home_only_sessions_are_missing() {
    let child = binary(std::path::Path::new(""))
        .env_remove("HOME")
        .arg("rpc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = ["getTeamTask", "listSessions"]
        .map(|method| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}\n"));
    let output = crate::workspace::feed(child, lines.concat().as_bytes());
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(reported.contains(r#""task":null"#), "{reported}");
    assert!(reported.contains("no home folder is known; name a store with --store"), "{reported}");
}

#[test]
fn new_entries_are_shown_as_they_land() {
    use std::io::{BufRead, BufReader};
    let store = TestStore::new();
    store.import("one", &said("a", "user", "Hello"));
    let mut child = binary(&store.path(""))
        .args(["sessions", "show", "one", "--follow", "--json", "--store", &store.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("Hello"));
    let entry = said("b", "user", "And then?");
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"append","params":{{"sessionId":"one","entries":[{entry}]}}}}"#
    );
    assert!(tertulia(&["rpc", "--store", &store.url()], &request).stdout.contains("\"b\""));
    assert!(lines.next().unwrap().unwrap().contains("And then?"));
    // If the session is deleted, the command ends with a message.
    store.prints(&["delete", "one", "--yes"], "");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("there is no session one"));
}
