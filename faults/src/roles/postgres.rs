//! `postgres-kills`: four processes append to a PostgreSQL server, and the server itself is killed under
//! them (`pg_ctl stop -m immediate`, or SIGKILL for its first process). After every cycle it is started
//! again and judged. The server is our own: made for the role, on a socket in its folder.

mod server;

use std::process::Child;
use std::thread;
use std::time::Duration;

use tertulia_store::{ListFilter, SessionStore, StoreUrl};

use crate::chance::Chance;
use crate::error::FaultsError;
use crate::judge::judge;
use crate::ledger::{self, Ledger};
use crate::options::Options;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::tools;
use crate::writer::Task;
use server::Server;

const PROCESSES: u64 = 4;
/// The longest time that the server is left alone.
const PEACE_MILLIS: u64 = 500;
/// So many cycles write into the same sessions. Judging takes longer the more there is in them.
const CYCLES_TOGETHER: u64 = 10;
/// Every so-manieth time the first process of the server is killed the hard way.
const HARD_EVERY: u64 = 4;

/// Whether a server can be had, and stores on servers are built in.
pub(crate) fn is_possible() -> bool {
    // Nobody answers at this address; a store that opens all the same is none of PostgreSQL.
    let nobody = StoreUrl::Postgres("postgres://nobody@127.0.0.1:1/none".to_owned());
    SessionStore::open(&nobody).is_err() && Server::program("initdb").is_some()
}

/// Carries out the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("postgres-kills", arguments, &["kills", "seed"])?;
    let mut report = Report::new("postgres-kills", &mut options)?;
    let mut chance = Chance::new(options.seed()?);
    let scratch = Scratch::on_disk()?;
    let mut server = Server::make(&scratch)?;
    let mut ledger = Ledger::default();
    let cycles = options.number("kills", 500)?;
    for cycle in 0..cycles {
        server.start()?;
        let is_hard = (cycle + 1).is_multiple_of(HARD_EVERY);
        kill_under(&mut server, &scratch, cycle, is_hard, &mut chance, &mut ledger)?;
        report.faults(1);
        server.start()?;
        let is_last = cycle + 1 == cycles || (cycle + 1).is_multiple_of(CYCLES_TOGETHER);
        let store = SessionStore::open(&StoreUrl::Postgres(server.url()))?;
        let verdict = judge(&store, &ledger)?;
        // The cycles until then wrote into the same sessions, so only the last judgement adds up.
        if is_last || !verdict.is_clean() {
            report.judged(&verdict, &format!("cycle {cycle}"));
        }
        if is_last {
            for session in store.list(&ListFilter::default())? {
                store.delete(&session.id)?;
            }
            ledger = Ledger::default();
        }
    }
    server.stop()?;
    Ok(report.finish())
}

/// Starts writers, kills the server, and then the writers; takes in what they said.
fn kill_under(
    server: &mut Server,
    scratch: &Scratch,
    cycle: u64,
    is_hard: bool,
    chance: &mut Chance,
    ledger: &mut Ledger,
) -> Result<(), FaultsError> {
    let mut writers: Vec<(Child, _)> = Vec::new();
    for number in 0..PROCESSES {
        let letter = if number == 0 { 'r' } else { 'w' };
        let name = format!("{letter}{cycle}x{number}");
        let task = Task { threads: 2, ..Task::at(&server.url(), &name) };
        let said = scratch.file(&format!("said-{name}"));
        writers.push((tools::start_into(&mut task.command()?, &said)?, said));
    }
    thread::sleep(Duration::from_millis(100 + chance.below(PEACE_MILLIS)));
    if is_hard {
        server.kill()
    } else {
        server.stop()?
    };
    // Some see the server come back, and go on.
    if chance.percent(50) {
        server.start()?;
        thread::sleep(Duration::from_millis(chance.below(PEACE_MILLIS)));
    }
    for (writer, said) in &mut writers {
        tools::end(writer);
        ledger.add_all(&ledger::read(said)?);
    }
    Ok(())
}
