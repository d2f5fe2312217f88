//! Any text as a team file, in both forms: nothing panics, an error names a place in the text, and what was
//! read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_team::file::TeamFile;

fuzz_target!(|text: &str| {
    for read in [TeamFile::parse(text, "team.toml"), TeamFile::parse_json(text, "team.json")] {
        match read {
            Ok(team) => {
                let again = TeamFile::parse(&team.to_toml(), "again.toml");
                assert!(again.is_ok_and(|again| again == team));
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
});
