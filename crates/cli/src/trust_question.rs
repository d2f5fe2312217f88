//! What a person is shown before they trust a team file and its agents' settings: all of it, or what changed.

use std::path::Path;

use tertulia_chat::terminal::counted;
use tertulia_team::file::{Change, HideKey, TrustReason, Trusted, changes};

use crate::team_place::UntrustedSettings;

/// How many changed lines are shown, at most. Hidden values do not count: all of them are shown.
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
            let head = format!("{} is not trusted yet. With it:\n", path.display());
            reasons.iter().fold(head, |text, reason| text + &format!("  {reason}\n"))
        }
    }
}

pub(crate) fn of_settings(
    untrusted: &UntrustedSettings,
    key: &HideKey,
    before: Option<&Trusted>,
) -> String {
    let Some(before) = before else { return all_settings(untrusted) };
    let UntrustedSettings { folder, settings, .. } = untrusted;
    let mut text = format!(
        "The settings for agents in {} have changed since you trusted them. {}\n",
        folder.display(),
        who_obeys(untrusted)
    );
    let lines = settings.lines(folder, key);
    let (hidden, open): (Vec<_>, Vec<_>) =
        changes(&before.lines, &lines).into_iter().partition(Change::is_hidden);
    write(&hidden, hidden.len(), &mut text);
    write(&open, LINES_MAX, &mut text);
    text
}

/// All settings of a project that nobody trusted yet.
pub(crate) fn all_settings(untrusted: &UntrustedSettings) -> String {
    let UntrustedSettings { folder, settings, .. } = untrusted;
    let mut text = format!(
        "{} holds settings for agents that are not trusted yet. {}\n",
        folder.display(),
        who_obeys(untrusted)
    );
    let names = settings.names(folder);
    names.iter().take(LINES_MAX).for_each(|name| text.push_str(&format!("  {name}\n")));
    text + &more_than(LINES_MAX, names.len())
}

fn who_obeys(untrusted: &UntrustedSettings) -> String {
    format!("Obeyed by {} (hooks, MCP servers, variables):", untrusted.members.join(", "))
}

fn changed(path: &Path, reasons: &[String], lines: &[String], before: &Trusted) -> String {
    let mut text = format!("{} has changed since you trusted it.\n", path.display());
    let wants = changes(&before.reasons, reasons);
    let added = wants.iter().filter(|change| matches!(change, Change::Added(_))).count();
    let same = reasons.len().saturating_sub(added) as u64;
    let (hidden, open): (Vec<_>, Vec<_>) =
        changes(&before.lines, lines).into_iter().partition(Change::is_hidden);
    if wants.is_empty() {
        let things = counted(same, "thing", "things");
        // What a variable is set to is no part of what the file wants.
        text.push_str(&match hidden.is_empty() {
            true => format!("What it wants is the same as before ({things}).\n"),
            false => format!(
                "The commands and permissions are the same as before ({things}); hidden values \
                 changed.\n"
            ),
        });
    } else {
        text.push_str("What it wants:\n");
        write(&wants, wants.len(), &mut text);
        if same > 0 {
            let things = counted(same, "other thing", "other things");
            text.push_str(&format!("  and {things} as before\n"));
        }
    }
    if !hidden.is_empty() || !open.is_empty() {
        text.push_str("Changed lines:\n");
        write(&hidden, hidden.len(), &mut text);
        write(&open, LINES_MAX, &mut text);
    }
    text
}

/// Writes the first `shown` changes and says how many more there are.
fn write(changes: &[Change<'_>], shown: usize, text: &mut String) {
    for change in changes.iter().take(shown) {
        text.push_str(&match change {
            Change::Removed(line) => format!("  - {line}\n"),
            Change::Added(line) => format!("  + {line}\n"),
        });
    }
    text.push_str(&more_than(shown, changes.len()));
}

/// How many are not shown, on a line of its own.
fn more_than(shown: usize, all: usize) -> String {
    match all.saturating_sub(shown) as u64 {
        0 => String::new(),
        more => format!("  and {}\n", counted(more, "more", "more")),
    }
}
