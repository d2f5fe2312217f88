//! `clock`: a clock that jumps and runs backwards. Every process starts in another year and its
//! clock runs backwards; entries have arbitrary times. Entries are ordered by number only, and
//! nothing is refused or lost.

use std::process::Command;
use std::time::Duration;

use tertulia_store::{Range, SessionId, StoreError};

use crate::ack_log::{self, AckLog, Line};
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const BATCHES: u64 = 20;
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("clock", arguments, &["jumps", "seed"])?;
    let mut report = Report::new("clock", &mut options)?;
    let mut rng = Rng::new(options.seed()?);
    tools::need("faketime")?;
    let scratch = Scratch::on_disk()?;
    let file = database(&scratch.folder("store")?);
    let mut acks = AckLog::default();
    // The acknowledged entries in this order, since the processes run one after the other.
    let mut order = Vec::new();
    for jump in 0..options.number("jumps", 12)? {
        let year = rng.between(1971, 2037);
        let task = Task { batches: BATCHES, sessions: 1, ..Task::new(&file, &format!("w{jump}")) };
        let said = scratch.file(&format!("said-{jump}"));
        let mut command = Command::new("faketime");
        // A thousand seconds back for every second that passes.
        command.args(["-f", &format!("@{year}-06-01 12:00:00 x-1000")]);
        command.arg(tools::own_path()?).arg("writer").args(task.arguments());
        let ended = tools::run_into(&mut command, &said, LIMIT)?;
        report.claim(ended, format!("jump {jump}: the writer did not finish"));
        report.faults(1);
        for line in ack_log::read(&said)? {
            acks.add(&line);
            match line {
                Line::Stored { batch, .. } => order.push(batch),
                Line::Failed(failed) => report.broken(format!("in {year}: {failed:?}")),
                Line::Started(_) | Line::Created(_) | Line::Phase | Line::Reopened | Line::Done => {
                }
            }
        }
    }
    let store = open(&file)?;
    report.judged(&judge(&store, &acks)?, "afterwards");
    let session = "s0".parse::<SessionId>().map_err(StoreError::from)?;
    let log = store.load(&session, &Range::All)?;
    let ids = log.iter().skip(1).map(|stored| stored.entry.id.clone());
    let expected = order.iter().flat_map(|batch| (0..batch.size()).map(|index| batch.id(index)));
    report.claim(ids.eq(expected), "the order is not the order of the appends");
    let times: Vec<_> = log.iter().map(|stored| stored.stored_at.millis()).collect();
    let back = times.iter().zip(times.iter().skip(1)).filter(|(one, next)| next < one).count();
    report.add("times that went back", back as u64);
    report.claim(back > 0, "no clock went back");
    Ok(report.finish())
}
