//! Reads any text as a team file, in both formats: there must be no panic, and an error must have a message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_team::file::TeamFile;

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), format!("{{{text}")] {
        match TeamFile::parse(&text, "team.toml") {
            Ok(team) => assert!(team.roster().is_ok()),
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
});
