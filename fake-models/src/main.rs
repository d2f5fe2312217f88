//! `tertulia-fake-models [--port N] [STEP…]`: starts the model server manually. Prints its address and the
//! requests, and stops when its standard input is closed.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers: it reads its arguments and prints"
)]

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tertulia_fake_models::{Asked, FakeModels, Script, Step};

/// The time between two checks for new requests.
const LOOK: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let (port, words) = match arguments {
        [option, port, words @ ..] if option == "--port" => (port.parse()?, words),
        words => (0, words),
    };
    let steps = words.iter().map(|word| Step::parse(word)).collect::<Result<Vec<_>, _>>()?;
    let models = FakeModels::start_on(port, Script::new(steps))?;
    println!("{}", models.url());
    let (closed, is_closed) = mpsc::channel::<()>();
    thread::spawn(move || {
        // The server stops at the end of the input or on an error.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(closed);
    });
    let mut shown = 0;
    while is_closed.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let asked = models.asked();
        asked.iter().skip(shown).for_each(show);
        shown = asked.len();
    }
    models.asked().iter().skip(shown).for_each(show);
    Ok(())
}

fn show(asked: &Asked) {
    let Asked { path, model, bytes, system, user, tools, .. } = asked;
    println!("{path} {model}, {bytes} bytes, tools {tools:?}");
    println!("  system {} bytes, ends {:?}", system.len(), end_of(system));
    println!("  user {} bytes, ends {:?}", user.len(), end_of(user));
}

/// Returns the last characters of a text.
fn end_of(text: &str) -> &str {
    let start = text.char_indices().rev().nth(159).map_or(0, |(place, _)| place);
    text.get(start..).unwrap_or_default()
}
