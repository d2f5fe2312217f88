//! The first storage of opencode: a file for each session, message and part.

use std::fs;

use tertulia_dialect::native::{NativeFormat, NativeOrigin};
use tertulia_native::{FoundSession, SessionReader, list, locate};
use tertulia_session::Entry;

use crate::Home;

const STORAGE: &str = ".local/share/opencode/storage";

/// Writes a file of the storage as opencode does.
fn write(home: &Home, name: &str, content: &str) {
    home.file(&format!("{STORAGE}/{name}.json"), content.replace(',', ",\n  "));
}

fn home() -> Home {
    let home = Home::new();
    let session = |id: &str, parent: &str| {
        format!(
            r#"{{"id":"{id}","projectID":"p","directory":"/src"{parent},"title":"Title of {id}"}}"#
        )
    };
    write(&home, "session/p/ses_1", &session("ses_1", ""));
    write(&home, "session/p/ses_2", &session("ses_2", r#","parentID":"ses_1""#));
    let message = |session: &str, id: &str, role: &str, time: &str| {
        let content =
            format!(r#"{{"id":"{id}","sessionID":"{session}","role":"{role}","time":{{{time}}}}}"#);
        write(&home, &format!("message/{session}/{id}"), &content);
    };
    // The order is that of the times.
    message("ses_1", "msg_b", "user", r#""created":10"#);
    message("ses_1", "msg_a", "assistant", r#""created":20"#);
    message("ses_2", "msg_c", "user", r#""created":15"#);
    let part = |folder: &str, message: &str, id: &str| {
        let content =
            format!(r#"{{"id":"{id}","messageID":"{message}","type":"text","text":"says {id}"}}"#);
        write(&home, &format!("part/{folder}{id}"), &content);
    };
    part("msg_b/", "msg_b", "prt_2");
    part("msg_b/", "msg_b", "prt_1");
    part("", "msg_a", "prt_3");
    part("msg_c/", "msg_c", "prt_4");
    home
}

fn read(home: &Home, session: &FoundSession, settled: bool) -> (Vec<Entry>, Vec<String>) {
    let mut reader = SessionReader::open(&home.environment(), session, 1 << 20).unwrap();
    if settled {
        reader.skip_unfinished_answer();
    }
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {}
    (entries, reader.take_problems().iter().map(ToString::to_string).collect())
}

#[test]
fn the_sessions_of_the_first_storage_are_listed_without_those_of_sub_agents() {
    let home = home();
    let listing = list(&home.environment(), &NativeFormat::ALL);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let [session] = &listing.sessions[..] else { panic!("{:?}", listing.sessions) };
    assert_eq!((session.format, &*session.native_id), (NativeFormat::Opencode, "ses_1"));
    assert_eq!(session.title.as_deref(), Some("Title of ses_1"));
    assert_eq!(session.folder.as_deref(), Some("/src"));
    // A folder has the same sessions, and messages and parts are none.
    let folder = home.path().join("home").join(STORAGE);
    assert_eq!(&locate(&home.environment(), &folder, None).unwrap(), &listing.sessions);
    assert_eq!(
        &locate(&home.environment(), session.place.path(), None).unwrap(),
        &listing.sessions
    );
}

#[test]
fn the_files_of_a_session_are_records_in_the_order_of_the_conversation() {
    let home = home();
    let session = list(&home.environment(), &[NativeFormat::Opencode]).sessions.remove(0);
    let (entries, problems) = read(&home, &session, false);
    assert!(problems.is_empty(), "{problems:?}");
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {}", NativeOrigin::of(entry).unwrap().file, entry.id))
        .collect();
    assert_eq!(
        shown,
        [
            " ses_1",
            "message/ses_1/msg_b.json msg_b",
            "part/msg_b/prt_1.json prt_1",
            "part/msg_b/prt_2.json prt_2",
            "message/ses_1/msg_a.json msg_a",
            "part/prt_3.json prt_3",
            "session/p/ses_2.json ses_2",
            "message/ses_2/msg_c.json msg_c",
            "part/msg_c/prt_4.json prt_4",
        ]
    );
    let parent = entries[5].parent_id.as_ref().map(|parent| parent.as_str());
    assert_eq!(parent, Some("msg_a"));
    let (settled, _) = read(&home, &session, true);
    assert_eq!(settled.len(), 7, "the answer is not complete");
}

#[test]
fn a_file_that_is_being_written_is_reported_and_read_later() {
    let home = home();
    let session = list(&home.environment(), &[NativeFormat::Opencode]).sessions.remove(0);
    let path = home.path().join("home").join(STORAGE).join("part/msg_b/prt_1.json");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..20]).unwrap();
    let (entries, problems) = read(&home, &session, false);
    assert_eq!((entries.len(), problems.len()), (8, 1));
    assert!(problems[0].starts_with("part/msg_b/prt_1.json: line 1: "), "{problems:?}");
    fs::write(&path, &whole).unwrap();
    assert_eq!(read(&home, &session, false).0.len(), 9);
}

#[test]
fn sub_agents_of_deleted_sessions_are_listed_and_cycles_of_parents_end() {
    let home = home();
    let session = |id: &str, parent: &str| {
        let content =
            format!(r#"{{"id":"{id}","projectID":"p","directory":"/src","parentID":"{parent}"}}"#);
        write(&home, &format!("session/p/{id}"), &content);
        home.path().join("home").join(STORAGE).join(format!("session/p/{id}.json"))
    };
    session("ses_3", "ses_gone");
    let one = session("ses_4", "ses_5");
    session("ses_5", "ses_4");
    let mut listed = list(&home.environment(), &[NativeFormat::Opencode]).sessions;
    listed.sort_by(|one, other| one.native_id.cmp(&other.native_id));
    let ids: Vec<_> = listed.iter().map(|found| &*found.native_id).collect();
    assert_eq!(ids, ["ses_1", "ses_3"]);
    let named = locate(&home.environment(), &one, None).unwrap().remove(0);
    let (entries, problems) = read(&home, &named, false);
    assert_eq!((&*named.native_id, entries.len(), problems.len()), ("ses_4", 2, 0));
}
