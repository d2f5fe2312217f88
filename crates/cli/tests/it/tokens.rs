//! Tests `tertulia tokens`: files and standard input, models and tokenizers.

use insta::assert_snapshot;

use crate::harness::{repository_file, tertulia};

#[test]
fn standard_input_is_counted_for_one_model_of_each_vendor() {
    let outcome = tertulia(&["tokens"], "Hello, world!");
    assert!(outcome.exits_with(0));
    assert_snapshot!(outcome.stdout, @"
    file  bytes  gpt-5  claude-sonnet-4  gemini-2.5
    -        13      4               ~5           4

    ~ estimated: the vocabulary is not public
    ");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn several_files_are_added_up() {
    let file = repository_file("rustfmt.toml").display().to_string();
    let outcome = tertulia(&["tokens", "--tokenizer", "bytes", &file, "-"], "12345678");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 6);
    let last = |line: &str| {
        line.rsplit(' ').next().unwrap().trim_start_matches('~').parse::<u64>().unwrap()
    };
    assert_eq!(last(lines[1]) + last(lines[2]), last(lines[3]));
    assert!(lines[3].starts_with("total"));
}

#[test]
fn the_json_form_names_model_tokenizer_and_window() {
    let arguments = [
        "tokens",
        "--json",
        "--model",
        "gpt-4o",
        "--model",
        "openai/gpt-4",
        "--tokenizer",
        "cl100k",
    ];
    assert_snapshot!(tertulia(&arguments, "Hello, 世界").stdout, @r#"{"file":"-","bytes":13,"counts":[{"model":"gpt-4o","tokenizer":"o200k","tokens":3,"exact":true,"window":128000},{"model":"openai/gpt-4","tokenizer":"cl100k","tokens":6,"exact":true,"window":8192},{"tokenizer":"cl100k","tokens":6,"exact":true}]}"#);
}

#[test]
fn strings_that_look_like_control_tokens_are_text() {
    let counted = tertulia(&["tokens", "--json", "--tokenizer", "o200k"], "<|endoftext|>").stdout;
    assert!(counted.contains("\"tokens\":7"), "{counted}");
}

#[test]
fn an_unknown_model_is_estimated_and_reported() {
    let outcome = tertulia(&["tokens", "--model", "nobody-9"], "x");
    assert!(outcome.exits_with(0));
    assert!(outcome.stderr.contains("unknown model \"nobody-9\"; using an estimate"));
    assert!(outcome.stdout.contains("~1"));
}

#[test]
fn wrong_names_and_files_are_reported() {
    let tokenizer = tertulia(&["tokens", "--tokenizer", "x"], "");
    assert!(tokenizer.exits_with(2));
    assert!(tokenizer.stderr.contains("must be o200k, cl100k, gemma, claude or bytes"));
    assert!(tertulia(&["tokens", "no-such-file"], "").exits_with(1));
    assert!(tertulia(&["tokens", "-", "-"], "").exits_with(2));
}
