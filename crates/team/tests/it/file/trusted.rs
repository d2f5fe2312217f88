//! What needs trust, and what is stored about it.

#![expect(clippy::disallowed_methods, reason = "files are made for the test")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tertulia_team::file::{ContentHash, TeamFile, Trust, TrustError, Trusted, needs_trust, open};

use super::good;

fn reasons(fields: &str) -> Vec<String> {
    let team = good(&format!("[[member]]\nname = \"max\"\n{fields}\n"));
    needs_trust(&team).iter().map(ToString::to_string).collect()
}

/// The reason that is always given first for Claude Code.
const CLAUDE: &str =
    "max is Claude Code; it also uses the project's own settings (hooks, MCP servers)";

#[test]
fn a_member_that_starts_nothing_needs_no_trust() {
    for agent in ["scribe", "librarian"] {
        assert!(reasons(&format!("agent = \"{agent}\"")).is_empty(), "{agent}");
    }
    assert!(reasons("agent = \"script\"\nscript_file = \"a.jsonl\"").is_empty());
    assert!(needs_trust(&TeamFile::built_in()).is_empty());
}

#[test]
fn an_agent_that_only_reads_needs_trust_since_it_obeys_the_projects_settings() {
    for (agent, product) in
        [("claude", "Claude Code"), ("codex", "Codex"), ("gemini", "Gemini CLI")]
    {
        let words = CLAUDE.replace("Claude Code", product);
        assert_eq!(reasons(&format!("agent = \"{agent}\"")), [words]);
    }
    let fields = "agent = \"claude\"\ninstruction = \"x\"\ninstruction_file = \"a/../max.md\"\ncwd = \"src\"";
    assert_eq!(reasons(fields), [CLAUDE]);
}

#[test]
fn a_file_of_the_earlier_system_needs_trust_for_its_agents_too() {
    let text = r#"{"schemaVersion": "1.1", "team": {"members": [
        {"name": "max", "type": "ai", "agentType": "claude-code"}]}}"#;
    let team = TeamFile::parse(text, "team.json").unwrap();
    let reasons: Vec<_> = needs_trust(&team).iter().map(ToString::to_string).collect();
    assert_eq!(reasons, [CLAUDE]);
}

#[test]
fn every_reason_is_explained_in_words() {
    let check = |fields: &str, words: &str| {
        let mut reasons = reasons(fields);
        reasons.retain(|reason| !reason.contains("the project's own settings"));
        assert_eq!(reasons, [words], "{fields}");
    };
    check("agent = \"command\"\ncommand = \"/usr/bin/foo -x\"", "max starts /usr/bin/foo -x");
    check(
        "agent = \"acp\"\ncommand = [\"a b\", \"\\u001b[1m\"]",
        "max starts \"a b\" \"\\u{1b}[1m\"",
    );
    check("agent = \"claude\"\nargs = [\"--x\"]", "max gets the arguments --x");
    check("agent = \"claude\"\nenv = { B = \"1\", A = \"2\" }", "max gets the variables A B");
    check("agent = \"codex\"\npermissions = \"edit\"", "max may edit files");
    check(
        "agent = \"codex\"\npermissions = \"full\"",
        "max may do everything that you may do, without asking",
    );
    check(
        "agent = \"openai\"\nbase_url = \"https://host/v1\"\nkey_variable = \"KEY\"",
        "max sends the conversation to https://host/v1 with the key in KEY",
    );
    check("agent = \"claude\"\ncwd = \"/etc\"", "max works in /etc");
    check("agent = \"claude\"\ninstruction_file = \"../x\"", "max gets the file ../x");
    check(
        "agent = \"claude\"\n[limits]\nturns = 25",
        "the agents may take 25 turns before they ask a person",
    );
}

#[test]
fn a_content_is_trusted_at_its_path_until_a_byte_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tertulia.toml");
    fs::write(&file, "[[member]]\nname = \"s\"\nagent = \"scribe\"\n").unwrap();
    let data = folder.path().join("data");
    let opened = open(&file).unwrap();
    let mut trust = Trust::open(&data).unwrap();
    assert!(!trust.is_trusted(&file, opened.hash));
    trust.trust(&file, opened.hash).unwrap();
    let again = Trust::open(&data).unwrap();
    assert!(again.is_trusted(&file, opened.hash) && again.is_trusted(&opened.path, opened.hash));
    assert!(!again.is_trusted(&folder.path().join("other.toml"), opened.hash));
    fs::write(&file, "[[member]]\nname = \"s\"\nagent = \"scribe\"\n#").unwrap();
    assert!(!again.is_trusted(&file, open(&file).unwrap().hash));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("trusted"))), (0o700, 0o600));
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "nothing is left beside the list");
}

#[test]
fn damaged_lines_trust_nothing_and_the_others_stay() {
    let data = tempfile::tempdir().unwrap();
    let (path, odd) = (Path::new("/a/tertulia.toml"), Path::new("/b %\n安/tertulia.toml"));
    let hash = ContentHash::new(b"x");
    let mut trust = Trust::open(data.path()).unwrap();
    trust.trust(path, hash).unwrap();
    trust.trust(odd, hash).unwrap();
    let list = data.path().join("trusted");
    let mut bytes = b"\xff\xfe\n\nabc\n".to_vec();
    bytes.extend(fs::read(&list).unwrap());
    bytes.extend(b"0000 /c\n");
    fs::write(&list, bytes).unwrap();
    let mut trust = Trust::open(data.path()).unwrap();
    assert!(trust.is_trusted(path, hash) && trust.is_trusted(odd, hash));
    trust.trust(Path::new("/d"), hash).unwrap();
    assert_eq!(fs::read_to_string(&list).unwrap().lines().count(), 3);
}

#[test]
fn two_that_trust_at_once_lose_nothing_that_was_written() {
    let data = tempfile::tempdir().unwrap();
    let hash = ContentHash::new(b"x");
    let (mut one, mut other) =
        (Trust::open(data.path()).unwrap(), Trust::open(data.path()).unwrap());
    one.trust(Path::new("/a"), hash).unwrap();
    other.trust(Path::new("/b"), hash).unwrap();
    let trust = Trust::open(data.path()).unwrap();
    assert!(trust.is_trusted(Path::new("/a"), hash) && trust.is_trusted(Path::new("/b"), hash));
}

#[test]
fn a_list_that_others_could_have_written_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let list = data.path().join("trusted");
    fs::write(&list, "").unwrap();
    fs::set_permissions(&list, fs::Permissions::from_mode(0o622)).unwrap();
    let error = Trust::open(data.path()).unwrap_err();
    assert!(error.to_string().contains("can be written by others"), "{error}");
    fs::remove_file(&list).unwrap();
    symlink("/dev/null", &list).unwrap();
    assert!(matches!(Trust::open(data.path()), Err(TrustError::Unsafe { .. })));
}

#[test]
fn what_was_seen_of_a_trusted_file_is_kept_and_used_only_while_it_is_trusted() {
    let data = tempfile::tempdir().unwrap();
    let (path, hash) = (Path::new("/a/tertulia.toml"), ContentHash::new(b"x"));
    let seen = Trusted { reasons: vec!["max starts sh".into()], lines: vec!["a = 1".into()] };
    let mut trust = Trust::open(data.path()).unwrap();
    assert_eq!(trust.seen(path), None);
    trust.remember(path, hash, &seen).unwrap();
    assert_eq!(trust.seen(path), None, "it is not trusted");
    trust.trust(path, hash).unwrap();
    assert_eq!(trust.seen(path), Some(seen));
    assert_eq!(trust.seen(Path::new("/b/tertulia.toml")), None);
    let folder = data.path().join("trusted-files");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(trust.seen(path), None, "others could have written it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "{\"hash\": 1}").unwrap();
    assert_eq!(trust.seen(path), None);
}
