//! Tests `tertulia sessions`: list, show, search, branch, redact, verify, delete.

use insta::assert_snapshot;

use crate::harness::{TestStore, repository_file, said, tertulia_on_terminal};

/// Returns a store with the session `login` of the examples.
fn login() -> TestStore {
    let store = TestStore::new();
    let log = std::fs::read_to_string(repository_file("examples/session.jsonl")).unwrap();
    store.import("login", &log);
    store
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn before_the_first_session_reading_makes_no_store() {
    let store = TestStore::new();
    for arguments in [["list"].as_slice(), &["search", "x"], &["verify"]] {
        let outcome = store.sessions(arguments, "");
        assert!(outcome.exits_with(0) && outcome.stdout.is_empty(), "{arguments:?}");
        assert_eq!(outcome.stderr, "tertulia: there are no sessions yet\n");
    }
    for arguments in [["show", "x"].as_slice(), &["export", "x"], &["delete", "x", "--yes"]] {
        assert!(store.refuses(arguments, "").contains("there are no sessions yet at sqlite:"));
    }
    assert!(!store.path("sessions.db").exists());
}

#[test]
fn a_list_shows_what_changed_last_first() {
    let store = login();
    store.import("other", &said("m", "user", "One\u{1b}[2J line\nand another"));
    assert_snapshot!(trimmed(&store.prints(&["list"], "")), @"
    session   entries  changed          title
    other           1  just now         One␛[2J line
    login           9  just now         Logging in fails with E4711 since this morning.…
    ");
    let json = store.prints(&["list", "--prefix", "log", "--json"], "");
    let session: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(session["sessionId"], "login");
    assert_eq!(session["entries"], 9);
    assert_eq!(session["tailEntryId"], "e-9");
    assert_eq!(session["head"].as_str().unwrap().len(), 64);
    assert_eq!(store.prints(&["list", "--until", "1h", "--json"], ""), "");
    assert_eq!(store.prints(&["list", "--since", "1h", "--json"], "").lines().count(), 2);
    let first = store.sessions(&["list", "--limit", "1", "--json"], "");
    assert_eq!(first.stdout.lines().count(), 1);
    assert!(first.stderr.contains("more results available"), "{}", first.stderr);
}

#[test]
fn a_transcript_has_times_speakers_words_and_ids() {
    assert_snapshot!(trimmed(&login().prints(&["show", "login"], "")), @r#"
    ── 2026-01-31 ──
    12:00:02 · system prompt: You mend software. Be brief.  e-2
    12:00:03 user  e-3
      Logging in fails with E4711 since this morning. Find out why; do not touch the database.
    12:00:04 assistant  e-4
      I look for the code first.
      → search {"pattern":"4711"}
    12:00:05 tool  e-5
      ← logs/2026-01-31.log:120: 08:00:00 login ann: E4711 account is locked logs/2026-01-31.…
    12:00:06 assistant  e-6
      → read {"path":"src/login.rs"}
    12:00:07 tool  e-7
      ← pub fn login(form: &Form) -> Result<Session, Error> {     let user = users::find(&for…
    12:00:08 assistant  e-8
      E4711 means that the account is locked (src/login.rs line 4). now() is in seconds, but attempts::add writes locked_until in milliseconds, so every lock lasts for centuries.
    12:00:09 user  e-9
      Good. Mend attempts::add, and write a test for it.
    "#);
}

#[test]
fn a_part_of_a_session_can_be_shown() {
    let store = login();
    let ids = |arguments: &[&str]| {
        let shown = store.prints(&[&["show", "login", "--json"], arguments].concat(), "");
        let id = |line: &str| {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            entry["id"].as_str().unwrap().to_owned()
        };
        shown.lines().map(id).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(&[]), "e-1 e-2 e-3 e-4 e-5 e-6 e-7 e-8 e-9");
    assert_eq!(ids(&["--tail", "2"]), "e-8 e-9");
    assert_eq!(ids(&["--from", "e-8"]), "e-8 e-9");
    assert_eq!(ids(&["--branch", "e-3"]), "e-1 e-2 e-3");
    assert_eq!(ids(&["--branch", "e-3", "--tail", "1"]), "e-3");
    assert!(
        store
            .refuses(&["show", "login", "--from", "x"], "")
            .contains("there is no entry x in session login")
    );
    assert!(store.sessions(&["show", "login", "--from", "e-1", "--tail", "1"], "").exits_with(2));
}

#[test]
fn a_limit_of_nothing_is_no_limit_for_a_search_as_for_a_list() {
    let store = TestStore::new();
    let log: Vec<String> =
        (0..25).map(|number| said(&format!("m{number}"), "user", "A grey banner.")).collect();
    store.import("talk", &log.join("\n"));
    let hits = |arguments: &[&str]| {
        let words = [&["search", "banner", "--json"], arguments].concat();
        store.prints(&words, "").lines().count()
    };
    assert_eq!(hits(&[]), 20);
    assert_eq!(hits(&["--limit", "0"]), 25);
}

#[test]
fn words_are_found_with_who_said_them_and_where() {
    let store = login();
    let reported =
        [("Carol", "A quiet grey banner."), ("Max", "The banner is red.")].map(|(name, text)| {
            serde_json::json!({"id": name, "type": "message", "timestamp": 1_769_860_800_000_u64,
            "payload": {"content": text, "speaker": {"roleId": name, "type": "ai"}}})
            .to_string()
        });
    store.import("table", &reported.join("\n"));
    assert_snapshot!(trimmed(&store.prints(&["search", "quiet ban*"], "")), @"
    table  2026-01-31 12:00  Carol  Carol
      A quiet grey banner.
    ");
    let hits = |arguments: &[&str]| {
        store.prints(&[&["search", "--json"], arguments].concat(), "").lines().count()
    };
    assert_eq!(hits(&["banner"]), 2);
    assert_eq!(hits(&["banner", "--speaker", "Max"]), 1);
    assert_eq!(hits(&["banner", "--session", "login"]), 0);
    assert_eq!(hits(&["banner", "--limit", "1"]), 1);
    assert_eq!(hits(&["banner", "--type", "team_task"]), 0);
    assert_eq!(hits(&["banner", "--until", "2026-01-01"]), 0);
    let json = store.prints(&["search", "grey", "--json"], "");
    let hit: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(hit["sessionId"], "table");
    assert_eq!(hit["entryId"], "Carol");
    let [start, end] =
        [0, 1].map(|side| hit["snippet"]["marks"][0][side].as_u64().unwrap() as usize);
    assert_eq!(&hit["snippet"]["text"].as_str().unwrap()[start..end], "grey");
    let nothing = store.sessions(&["search", "purple"], "");
    assert!(nothing.exits_with(0) && nothing.stderr.contains("no matches"));
}

#[test]
fn an_explained_search_says_which_words_were_found_and_what_they_count() {
    let store = login();
    let search = ["search", "why is the lock in attempts::add failing", "--explain"];
    let outcome = store.sessions(&search, "");
    assert_snapshot!(trimmed(&outcome.stdout), @"
    login  2026-01-31 12:00  assistant  e-8
      E4711 means that the account is locked (src/login.rs line 4). now() is in seconds, but attempts::add writes locked_until in milliseconds, so every lock lasts fo…
      score 77,782
         24,142  lock → locked  word, weight 14,620, 3 times here, in 3 entries
         26,820  attempts       word, weight 20,480, once here, in 2 entries
         26,820  add            word, weight 20,480, once here, in 2 entries
    login  2026-01-31 12:00  user  e-9
      Good. Mend attempts::add, and write a test for it.
      score 53,640
         26,820  attempts  word, weight 20,480, once here, in 2 entries
         26,820  add       word, weight 20,480, once here, in 2 entries
    ");
    assert_snapshot!(outcome.stderr, @"
    tertulia: no entry has all words; showing the best partial matches
    tertulia: ignored common words: why, is, the, in
    ");
    let json = store.prints(&[&search[..], &["--json"]].concat(), "");
    let hits: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for hit in &hits {
        let matches = hit["matches"].as_array().unwrap();
        let sum: u64 = matches.iter().map(|one| one["score"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), hit["score"].as_u64());
    }
    assert_eq!(hits[0]["matches"][0]["kind"], "word");
    let plain = store.prints(&["search", "lock", "--json"], "");
    assert!(!plain.contains("matches"), "{plain}");
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let store = login();
    store.import("logout", &said("m", "user", "Bye"));
    assert!(store.prints(&["show", "logi"], "").contains("e-9"));
    let several = store.refuses(&["show", "log"], "");
    assert!(several.contains("Ambiguous ID \"log\"; matches: logout, login"), "{several}");
    let near = store.refuses(&["show", "logni"], "");
    assert!(near.contains("there is no session logni; did you mean login?"), "{near}");
    let far = store.refuses(&["show", "zebra"], "");
    let list = format!("`tertulia sessions list --all --store {}` shows", store.url());
    assert!(far.contains(&list), "{far}");
}

#[test]
fn a_branch_goes_on_from_an_earlier_entry() {
    let store = login();
    let entry = store.prints(&["branch", "login", "e-4"], "");
    let shown = store.prints(&["show", "login", "--json", "--branch", entry.trim()], "");
    assert_eq!(shown.lines().count(), 5);
    assert!(shown.lines().last().unwrap().contains(r#""parentId":"e-4","type":"branch_summary""#));
    assert!(
        store
            .refuses(&["branch", "login", "x"], "")
            .contains("there is no entry x in session login")
    );
}

#[test]
fn a_branch_becomes_a_session_of_its_own() {
    let store = login();
    assert_eq!(store.prints(&["branch", "login", "e-4", "--into", "second"], ""), "second\n");
    assert_eq!(store.prints(&["show", "second", "--json"], "").lines().count(), 5);
    assert_eq!(store.ids(), ["login", "second"]);
    let taken = store.refuses(&["branch", "login", "e-4", "--into", "login"], "");
    assert!(taken.contains("session login already exists"), "{taken}");
}

#[test]
fn what_is_redacted_is_nowhere_any_more() {
    let store = login();
    let whole = store.prints(&["verify", "login", "--json"], "");
    let outcome = store.sessions(&["redact", "login", "e-3", "--reason", "private"], "");
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    let shown = store.prints(&["show", "login"], "");
    assert!(shown.contains("[redacted message by e-"), "{shown}");
    assert!(shown.contains("redaction of e-3: private"), "{shown}");
    let everywhere = [
        shown,
        store.prints(&["show", "login", "--json"], ""),
        store.prints(&["export", "login"], ""),
        store.prints(&["export", "login", "--format", "snapshot"], ""),
        store.prints(&["export", "login", "--format", "agent-chatter"], ""),
        store.prints(&["search", "database"], ""),
        store.prints(&["list"], ""),
    ];
    assert!(everywhere.iter().all(|text| !text.contains("do not touch the database")));
    let checked = store.prints(&["verify", "login", "--json"], "");
    assert!(checked.contains(r#""entries":10,"purged":1"#), "{checked}");
    assert!(whole.contains(r#""entries":9,"purged":0"#), "{whole}");
}

#[test]
fn a_check_names_what_does_not_fit() {
    let store = login();
    let whole = store.prints(&["verify"], "");
    assert!(whole.starts_with("login  ok  9 entries  hash "), "{whole}");
    let file = store.path("sessions.db");
    let bytes = std::fs::read(&file).unwrap();
    let (old, new) = (b"Be brief.", b"Be grief.");
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    std::fs::write(&file, [&bytes[..at], new, &bytes[at + old.len()..]].concat()).unwrap();
    for arguments in [["verify"].as_slice(), &["verify", "login"]] {
        let outcome = store.sessions(arguments, "");
        assert!(outcome.exits_with(1));
        assert!(outcome.stdout.contains("login  entry 2 (e-2): its record"), "{}", outcome.stdout);
        assert!(outcome.stderr.contains("1 session is damaged; restore a backup"));
    }
    let json = store.sessions(&["verify", "login", "--json"], "").stdout;
    assert!(json.contains(r#""damage":{"place":2,"entryId":"e-2","reason":"its record"#), "{json}");
    let exported = store.sessions(&["export", "login"], "");
    assert!(exported.exits_with(1));
    assert_eq!(exported.stdout.lines().count(), 8, "the others are saved");
    assert!(exported.stderr.contains("entry 2 (e-2) is damaged"), "{}", exported.stderr);
}

#[test]
fn deleting_asks_first() {
    let store = login();
    let url = store.url();
    let delete = ["sessions", "--store", &url, "delete", "logi"];
    for answer in ["n\n", "\n", "", "yesterday\n"] {
        let kept = tertulia_on_terminal(&delete, answer);
        assert!(kept.exits_with(1));
        assert!(
            kept.stderr.starts_with("Delete login permanently (9 entries, \"Logging in fails"),
            "{}",
            kept.stderr
        );
        assert!(kept.stderr.ends_with("nothing was deleted\n"), "{}", kept.stderr);
    }
    assert_eq!(store.ids(), ["login"]);
    let unasked = store.sessions(&["delete", "login"], "y\n");
    assert!(unasked.exits_with(2) && unasked.stderr.contains("use --yes to confirm"));
    let beginning = store.refuses(&["delete", "logi", "--yes"], "");
    assert!(beginning.contains("did you mean login?"), "{beginning}");
    assert!(tertulia_on_terminal(&delete, "y\n").exits_with(0));
    assert_eq!(store.ids(), [""; 0]);
    store.import("login", &said("m", "user", "Again"));
    assert!(store.sessions(&["delete", "login", "--yes"], "").exits_with(0));
    assert_eq!(store.ids(), [""; 0]);
}

#[test]
fn a_backup_comes_back_whole() {
    let store = login();
    let file = store.path("copy.db").display().to_string();
    let head = store.prints(&["verify"], "");
    store.prints(&["backup", &file], "");
    let there = store.refuses(&["backup", &file], "");
    assert!(there.contains("already exists and was not changed"), "{there}");
    let twice = store.refuses(&["restore", &file], "");
    assert!(twice.contains("the store already has session login; delete it"), "{twice}");
    store.prints(&["delete", "login", "--yes"], "");
    assert_eq!(store.prints(&["restore", &file, "--json"], ""), "{\"sessions\":1}\n");
    assert_eq!(store.prints(&["verify"], ""), head);
    let written = store.sessions(&["backup", "-"], "");
    assert!(
        written.exits_with(2) && written.stderr.contains("name a new file"),
        "{}",
        written.stderr
    );
    assert!(!std::path::Path::new("-").exists());
    let missing = store.refuses(&["restore", "nowhere.db"], "");
    assert!(missing.contains("cannot read nowhere.db"), "{missing}");
}
