//! The team file of the earlier system, and how its fields are converted.

#![expect(clippy::disallowed_methods, reason = "files are made for the test")]

use std::path::Path;

use tertulia_team::MemberKind;
use tertulia_team::agents;
use tertulia_team::file::{TeamFile, needs_trust, open};

use super::written::to_toml;

const TEAM: &str = r#"{
  "schemaVersion": "1.2",
  "agents": [{ "name": "claude", "args": ["--verbose"], "usePty": false }],
  "team": {
    "name": "t", "description": "d", "instructionFile": "TEAM.md",
    "members": [
      { "name": "ann", "displayName": "Ann", "role": "lead", "type": "human", "order": 1, "baseDir": "." },
      { "name": "max", "displayName": "Max", "role": "dev", "type": "ai", "agentType": "claude-code", "order": 0,
        "systemInstruction": [" You are Max. ", "", "Be brief."], "env": { "A": "b" },
        "additionalArgs": ["-x"], "baseDir": "src", "themeColor": "cyan" },
      { "name": "gem", "role": "dev", "type": "ai", "agentType": "gemini", "systemInstruction": "",
        "instructionFile": "GEMINI.md", "themeColor": "pink", "nickname": "g" }
    ]
  },
  "maxRounds": 10,
  "conversation": { "maxAgentResponseTime": 1500, "showThinkingTimer": true }
}"#;

#[test]
fn its_fields_become_ours() {
    let team = TeamFile::parse(TEAM, "team.json").unwrap();
    let names: Vec<_> = team.members.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["max", "ann", "gem"]);
    assert_eq!(team.limits.turns, 10);
    let max = team.member("max").unwrap();
    assert_eq!(max.agent, Some(agents::CLAUDE));
    assert_eq!(max.display_name.as_deref(), Some("Max"));
    assert_eq!(max.instruction.as_deref(), Some("You are Max.\nBe brief."));
    assert_eq!(max.instruction_file.as_deref(), Some("TEAM.md"));
    assert_eq!(max.args, ["--verbose".into(), "-x".into()]);
    assert_eq!(max.env.get("A").map(|value| &**value), Some("b"));
    assert_eq!((max.cwd.as_deref(), max.color.as_deref()), (Some("src"), Some("cyan")));
    assert_eq!(max.timeout_s, Some(2));
    let ann = team.member("ann").unwrap();
    assert_eq!((ann.kind, ann.agent, ann.cwd.as_deref()), (MemberKind::Human, None, None));
    let gem = team.member("gem").unwrap();
    assert_eq!((gem.instruction.as_deref(), gem.color.as_deref()), (None, None));
    assert_eq!(gem.instruction_file.as_deref(), Some("GEMINI.md"));
    assert!(team.roster().is_ok());
    assert_eq!(needs_trust(&team).len(), 4);
}

#[test]
fn what_has_no_place_here_is_reported() {
    let team = TeamFile::parse(TEAM, "team.json").unwrap();
    let told: Vec<_> = team.warnings.iter().map(|warning| &*warning.path).collect();
    assert_eq!(told, ["team.members", "member \"gem\": themeColor", "member \"gem\": nickname"]);
}

#[test]
fn it_becomes_a_file_of_ours() {
    let team = TeamFile::parse(TEAM, "team.json").unwrap();
    assert_eq!(super::good(&to_toml(&team)), team);
}

#[test]
fn a_file_is_known_by_its_first_character() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        open(&path)
    };
    assert_eq!(write("a", &format!("\u{feff}\n {TEAM}")).unwrap().team.limits.turns, 10);
    let opened = write("b", "[[member]]\nname = \"s\"\nagent = \"scribe\"\n").unwrap();
    assert_eq!(opened.team.members.len(), 1);
    assert_eq!(opened.folder, folder.path().canonicalize().unwrap());
    let error = open(&folder.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none: cannot be read: "), "{error}");
    assert!(open(Path::new("/dev/zero")).is_err());
}
