//! The list of all sessions on a machine, when their files are in the system's cache.

use std::error::Error;
use std::fs;
use std::path::Path;

use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, Placing, Target, list, target};
use tertulia_session::{Message, Timestamp};

use super::sessions::{conversation, session};
use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, grouped};
use crate::store::Ground;

const MILLISECONDS_MAX: f64 = 1_000.0;
const FORMATS: [NativeFormat; 5] = [
    NativeFormat::Claude,
    NativeFormat::Codex,
    NativeFormat::Gemini,
    NativeFormat::Copilot,
    NativeFormat::Pi,
];
/// Sessions in one project.
const IN_PROJECT: usize = 100;

pub(super) fn measure(ground: &Ground, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let count = scale.stored_messages / 200;
    let home = ground.file("home")?;
    let environment = Environment::new(&home, std::env::temp_dir());
    let messages = conversation(40);
    let mut bytes = 0;
    for number in 0..count {
        bytes += save(&environment, number, &messages)?;
    }
    let listed = || list(&environment, &NativeFormat::ALL);
    let found = listed();
    if found.sessions.len() != count || !found.problems.is_empty() {
        return Err(format!("{} of {count} sessions are listed", found.sessions.len()).into());
    }
    let milliseconds = wall_clock(&listed);
    let name = format!("{} sessions of five agents", grouped(count));
    let detail = format!("{} B in their files", grouped(bytes));
    let figure = Figure::new(name, milliseconds, Unit::Milliseconds);
    let figures = vec![figure.at_most(MILLISECONDS_MAX).of(detail)];
    Ok(Theme { title: "Listing sessions of agents", figures })
}

/// Returns the best time of five lists, in milliseconds: other threads read files for it.
fn wall_clock<T>(work: &impl Fn() -> T) -> f64 {
    let once = || {
        let start = std::time::Instant::now();
        std::hint::black_box(work());
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Saves a session where its agent would. Returns its size.
fn save(
    environment: &Environment,
    number: usize,
    messages: &[Message],
) -> Result<usize, Box<dyn Error>> {
    let format = FORMATS[number % FORMATS.len()];
    let id = format!("{number:08x}-0000-4000-8000-000000000000");
    let text = session(format, &id, messages)?;
    let folder = format!("/src/project-{}", number / IN_PROJECT);
    let now = Timestamp::from_millis(1_769_860_800_000 + 60_000 * i64::try_from(number)?);
    let Target::File { path, beside } =
        target(environment, format, &id, (&folder, Some("A session")), &now)?
    else {
        return Err(format!("{} has no file", format.as_str()).into());
    };
    write(&path, &text)?;
    for one in beside {
        match one.placing {
            Placing::IfMissing if one.path.exists() => {}
            Placing::IfMissing | Placing::Replace { .. } => write(&one.path, &one.text)?,
            Placing::Append => {
                let before = fs::read_to_string(&one.path).unwrap_or_default();
                write(&one.path, &(before + &one.text))?;
            }
        }
    }
    Ok(text.len())
}

fn write(path: &Path, text: &str) -> Result<(), std::io::Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
