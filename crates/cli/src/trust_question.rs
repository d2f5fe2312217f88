//! What a person is shown before they trust a team file: all that it wants; of a file that they trusted
//! before, what changed since.

use std::path::Path;

use tertulia_team::file::{Change, TrustReason, Trusted, changes};

use crate::terminal::counted;

/// So many changed lines are shown.
const LINES_MAX: usize = 40;

/// What is shown of a file that is not trusted with its content. Ends with a line break.
pub(crate) fn of_file(
    path: &Path,
    reasons: &[TrustReason],
    lines: &[String],
    before: Option<&Trusted>,
) -> String {
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    match before {
        Some(before) => changed(path, &reasons, lines, before),
        None => {
            let mut text = format!("{} is not trusted yet. It says:\n", path.display());
            for reason in &reasons {
                text.push_str(&format!("  {reason}\n"));
            }
            text
        }
    }
}

fn changed(path: &Path, reasons: &[String], lines: &[String], before: &Trusted) -> String {
    let mut text = format!("{} has changed since you trusted it.\n", path.display());
    let wants = changes(&before.reasons, reasons);
    let added = wants.iter().filter(|change| matches!(change, Change::Added(_))).count();
    let same = reasons.len().saturating_sub(added) as u64;
    if wants.is_empty() {
        let things = counted(same, "thing", "things");
        text.push_str(&format!("What it wants is the same as before ({things}).\n"));
    } else {
        text.push_str("What it wants:\n");
        write(&wants, &mut text);
        if same > 0 {
            let things = counted(same, "other thing", "other things");
            text.push_str(&format!("  and {things} as before\n"));
        }
    }
    let changed = changes(&before.lines, lines);
    if !changed.is_empty() {
        text.push_str("Changed lines:\n");
        write(&changed, &mut text);
    }
    text
}

fn write(changes: &[Change<'_>], text: &mut String) {
    for change in changes.iter().take(LINES_MAX) {
        text.push_str(&match change {
            Change::Removed(line) => format!("  - {line}\n"),
            Change::Added(line) => format!("  + {line}\n"),
        });
    }
    let more = changes.len().saturating_sub(LINES_MAX) as u64;
    if more > 0 {
        text.push_str(&format!("  and {}\n", counted(more, "more", "more")));
    }
}
