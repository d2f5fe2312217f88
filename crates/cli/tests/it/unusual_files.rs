//! Files and arguments that somebody else chose: links, devices, pipes, names with control characters.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::room::Room;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                    agent = \"script\"\nanswers = [\"Yes.\"]\n";

#[test]
fn a_team_file_that_is_a_link_out_of_its_folder_is_refused_and_nothing_of_it_is_printed() {
    let room = Room::empty();
    let secret = room.root().join("home/credentials");
    std::fs::write(&secret, "[default]\naws_secret_access_key = wJalrXUtnFEMI\n").unwrap();
    symlink(&secret, room.path("tertulia.toml")).unwrap();
    for arguments in [&["run", "hello"][..], &["doctor"], &["context", "--member", "max"], &["why"]]
    {
        let left = room.tertulia(arguments);
        let told = left.stdout + &left.stderr;
        assert!(!told.contains("wJalr"), "{told}");
    }
    let told = room.exits(2, &["run", "hello"]).stderr;
    assert!(told.contains("is a link that leads out of its folder"), "{told}");
    // A file that is named is read, and still no line of it is printed.
    let told = room.exits(2, &["run", "hello", "--team", secret.to_str().unwrap()]).stderr;
    assert!(!told.contains("wJalr"), "{told}");
}

#[test]
fn an_error_in_a_team_file_still_shows_its_line() {
    let room = Room::new(&format!("{TEAM}window = \"many\"\n"));
    let told = room.exits(2, &["run", "hello"]).stderr;
    assert!(told.contains("window = \"many\""), "{told}");
}

#[test]
fn commands_that_read_do_not_read_what_an_untrusted_file_names_outside() {
    let room = Room::new(&TEAM.replace("answers", "instruction_file = \"../secret\"\nanswers"));
    std::fs::write(room.root().join("secret"), "the secret words\n").unwrap();
    let log = crate::harness::said("m1", "user", "hello?");
    room.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    let left = room.tertulia(&["context", "--member", "max", "--session", "old"]);
    assert!(!(left.stdout.clone() + &left.stderr).contains("secret words"), "{}", left.stdout);
    assert!(left.stderr.contains("../secret is not read"), "{}", left.stderr);
    room.exits(0, &["run", "hello", "--trust"]);
    let left = room.tertulia(&["context", "--member", "max", "--session", "old"]);
    assert!((left.stdout.clone() + &left.stderr).contains("secret words"), "{}", left.stdout);
}

#[test]
fn devices_and_pipes_without_a_writer_are_refused_at_once() {
    let room = Room::new(TEAM);
    let pipe = room.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["/dev/zero", pipe.to_str().unwrap()] {
        for arguments in [
            &["tokens", path][..],
            &["context", "--snapshot", path],
            &["context", "--snapshot", "/dev/null", "--instruction-file", path],
            &["sessions", "import", path],
        ] {
            let left = room.exits(1, arguments);
            assert!(left.stderr.contains("is not a file"), "{arguments:?}: {}", left.stderr);
        }
    }
}

#[test]
fn an_argument_with_control_characters_is_repeated_without_them() {
    let room = Room::new(TEAM);
    let left =
        room.exits(2, &["sessions", "import", "a.jsonl", "b\x1b]52;c;eA==\x07\u{9b}2J.jsonl"]);
    assert!(left.stderr.contains("unexpected argument"), "{}", left.stderr);
    assert!(!left.stderr.contains(['\x1b', '\x07', '\u{9b}']), "{:?}", left.stderr);
}

#[test]
fn a_program_of_the_project_is_not_started_by_doctor_or_init() {
    let room = Room::empty();
    std::fs::create_dir(room.path("bin")).unwrap();
    crate::room::executable(&room.path("bin/gemini"), "#!/bin/sh\ntouch pwned; echo 1.2.3\n");
    let link = room.root().join("link");
    symlink(room.path("bin"), &link).unwrap();
    for arguments in [&["doctor"][..], &["init", "--print"]] {
        let mut command = room.command(arguments);
        let path = format!("{}:/usr/bin:/bin", link.display());
        let output = command.env("PATH", path).output().unwrap();
        let told =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("1.2.3"), "{told}");
    }
    assert!(!room.path("pwned").exists());
}

#[test]
fn a_log_line_is_one_line_whatever_an_agent_says() {
    let room = Room::new(&TEAM.replace("Yes.", r"Yes.\nERROR forged\u001b[2J"));
    let mut command = room.command(&["run", "hello\nERROR forged \x1b[2J"]);
    let output = command.env("TERTULIA_LOG", "trace").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.lines().all(|line| !line.starts_with("ERROR")), "{told}");
    assert!(!told.contains('\x1b'), "{told:?}");
}

#[test]
fn a_log_line_is_one_line_whatever_a_client_calls_its_agent() {
    let room = Room::empty();
    let input = r#"{"agentType":"x\nERROR forged\u001b[2J","input":{"contextMessages":[],"currentMessage":"hi"}}"#;
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"assemblePrompt","params":{input}}}"#);
    let context = request.replace("assemblePrompt", "getContextForAgent");
    let context = context.replace("\"input\":{", "\"agentId\":\"a\",\"options\":{");
    let mut command = room.command(&["rpc"]);
    let child = command.env("TERTULIA_LOG", "debug").spawn().unwrap();
    let output = crate::room::feed(child, format!("{request}\n{context}\n").as_bytes());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("forged"), "{told}");
    assert!(told.lines().all(|line| !line.starts_with("ERROR")), "{told}");
    assert!(!told.contains('\x1b'), "{told:?}");
}

#[test]
fn a_text_that_is_too_long_is_refused_before_it_is_read() {
    let room = Room::new(TEAM);
    let file = std::fs::File::create(room.path("huge.txt")).unwrap();
    file.set_len(257 << 20).unwrap();
    for arguments in [&["tokens", "huge.txt"][..], &["context", "--snapshot", "huge.txt"]] {
        let left = room.exits(1, arguments);
        assert!(left.stderr.contains("huge.txt is longer than 256 MiB"), "{}", left.stderr);
    }
}
