//! Passes any JSON to a build, with its own budget and a small one: it must be refused with a reason, or built
//! within the budget.
#![no_main]

use std::ffi::OsString;
use std::io::BufReader;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tertulia_cli::{Streams, Zone, main_with};

fuzz_target!(|case: (u16, &str)| {
    let (budget, text) = case;
    let own = build(&[], text);
    let small = build(&["--budget", &budget.to_string()], text);
    for built in [own, small].into_iter().flatten() {
        let result: Value = serde_json::from_str(&built).expect("a result is JSON");
        let stats = &result["stats"];
        let [used, limit] = ["inputTokens", "limit"].map(|name| stats[name].as_u64().unwrap());
        assert!(used <= limit, "{used} of {limit} tokens");
        let sent = result["modelMessages"].as_array().unwrap().len() as u64;
        assert_eq!(stats["messageCount"], sent);
    }
});

/// Returns the output of the command for an input; `None` if the input is refused.
fn build(flags: &[&str], text: &str) -> Option<String> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        stdin: &mut BufReader::new(text.as_bytes()),
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin_is_terminal: false,
        stderr_is_terminal: false,
        stdout_is_terminal: false,
        stdout_has_colour: false,
        is_quiet: false,
        zone: Zone::Utc,
    };
    // The model needs no vocabulary, because loading one would take most of the time of a run.
    let arguments = ["tertulia", "build", "--model", "claude"].iter().chain(flags);
    main_with(arguments.map(OsString::from), &mut streams);
    assert!(!stdout.is_empty() || !stderr.is_empty(), "an answer or a reason");
    (!stdout.is_empty()).then(|| String::from_utf8(stdout).expect("a result is UTF-8"))
}
