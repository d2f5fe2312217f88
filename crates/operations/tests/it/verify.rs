//! Checking receipts of sessions that an agent keeps in a database.

use rusqlite::Connection;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::Environment;
use tertulia_operations::handover::{
    Compared, HandoverOptions, StoredReceipt, Verification, hand_over, links,
};
use tertulia_session::{Entry, Timestamp};

use crate::machine::{Machine, NOW};

const TABLES: &str = r#"
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
        time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
    INSERT INTO session VALUES ('ses_1', NULL, '/src', 'Login page', 1000, 2000);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 10, '{"role":"user"}'),
        ('msg_2', 'ses_1', 20, '{"role":"assistant","time":{"completed":30}}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"Hello"}'),
        ('prt_2', 'msg_2', 'ses_1', '{"type":"text","text":"Hi"}');"#;
const SESSION: &str = "opencode-ses_1";

fn run(machine: &Machine, statements: &str) {
    let database = Connection::open(machine.path("opencode.db")).unwrap();
    database.execute_batch(statements).unwrap();
}

/// Checks the receipt of the newest link.
fn verify(environment: &Environment, log: &[Entry]) -> Verification {
    let newest = links(log).pop().unwrap().entry;
    StoredReceipt::read(log, &newest).unwrap().unwrap().verify(log, environment)
}

#[test]
fn an_import_from_a_database_is_compared_record_by_record() {
    let mut machine = Machine::new();
    run(&machine, TABLES);
    machine.import(&machine.path("opencode.db"));
    let check = |machine: &Machine| verify(&machine.environment(), &machine.log(SESSION));
    assert_eq!(check(&machine).native, Ok(Compared::Records(5)));
    // What the agent adds changes no record.
    run(&machine, r#"INSERT INTO message VALUES ('msg_3', 'ses_1', 40, '{"role":"user"}');"#);
    assert!(check(&machine).is_ok());
    run(&machine, r#"UPDATE part SET data = '{"type":"text","text":"Bye"}' WHERE id = 'prt_2';"#);
    let problem = check(&machine).native.unwrap_err();
    assert!(problem.starts_with("1 of 5 records were changed or removed in "), "{problem}");
    run(&machine, "DELETE FROM session;");
    assert_eq!(check(&machine).native, Err("session ses_1 no longer exists".to_owned()));
}

#[test]
fn an_import_without_its_secrets_is_compared_without_them() {
    let mut machine = Machine::new();
    run(&machine, &TABLES.replace("Hello", "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ"));
    machine.redacts_secrets = true;
    assert_eq!(machine.import(&machine.path("opencode.db")).secrets, 1);
    let found = verify(&machine.environment(), &machine.log(SESSION));
    assert_eq!(found.native, Ok(Compared::Records(5)));
}

#[test]
fn a_handover_to_a_database_is_compared_by_what_is_said() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    let id = machine.import(&path).session;
    let options = HandoverOptions {
        to: NativeFormat::Opencode,
        session: id.as_str(),
        title: None,
        folder: "/src",
        model: None,
        budget: None,
        last: None,
        member: None,
        is_new: false,
        taken: &[],
        now: Timestamp::from_millis(NOW),
    };
    let handover = hand_over(&machine.log(id.as_str()), &options).unwrap();
    let link = handover.link(NativeFormat::Opencode, None, (5, 0, ""), options.now.clone());
    let mut log = machine.log(id.as_str());
    log.push(link);
    let place = machine.write(".local/share/opencode/opencode.db", "");
    let tables = TABLES.replace("ses_1", &handover.native_session_id);
    Connection::open(&place).unwrap().execute_batch(&tables).unwrap();
    let environment = machine.environment();
    assert_eq!(verify(&environment, &log).native, Ok(Compared::Said(2)));
    Connection::open(&place)
        .unwrap()
        .execute_batch("DELETE FROM part WHERE id = 'prt_2';")
        .unwrap();
    let problem = verify(&environment, &log).native.unwrap_err();
    assert!(problem.starts_with("1 of 2 texts, calls and results were changed"), "{problem}");
}
