//! Tests unusual files and arguments: links, devices, pipes, names with control characters.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::workspace::Workspace;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                    agent = \"script\"\nanswers = [\"Yes.\"]\n";

#[test]
fn a_team_file_that_is_a_link_out_of_its_folder_is_refused_and_nothing_of_it_is_printed() {
    let workspace = Workspace::empty();
    let secret = workspace.root().join("home/credentials");
    std::fs::write(&secret, "[default]\naws_secret_access_key = wJalrXUtnFEMI\n").unwrap();
    symlink(&secret, workspace.path("tertulia.toml")).unwrap();
    for arguments in [&["run", "hello"][..], &["doctor"], &["context", "--member", "max"], &["why"]]
    {
        let output = workspace.tertulia(arguments);
        let reported = output.stdout + &output.stderr;
        assert!(!reported.contains("wJalr"), "{reported}");
    }
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    assert!(reported.contains("is a link that leads out of its folder"), "{reported}");
    // A named file is read, but none of its lines is printed.
    let reported = workspace.exits(2, &["run", "hello", "--team", secret.to_str().unwrap()]).stderr;
    assert!(!reported.contains("wJalr"), "{reported}");
}

#[test]
fn an_error_in_a_team_file_still_shows_its_line() {
    let workspace = Workspace::new(&format!("{TEAM}window = \"many\"\n"));
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    assert!(reported.contains("window = \"many\""), "{reported}");
}

#[test]
fn commands_that_read_do_not_read_what_an_untrusted_file_names_outside() {
    let workspace =
        Workspace::new(&TEAM.replace("answers", "instruction_file = \"../secret\"\nanswers"));
    std::fs::write(workspace.root().join("secret"), "the secret words\n").unwrap();
    let log = crate::harness::said("m1", "user", "hello?");
    workspace.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    let output = workspace.tertulia(&["context", "--member", "max", "--session", "old"]);
    assert!(
        !(output.stdout.clone() + &output.stderr).contains("secret words"),
        "{}",
        output.stdout
    );
    assert!(output.stderr.contains("../secret is not read"), "{}", output.stderr);
    workspace.exits(0, &["run", "hello", "--trust"]);
    let output = workspace.tertulia(&["context", "--member", "max", "--session", "old"]);
    assert!((output.stdout.clone() + &output.stderr).contains("secret words"), "{}", output.stdout);
}

#[test]
fn devices_and_pipes_without_a_writer_are_refused_at_once() {
    let workspace = Workspace::new(TEAM);
    let pipe = workspace.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["/dev/zero", pipe.to_str().unwrap()] {
        for arguments in [
            &["tokens", path][..],
            &["context", "--snapshot", path],
            &["context", "--snapshot", "/dev/null", "--instruction-file", path],
            &["sessions", "import", path],
        ] {
            let output = workspace.exits(1, arguments);
            assert!(output.stderr.contains("is not a file"), "{arguments:?}: {}", output.stderr);
        }
    }
}

#[test]
fn an_argument_with_control_characters_is_repeated_without_them() {
    let workspace = Workspace::new(TEAM);
    let output =
        workspace.exits(2, &["sessions", "import", "a.jsonl", "b\x1b]52;c;eA==\x07\u{9b}2J.jsonl"]);
    assert!(output.stderr.contains("unexpected argument"), "{}", output.stderr);
    assert!(!output.stderr.contains(['\x1b', '\x07', '\u{9b}']), "{:?}", output.stderr);
}

#[test]
fn a_program_of_the_project_is_not_started_by_doctor_or_init() {
    let workspace = Workspace::empty();
    std::fs::create_dir(workspace.path("bin")).unwrap();
    crate::workspace::executable(
        &workspace.path("bin/gemini"),
        "#!/bin/sh\ntouch pwned; echo 1.2.3\n",
    );
    let link = workspace.root().join("link");
    symlink(workspace.path("bin"), &link).unwrap();
    for arguments in [&["doctor"][..], &["init", "--print"]] {
        let mut command = workspace.command(arguments);
        let path = format!("{}:/usr/bin:/bin", link.display());
        let output = command.env("PATH", path).output().unwrap();
        let reported =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(!reported.contains("1.2.3"), "{reported}");
    }
    assert!(!workspace.path("pwned").exists());
}

#[test]
fn a_log_line_is_one_line_whatever_an_agent_says() {
    let workspace = Workspace::new(&TEAM.replace("Yes.", r"Yes.\nERROR forged\u001b[2J"));
    let mut command = workspace.command(&["run", "hello\nERROR forged \x1b[2J"]);
    let output = command.env("TERTULIA_LOG", "trace").output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.lines().all(|line| !line.starts_with("ERROR")), "{reported}");
    assert!(!reported.contains('\x1b'), "{reported:?}");
}

#[test]
fn a_log_line_is_one_line_whatever_a_client_calls_its_agent() {
    let workspace = Workspace::empty();
    let input = r#"{"agentType":"x\nERROR forged\u001b[2J","input":{"contextMessages":[],"currentMessage":"hi"}}"#;
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"assemblePrompt","params":{input}}}"#);
    let context = request.replace("assemblePrompt", "getContextForAgent");
    let context = context.replace("\"input\":{", "\"agentId\":\"a\",\"options\":{");
    let mut command = workspace.command(&["rpc"]);
    let child = command.env("TERTULIA_LOG", "debug").spawn().unwrap();
    let output = crate::workspace::feed(child, format!("{request}\n{context}\n").as_bytes());
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(reported.contains("forged"), "{reported}");
    assert!(reported.lines().all(|line| !line.starts_with("ERROR")), "{reported}");
    assert!(!reported.contains('\x1b'), "{reported:?}");
}

#[test]
fn a_text_that_is_too_long_is_refused_before_it_is_read() {
    let workspace = Workspace::new(TEAM);
    let file = std::fs::File::create(workspace.path("huge.txt")).unwrap();
    file.set_len(257 << 20).unwrap();
    for arguments in [&["tokens", "huge.txt"][..], &["context", "--snapshot", "huge.txt"]] {
        let output = workspace.exits(1, arguments);
        assert!(output.stderr.contains("huge.txt is longer than 256 MiB"), "{}", output.stderr);
    }
}
