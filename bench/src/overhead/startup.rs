//! Compares the start time of the program with that of one that only prints a line. Both are copied first, as an
//! installation does, because a file that the linker has just written is scattered in memory and causes more page
//! faults.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tertulia_store::{Import, NewSession, SessionId, SessionStore, StoreUrl};

use super::Programs;
use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, duration};
use crate::store::{Ground, prose, said};

const ROUNDS: usize = 60;
/// The limit of the start time, compared with the other program.
const LIMIT: f64 = 3.0;
/// The number of messages in the shown session: as many as the window of a member. In a longer session, the summary
/// and recall also read the messages before the window; the first open of a session measures this time.
const MESSAGES: usize = 20;

pub(crate) fn measure(
    ground: &Ground,
    programs: &Programs,
    scale: &Scale,
) -> Result<Theme, Box<dyn Error>> {
    let file = ground.filled("starts", scale.stored_messages / 100)?;
    add_short(&file)?;
    let store = format!("sqlite:{}", file.display());
    let tertulia = ground.installed(&programs.tertulia)?;
    let hello_world = ground.installed(&programs.hello)?;
    let context = ["context", "--store", &store, "--session", "short", "--type", "claude"];
    let cases: [(&str, &[&str]); 2] = [
        ("tertulia --version", &["--version"]),
        ("tertulia context on a stored session", &context),
    ];
    let mut figures = Vec::new();
    for (name, arguments) in cases {
        let (mut ours, mut hello) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            hello = hello.min(start(&hello_world, &[])?);
            ours = ours.min(start(&tertulia, arguments)?);
        }
        let detail = format!("{} against {}", duration(ours), duration(hello));
        let name = format!("{name} against a program that prints a line");
        figures.push(Figure::new(name, ours / hello, Unit::Times).at_most(LIMIT).of(detail));
    }
    Ok(Theme { title: "Starts", figures })
}

/// Adds the shown session to a store with other sessions.
fn add_short(file: &Path) -> Result<(), Box<dyn Error>> {
    let store = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
    let mut import = Import::begin(&store)?;
    for number in 0..MESSAGES {
        import.push(said(number, &prose(number, 300)))?;
    }
    import.finish(&NewSession { id: Some("short".parse::<SessionId>()?) })?;
    store.catch_up(|_| {})?;
    Ok(())
}

/// Returns the time from the start of a program to its end, in nanoseconds.
fn start(program: &Path, arguments: &[&str]) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(arguments.iter().map(OsStr::new)).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.stderr(Stdio::null()).status()?;
    let elapsed = start.elapsed().as_nanos() as f64;
    if !status.success() {
        return Err(format!("{} {arguments:?} failed", program.display()).into());
    }
    Ok(elapsed)
}
