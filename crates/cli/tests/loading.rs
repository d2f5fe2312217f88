//! Tests when `tertulia build` loads a vocabulary. This is a separate program, because a vocabulary stays loaded
//! for the whole process, so no other test may count in it.

use std::ffi::OsString;
use std::process::ExitCode;

use tertulia_cli::{Streams, Zone, main_with};
use tertulia_context::tokens::Tokenizer;

fn build(input: &str) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        stdin: &mut input.as_bytes(),
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin_is_terminal: false,
        stderr_is_terminal: false,
        stdout_is_terminal: false,
        stdout_has_colour: false,
        is_quiet: false,
        zone: Zone::Utc,
    };
    let arguments = ["tertulia", "build", "--model", "gpt-5", "--budget", "1000"];
    let code = main_with(arguments.map(OsString::from), &mut streams);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    assert!(!stdout.is_empty() && stderr.is_empty());
}

fn input(counts: &str) -> String {
    let said = |id: &str, role: &str| {
        format!(
            r#"{{"id":"{id}","type":"message","payload":{{"role":"{role}","content":"Hello"}}}}"#
        )
    };
    let entries = [said("a", "user"), said("b", "assistant"), said("c", "user")].join(",");
    format!(
        r#"{{"sessionEntries":[{entries}],"tokenCounts":{{{counts}}},"returnTokenCounts":true}}"#
    )
}

#[test]
fn counted_entries_need_no_vocabulary_and_new_ones_do() {
    build(&input(r#""a":4,"b":4,"c":4"#));
    assert!(!Tokenizer::O200k.is_loaded());
    build(&input(r#""a":4,"b":4"#));
    assert!(Tokenizer::O200k.is_loaded());
}
