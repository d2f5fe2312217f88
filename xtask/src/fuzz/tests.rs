//! Tests of the pure part of `cargo xtask fuzz`.

use super::*;

fn parse(line: &str) -> Result<Options, UsageError> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Options::parse(&arguments)
}

#[test]
fn without_options_every_target_gets_the_default_count() {
    assert_eq!(parse(""), Ok(Options { runs: RUNS_DEFAULT, target: None }));
}

#[test]
fn count_and_target_can_be_chosen() {
    let target = Some("markers".to_owned());
    assert_eq!(parse("--target markers --runs 5"), Ok(Options { runs: 5, target }));
}

#[test]
fn a_count_that_libfuzzer_would_take_for_endless_is_refused() {
    for count in ["0", "-1", "2147483648", "many"] {
        let error = parse(&format!("--runs {count}")).unwrap_err();
        assert!(matches!(error, UsageError::BadValue { .. }), "{count}: {error}");
    }
}

#[test]
fn an_option_without_its_value_is_refused() {
    assert_eq!(parse("--runs"), Err(UsageError::MissingValue { option: "--runs" }));
}

#[test]
fn an_unknown_option_is_refused() {
    let argument = "--time".to_owned();
    assert_eq!(parse("--time"), Err(UsageError::UnexpectedArgument { command: "fuzz", argument }));
}

#[test]
fn a_misspelt_target_is_answered_with_those_that_exist() {
    let known = vec!["markers".to_owned(), "window".to_owned()];
    let message = select(known, Some("marker")).unwrap_err().to_string();
    assert!(message.ends_with("there are: markers, window"), "{message}");
}

#[test]
fn the_count_is_read_from_the_last_line() {
    assert_eq!(parse_runs_done("Done 20000 runs in 3 second(s)"), Some(20_000));
    assert_eq!(parse_runs_done("#20000\tDONE   cov: 12 ft: 13"), None);
    assert_eq!(parse_runs_done("Done with it"), None);
}

#[test]
fn findings_are_never_taken_for_chatter() {
    assert!(is_chatter("#2\tNEW    cov: 12 ft: 13 corp: 2/3b"));
    assert!(is_chatter("INFO: Running with entropic power schedule (0xFF, 100)."));
    assert!(!is_chatter("thread '<unnamed>' panicked at src/lib.rs:3:5:"));
    assert!(!is_chatter("==77== ERROR: libFuzzer: deadly signal"));
    assert!(!is_chatter("#20000\tDONE   cov: 12 ft: 13"));
}

#[test]
fn a_target_that_ends_without_running_an_input_is_a_failure() {
    let mut idle = Command::new("rustc");
    let error = run_target("idle", idle.arg("--version").stdout(Stdio::null())).unwrap_err();
    assert!(matches!(error, FuzzError::NoRuns { .. }), "{error}");
}

#[test]
fn a_target_that_ends_badly_is_a_finding() {
    let error = run_target("bad", Command::new("rustc").arg("--no-such-flag")).unwrap_err();
    assert!(matches!(error, FuzzError::Finding { .. }), "{error}");
}

#[test]
fn a_scratch_folder_goes_with_its_value() {
    let scratch = ScratchFolder::create().unwrap();
    let folder = scratch.subfolder("markers").unwrap();
    assert!(folder.is_dir());
    drop(scratch);
    assert!(!folder.exists());
}
