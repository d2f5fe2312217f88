//! `postgres-kills`: four processes append to a PostgreSQL server, and the server itself is killed
//! (`pg_ctl stop -m immediate`, or SIGKILL for its first process). After every cycle it is
//! restarted and judged. The role creates its own server, with a socket in its folder.

mod server;

use std::process::Child;
use std::thread;
use std::time::Duration;

use tertulia_store::{ListFilter, SessionStore, StoreUrl};

use crate::ack_log::{self, AckLog};
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::Scratch;
use crate::tools;
use crate::writer::Task;
use server::Server;

const PROCESSES: u64 = 4;
/// Maximum time before a kill.
const KILL_DELAY_MILLIS: u64 = 500;
/// Number of cycles that write to the same sessions. Judging takes longer the more they contain.
const CYCLES_TOGETHER: u64 = 10;
/// Every n-th time the first process of the server is killed with SIGKILL.
const HARD_EVERY: u64 = 4;

/// Returns whether a server is available, and PostgreSQL stores are built in.
pub(crate) fn is_possible() -> bool {
    // Nobody answers at this address; a store that opens nevertheless is not on PostgreSQL.
    let nobody = StoreUrl::Postgres("postgres://nobody@127.0.0.1:1/none".to_owned());
    SessionStore::open(&nobody).is_err() && Server::program("initdb").is_some()
}

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("postgres-kills", arguments, &["kills", "seed"])?;
    let mut report = Report::new("postgres-kills", &mut options)?;
    let mut rng = Rng::new(options.seed()?);
    let scratch = Scratch::on_disk()?;
    let mut server = Server::make(&scratch)?;
    let mut acks = AckLog::default();
    let cycles = options.number("kills", 500)?;
    for cycle in 0..cycles {
        server.start()?;
        let is_hard = (cycle + 1).is_multiple_of(HARD_EVERY);
        kill_under(&mut server, &scratch, cycle, is_hard, &mut rng, &mut acks)?;
        report.faults(1);
        server.start()?;
        let is_last = cycle + 1 == cycles || (cycle + 1).is_multiple_of(CYCLES_TOGETHER);
        let store = SessionStore::open(&StoreUrl::Postgres(server.url()))?;
        let verdict = judge(&store, &acks)?;
        // The cycles until then wrote to the same sessions, so only the last judgement counts.
        if is_last || !verdict.is_clean() {
            report.judged(&verdict, &format!("cycle {cycle}"));
        }
        if is_last {
            for session in store.list(&ListFilter::default())? {
                store.delete(&session.id)?;
            }
            acks = AckLog::default();
        }
    }
    server.stop()?;
    Ok(report.finish())
}

/// Starts writers, kills the server, and then the writers; collects their output.
fn kill_under(
    server: &mut Server,
    scratch: &Scratch,
    cycle: u64,
    is_hard: bool,
    rng: &mut Rng,
    acks: &mut AckLog,
) -> Result<(), FaultsError> {
    let mut writers: Vec<(Child, _)> = Vec::new();
    for number in 0..PROCESSES {
        let letter = if number == 0 { 'r' } else { 'w' };
        let name = format!("{letter}{cycle}x{number}");
        let task = Task { threads: 2, ..Task::at(&server.url(), &name) };
        let said = scratch.file(&format!("said-{name}"));
        writers.push((tools::start_into(&mut task.command()?, &said)?, said));
    }
    thread::sleep(Duration::from_millis(100 + rng.below(KILL_DELAY_MILLIS)));
    if is_hard {
        server.kill()
    } else {
        server.stop()?
    };
    // Some see the server come back, and continue.
    if rng.percent(50) {
        server.start()?;
        thread::sleep(Duration::from_millis(rng.below(KILL_DELAY_MILLIS)));
    }
    for (writer, said) in &mut writers {
        tools::end(writer);
        acks.add_all(&ack_log::read(said)?);
    }
    Ok(())
}
