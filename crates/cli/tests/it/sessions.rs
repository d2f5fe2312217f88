//! `tertulia sessions`: listing, reading, finding, branching, redacting, checking, deleting.

use insta::assert_snapshot;

use crate::harness::{Shelf, repository_file, said, tertulia_on_terminal};

/// A shelf with the session `login` of the examples.
fn login() -> Shelf {
    let shelf = Shelf::new();
    let log = std::fs::read_to_string(repository_file("examples/session.jsonl")).unwrap();
    shelf.import("login", &log);
    shelf
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn before_the_first_session_reading_makes_no_store() {
    let shelf = Shelf::new();
    for arguments in [["list"].as_slice(), &["search", "x"], &["verify"]] {
        let outcome = shelf.sessions(arguments, "");
        assert!(outcome.exits_with(0) && outcome.stdout.is_empty(), "{arguments:?}");
        assert_eq!(outcome.stderr, "tertulia: there are no sessions yet\n");
    }
    for arguments in [["show", "x"].as_slice(), &["export", "x"], &["delete", "x", "--yes"]] {
        assert!(shelf.refuses(arguments, "").contains("there are no sessions yet at sqlite:"));
    }
    assert!(!shelf.path("sessions.db").exists());
}

#[test]
fn a_list_shows_what_changed_last_first() {
    let shelf = login();
    shelf.import("other", &said("m", "user", "One\u{1b}[2J line\nand another"));
    assert_snapshot!(trimmed(&shelf.prints(&["list"], "")), @"
    session   entries  changed          title
    other           1  just now         One␛[2J line
    login           9  just now         Logging in fails with E4711 since this morning.…
    ");
    let json = shelf.prints(&["list", "--prefix", "log", "--json"], "");
    let session: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(session["sessionId"], "login");
    assert_eq!(session["entries"], 9);
    assert_eq!(session["tailEntryId"], "e-9");
    assert_eq!(session["head"].as_str().unwrap().len(), 64);
    assert_eq!(shelf.prints(&["list", "--until", "1h", "--json"], ""), "");
    assert_eq!(shelf.prints(&["list", "--since", "1h", "--json"], "").lines().count(), 2);
    let first = shelf.sessions(&["list", "--limit", "1", "--json"], "");
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
    let shelf = login();
    let ids = |arguments: &[&str]| {
        let shown = shelf.prints(&[&["show", "login", "--json"], arguments].concat(), "");
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
        shelf
            .refuses(&["show", "login", "--from", "x"], "")
            .contains("there is no entry x in session login")
    );
    assert!(shelf.sessions(&["show", "login", "--from", "e-1", "--tail", "1"], "").exits_with(2));
}

#[test]
fn a_limit_of_nothing_is_no_limit_for_a_search_as_for_a_list() {
    let shelf = Shelf::new();
    let log: Vec<String> =
        (0..25).map(|number| said(&format!("m{number}"), "user", "A grey banner.")).collect();
    shelf.import("talk", &log.join("\n"));
    let hits = |arguments: &[&str]| {
        let words = [&["search", "banner", "--json"], arguments].concat();
        shelf.prints(&words, "").lines().count()
    };
    assert_eq!(hits(&[]), 20);
    assert_eq!(hits(&["--limit", "0"]), 25);
}

#[test]
fn words_are_found_with_who_said_them_and_where() {
    let shelf = login();
    let told =
        [("Carol", "A quiet grey banner."), ("Max", "The banner is red.")].map(|(name, text)| {
            serde_json::json!({"id": name, "type": "message", "timestamp": 1_769_860_800_000_u64,
            "payload": {"content": text, "speaker": {"roleId": name, "type": "ai"}}})
            .to_string()
        });
    shelf.import("table", &told.join("\n"));
    assert_snapshot!(trimmed(&shelf.prints(&["search", "quiet ban*"], "")), @"
    table  2026-01-31 12:00  Carol  Carol
      A quiet grey banner.
    ");
    let hits = |arguments: &[&str]| {
        shelf.prints(&[&["search", "--json"], arguments].concat(), "").lines().count()
    };
    assert_eq!(hits(&["banner"]), 2);
    assert_eq!(hits(&["banner", "--speaker", "Max"]), 1);
    assert_eq!(hits(&["banner", "--session", "login"]), 0);
    assert_eq!(hits(&["banner", "--limit", "1"]), 1);
    assert_eq!(hits(&["banner", "--type", "team_task"]), 0);
    assert_eq!(hits(&["banner", "--until", "2026-01-01"]), 0);
    let json = shelf.prints(&["search", "grey", "--json"], "");
    let hit: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(hit["sessionId"], "table");
    assert_eq!(hit["entryId"], "Carol");
    let [start, end] =
        [0, 1].map(|side| hit["snippet"]["marks"][0][side].as_u64().unwrap() as usize);
    assert_eq!(&hit["snippet"]["text"].as_str().unwrap()[start..end], "grey");
    let nothing = shelf.sessions(&["search", "purple"], "");
    assert!(nothing.exits_with(0) && nothing.stderr.contains("no matches"));
}

#[test]
fn an_explained_search_says_which_words_were_found_and_what_they_count() {
    let shelf = login();
    let search = ["search", "why is the lock in attempts::add failing", "--explain"];
    let outcome = shelf.sessions(&search, "");
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
    tertulia: no entry has all words; these have the most telling ones
    tertulia: common words that count for nothing: why, is, the, in
    ");
    let json = shelf.prints(&[&search[..], &["--json"]].concat(), "");
    let hits: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for hit in &hits {
        let matches = hit["matches"].as_array().unwrap();
        let sum: u64 = matches.iter().map(|one| one["score"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), hit["score"].as_u64());
    }
    assert_eq!(hits[0]["matches"][0]["kind"], "word");
    let plain = shelf.prints(&["search", "lock", "--json"], "");
    assert!(!plain.contains("matches"), "{plain}");
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let shelf = login();
    shelf.import("logout", &said("m", "user", "Bye"));
    assert!(shelf.prints(&["show", "logi"], "").contains("e-9"));
    let several = shelf.refuses(&["show", "log"], "");
    assert!(several.contains("Ambiguous ID \"log\"; matches: logout, login"), "{several}");
    let near = shelf.refuses(&["show", "logni"], "");
    assert!(near.contains("there is no session logni; did you mean login?"), "{near}");
    let far = shelf.refuses(&["show", "zebra"], "");
    let list = format!("`tertulia sessions list --all --store {}` shows", shelf.url());
    assert!(far.contains(&list), "{far}");
}

#[test]
fn a_branch_goes_on_from_an_earlier_entry() {
    let shelf = login();
    let entry = shelf.prints(&["branch", "login", "e-4"], "");
    let shown = shelf.prints(&["show", "login", "--json", "--branch", entry.trim()], "");
    assert_eq!(shown.lines().count(), 5);
    assert!(shown.lines().last().unwrap().contains(r#""parentId":"e-4","type":"branch_summary""#));
    assert!(
        shelf
            .refuses(&["branch", "login", "x"], "")
            .contains("there is no entry x in session login")
    );
}

#[test]
fn a_branch_becomes_a_session_of_its_own() {
    let shelf = login();
    assert_eq!(shelf.prints(&["branch", "login", "e-4", "--into", "second"], ""), "second\n");
    assert_eq!(shelf.prints(&["show", "second", "--json"], "").lines().count(), 5);
    assert_eq!(shelf.ids(), ["login", "second"]);
    let taken = shelf.refuses(&["branch", "login", "e-4", "--into", "login"], "");
    assert!(taken.contains("session login already exists"), "{taken}");
}

#[test]
fn what_is_redacted_is_nowhere_any_more() {
    let shelf = login();
    let whole = shelf.prints(&["verify", "login", "--json"], "");
    let outcome = shelf.sessions(&["redact", "login", "e-3", "--reason", "private"], "");
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    let shown = shelf.prints(&["show", "login"], "");
    assert!(shown.contains("[redacted message by e-"), "{shown}");
    assert!(shown.contains("redaction of e-3: private"), "{shown}");
    let everywhere = [
        shown,
        shelf.prints(&["show", "login", "--json"], ""),
        shelf.prints(&["export", "login"], ""),
        shelf.prints(&["export", "login", "--format", "snapshot"], ""),
        shelf.prints(&["export", "login", "--format", "agent-chatter"], ""),
        shelf.prints(&["search", "database"], ""),
        shelf.prints(&["list"], ""),
    ];
    assert!(everywhere.iter().all(|text| !text.contains("do not touch the database")));
    let checked = shelf.prints(&["verify", "login", "--json"], "");
    assert!(checked.contains(r#""entries":10,"purged":1"#), "{checked}");
    assert!(whole.contains(r#""entries":9,"purged":0"#), "{whole}");
}

#[test]
fn a_check_names_what_does_not_fit() {
    let shelf = login();
    let whole = shelf.prints(&["verify"], "");
    assert!(whole.starts_with("login  whole  9 entries  head "), "{whole}");
    let file = shelf.path("sessions.db");
    let bytes = std::fs::read(&file).unwrap();
    let (old, new) = (b"Be brief.", b"Be grief.");
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    std::fs::write(&file, [&bytes[..at], new, &bytes[at + old.len()..]].concat()).unwrap();
    for arguments in [["verify"].as_slice(), &["verify", "login"]] {
        let outcome = shelf.sessions(arguments, "");
        assert!(outcome.exits_with(1));
        assert!(outcome.stdout.contains("login  entry 2 (e-2): its record"), "{}", outcome.stdout);
        assert!(outcome.stderr.contains("1 session is damaged; restore a backup"));
    }
    let json = shelf.sessions(&["verify", "login", "--json"], "").stdout;
    assert!(json.contains(r#""damage":{"place":2,"entryId":"e-2","reason":"its record"#), "{json}");
    let exported = shelf.sessions(&["export", "login"], "");
    assert!(exported.exits_with(1));
    assert_eq!(exported.stdout.lines().count(), 8, "the others are saved");
    assert!(exported.stderr.contains("entry 2 (e-2) is damaged"), "{}", exported.stderr);
}

#[test]
fn deleting_asks_first() {
    let shelf = login();
    let url = shelf.url();
    let delete = ["sessions", "--store", &url, "delete", "logi"];
    for answer in ["n\n", "\n", "", "yesterday\n"] {
        let kept = tertulia_on_terminal(&delete, answer);
        assert!(kept.exits_with(1));
        assert!(
            kept.stderr.starts_with("Delete login for good (9 entries, \"Logging in fails"),
            "{}",
            kept.stderr
        );
        assert!(kept.stderr.ends_with("nothing was deleted\n"), "{}", kept.stderr);
    }
    assert_eq!(shelf.ids(), ["login"]);
    let unasked = shelf.sessions(&["delete", "login"], "y\n");
    assert!(unasked.exits_with(2) && unasked.stderr.contains("use --yes to confirm"));
    let beginning = shelf.refuses(&["delete", "logi", "--yes"], "");
    assert!(beginning.contains("did you mean login?"), "{beginning}");
    assert!(tertulia_on_terminal(&delete, "y\n").exits_with(0));
    assert_eq!(shelf.ids(), [""; 0]);
    shelf.import("login", &said("m", "user", "Again"));
    assert!(shelf.sessions(&["delete", "login", "--yes"], "").exits_with(0));
    assert_eq!(shelf.ids(), [""; 0]);
}

#[test]
fn a_backup_comes_back_whole() {
    let shelf = login();
    let file = shelf.path("copy.db").display().to_string();
    let head = shelf.prints(&["verify"], "");
    shelf.prints(&["backup", &file], "");
    let there = shelf.refuses(&["backup", &file], "");
    assert!(there.contains("already exists and was not changed"), "{there}");
    let twice = shelf.refuses(&["restore", &file], "");
    assert!(twice.contains("session login is in the store already; delete it"), "{twice}");
    shelf.prints(&["delete", "login", "--yes"], "");
    assert_eq!(shelf.prints(&["restore", &file, "--json"], ""), "{\"sessions\":1}\n");
    assert_eq!(shelf.prints(&["verify"], ""), head);
    let written = shelf.sessions(&["backup", "-"], "");
    assert!(
        written.exits_with(2) && written.stderr.contains("name a new file"),
        "{}",
        written.stderr
    );
    assert!(!std::path::Path::new("-").exists());
    let missing = shelf.refuses(&["restore", "nowhere.db"], "");
    assert!(missing.contains("cannot read nowhere.db"), "{missing}");
}
