//! The text of the trust question about a team file and its agents' settings: everything, or only the changes.

use std::path::Path;

use tertulia_chat::terminal::counted;
use tertulia_team::file::{Change, HideKey, TrustReason, Trusted, changes};

use crate::load_team::UntrustedSettings;

/// Maximum number of changed lines shown. Lines with hidden values are always shown.
const LINES_MAX: usize = 40;

/// Returns the text for a team file that is not trusted. Ends with a line break.
pub(crate) fn file_question(
    path: &Path,
    reasons: &[TrustReason],
    lines: &[String],
    before: Option<&Trusted>,
) -> String {
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    match before {
        Some(before) => changed(path, &reasons, lines, before),
        None => {
            let head = format!("{} is not trusted yet. If you trust it:\n", path.display());
            reasons.iter().fold(head, |text, reason| text + &format!("  {reason}\n"))
        }
    }
}

pub(crate) fn settings_question(
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

/// Returns the text for project settings that were never trusted.
pub(crate) fn all_settings(untrusted: &UntrustedSettings) -> String {
    let UntrustedSettings { folder, settings, .. } = untrusted;
    let mut text = format!(
        "{} contains settings for agents that are not trusted yet. {}\n",
        folder.display(),
        who_obeys(untrusted)
    );
    let names = settings.names(folder);
    names.iter().take(LINES_MAX).for_each(|name| text.push_str(&format!("  {name}\n")));
    text + &more_than(LINES_MAX, names.len())
}

fn who_obeys(untrusted: &UntrustedSettings) -> String {
    format!("Used by {} (hooks, MCP servers, variables):", untrusted.members.join(", "))
}

fn changed(path: &Path, reasons: &[String], lines: &[String], before: &Trusted) -> String {
    let mut text = format!("{} has changed since you trusted it.\n", path.display());
    let wants = changes(&before.reasons, reasons);
    let added = wants.iter().filter(|change| matches!(change, Change::Added(_))).count();
    let same = reasons.len().saturating_sub(added) as u64;
    let (hidden, open): (Vec<_>, Vec<_>) =
        changes(&before.lines, lines).into_iter().partition(Change::is_hidden);
    if wants.is_empty() {
        let things = counted(same, "permission", "permissions");
        // The values of variables are not part of the requests.
        text.push_str(&match hidden.is_empty() {
            true => format!("It requests the same permissions as before ({things}).\n"),
            false => format!(
                "It requests the same permissions as before ({things}), but hidden values changed.\n"
            ),
        });
    } else {
        text.push_str("It requests these permissions:\n");
        write(&wants, wants.len(), &mut text);
        if same > 0 {
            let things = counted(same, "other permission", "other permissions");
            text.push_str(&format!("  and {things}, unchanged\n"));
        }
    }
    if !hidden.is_empty() || !open.is_empty() {
        text.push_str("Changed lines:\n");
        write(&hidden, hidden.len(), &mut text);
        write(&open, LINES_MAX, &mut text);
    }
    text
}

/// Writes the first `shown` changes and the number of the others.
fn write(changes: &[Change<'_>], shown: usize, text: &mut String) {
    for change in changes.iter().take(shown) {
        text.push_str(&match change {
            Change::Removed(line) => format!("  - {line}\n"),
            Change::Added(line) => format!("  + {line}\n"),
        });
    }
    text.push_str(&more_than(shown, changes.len()));
}

/// Returns a line with the number of omitted items.
fn more_than(shown: usize, all: usize) -> String {
    match all.saturating_sub(shown) as u64 {
        0 => String::new(),
        more => format!("  and {}\n", counted(more, "more", "more")),
    }
}
