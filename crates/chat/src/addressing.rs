//! Parses member names after `/next` and `/drop`: with or without `@`, separated by commas or spaces. Also notes
//! when a message begins with an `@name` that is neither a member nor a file, because then another member answers
//! it.

use std::path::Path;

use tertulia_session::EntryId;
use tertulia_team::{Driver, PersonMessage, Team, TeamMember, UnknownMember};

use crate::error::Refusal;
use crate::terminal::excerpt;

/// Maximum width of an unknown name in a note.
const NAME_COLUMNS: usize = 40;

/// Maximum number of words of a name.
const WORDS_MAX: usize = 4;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Addressed<'t> {
    /// The names in the form of a marker, each with its intent if there is one.
    pub(crate) names: Vec<String>,
    pub(crate) text: &'t str,
}

/// Parses names at the beginning, and the text after them. If a word must be a name but is not, returns an error that
/// says what to do. A colon can mark the end of the names.
pub(crate) fn read<'t>(given: &'t str, team: &Team) -> Result<Addressed<'t>, Refusal> {
    let (mut names, mut rest) = (Vec::new(), given.trim().trim_start_matches(is_separator).trim());
    let mut is_listed = false;
    while !rest.is_empty() {
        let Some((name, after)) = member(rest, team) else {
            let Some(error) = not_a_name(rest, names.is_empty(), is_listed, team) else { break };
            return Err(match names.is_empty() {
                true => error.into(),
                false => Refusal::NotAName { source: error, names },
            });
        };
        if !names.contains(&name) {
            names.push(name);
        }
        let after = after.trim_start();
        if let Some(text) = after.strip_prefix(':') {
            return Ok(Addressed { names, text: text.trim() });
        }
        rest = after.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        is_listed = after.starts_with(',');
    }
    Ok(Addressed { names, text: rest })
}

/// Parses names only; an intent after a name is ignored.
pub(crate) fn names(given: &str, team: &Team) -> Result<Vec<String>, Refusal> {
    let is_between = |c: char| c.is_whitespace() || is_separator(c);
    let (mut names, mut rest) = (Vec::new(), given.trim_matches(is_between));
    while !rest.is_empty() {
        let Some((name, after)) = member(rest, team) else {
            return Err(unknown(word(rest), team).into());
        };
        names.push(without_intent(&name).0.to_owned());
        rest = after.trim_start_matches(is_between);
    }
    Ok(names)
}

/// Returns the member at the beginning, and the rest.
fn member<'t>(rest: &'t str, team: &Team) -> Option<(String, &'t str)> {
    word_ends(rest).iter().enumerate().rev().find_map(|(number, end)| {
        let (written, after) = rest.split_at_checked(*end)?;
        let (bare, intent) = without_intent(written);
        let found = team.named(bare).ok()?;
        // Spaces are ignored in names; two words match only a name that is written as two words.
        (number == 0 || has_space(found)).then(|| (format!("{}{intent}", found.member.name), after))
    })
}

/// Returns the ends of the first words, shortest first. A comma or a colon ends the last one.
fn word_ends(rest: &str) -> Vec<usize> {
    let (mut ends, mut is_inside) = (Vec::new(), false);
    for (index, c) in rest.char_indices().chain([(rest.len(), '\n')]) {
        let is_last = is_separator(c) || c == '\n';
        let is_end = is_last || c.is_whitespace();
        if is_end && is_inside {
            ends.push(index);
        }
        if is_last || ends.len() == WORDS_MAX {
            break;
        }
        is_inside = !is_end;
    }
    ends
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | ':')
}

fn has_space(one: &TeamMember) -> bool {
    let has = |name: &str| name.contains(char::is_whitespace);
    has(&one.member.name) || one.member.display_name.as_deref().is_some_and(has)
}

/// Splits an intent such as `!P1` from a name.
fn without_intent(written: &str) -> (&str, &str) {
    let index = written.len().saturating_sub(3);
    match written.split_at_checked(index) {
        Some((name, intent @ ("!P1" | "!P2" | "!P3" | "!p1" | "!p2" | "!p3"))) => (name, intent),
        _ => (written, ""),
    }
}

/// Returns the error for a word that is not a member's name; `None` if the text begins there.
fn not_a_name(rest: &str, is_first: bool, is_listed: bool, team: &Team) -> Option<UnknownMember> {
    let word = word(rest);
    let after = rest.get(word.len()..).unwrap_or_default().trim_start();
    let is_alone = after.is_empty() || after.starts_with(is_separator);
    let is_near = team.named(word).is_err_and(|error| error.nearest.is_some());
    // `@src/main.rs` is a file.
    let is_called = word.starts_with('@') && !word.contains(['/', '.']);
    let is_meant = if is_listed { is_alone || is_near } else { is_alone && is_near };
    (is_first || is_called || is_meant).then(|| unknown(word, team))
}

fn word(rest: &str) -> &str {
    let end = rest.find(|c: char| c.is_whitespace() || is_separator(c));
    rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest)
}

fn unknown(word: &str, team: &Team) -> UnknownMember {
    let shown = excerpt(word.trim_start_matches('@'), NAME_COLUMNS);
    let named = team.named(&shown).err();
    named.unwrap_or_else(|| UnknownMember {
        name: shown.into(),
        nearest: None,
        members: Vec::new(),
    })
}

/// Returns the name at the beginning if it is neither similar to a member's name nor a file of this folder.
pub(crate) fn unknown_name<'m>(message: &'m PersonMessage, folder: &Path) -> Option<&'m str> {
    let name = message.unknown_name()?;
    // `@Makefile` refers to a file.
    folder.join(name).symlink_metadata().is_err().then_some(name)
}

/// Returns a note if a message begins with an unknown name.
pub fn unknown_name_note(
    driver: &Driver,
    said: &EntryId,
    message: &PersonMessage,
    folder: &Path,
) -> Option<String> {
    let name = unknown_name(message, folder)?;
    let reported = format!("nobody in the team is called {}", excerpt(name, NAME_COLUMNS));
    let names = addressees(driver, said).join(", ");
    Some(if names.is_empty() {
        reported
    } else {
        format!("{reported}; the message goes to {names}")
    })
}

fn addressees<'d>(driver: &'d Driver, said: &EntryId) -> Vec<&'d str> {
    let entry = driver.entries().iter().rev().find(|entry| entry.id == *said);
    let routing = entry.and_then(|entry| entry.message()?.routing.as_deref());
    let routing = routing.and_then(|to| to.resolved_addressees.as_deref());
    let shown = |name: &'d str| driver.team().member(name).map_or(name, |one| one.shown_name());
    routing.unwrap_or_default().iter().map(|one| shown(&one.identifier)).collect()
}

#[cfg(test)]
mod tests {
    use tertulia_team::Limits;

    use super::*;

    fn team() -> Team {
        let mut eva = TeamMember::scribe("eva");
        eva.member.display_name = Some("Eva Maria".into());
        let members = vec![
            TeamMember::person("ann"),
            TeamMember::scribe("max"),
            eva,
            TeamMember::scribe("code-reviewer"),
        ];
        Team::new(members, Limits::default(), None).unwrap()
    }

    #[track_caller]
    fn check(given: &str, names: &[&str], text: &str) {
        let read = read(given, &team()).unwrap();
        assert_eq!((read.names, read.text), (names.iter().map(|&n| n.to_owned()).collect(), text));
    }

    #[test]
    fn names_may_be_apart_by_commas_or_spaces_and_have_a_sign() {
        for given in ["max eva", "max,eva", "@max, @eva", "@max @eva", "max , eva", ", max eva"] {
            check(given, &["max", "eva"], "");
        }
        check("max,eva,max", &["max", "eva"], "");
        check("max,", &["max"], "");
        check("Eva Maria, code_reviewer", &["eva", "code-reviewer"], "");
        check("max!P1 eva!p3", &["max!P1", "eva!p3"], "");
        check("", &[], "");
    }

    #[test]
    fn the_text_begins_behind_the_names() {
        check("max, eva: look at this", &["max", "eva"], "look at this");
        check("max: eva is wrong", &["max"], "eva is wrong");
        check("@max look, then go", &["max"], "look, then go");
        check("max, please look", &["max"], "please look");
        check("max @src/main.rs is odd", &["max"], "@src/main.rs is odd");
        check("max https://example.org: look", &["max"], "https://example.org: look");
        check("max ```\ncode", &["max"], "```\ncode");
    }

    #[test]
    fn a_word_that_has_to_be_a_name_is_refused_with_the_nearest_one() {
        for (given, part) in [
            ("evva look", "'evva' is not in the team (did you mean eva?)"),
            ("@nobody", "'nobody' is not in the team; there are: ann, max, eva, code-reviewer"),
            ("max, evva", "did you mean eva?"),
            ("max, zoe", "'zoe' is not in the team"),
            ("max maxx", "to add a message, put a colon before it: /next max: …"),
            ("max @zoe look", "'zoe' is not in the team"),
        ] {
            let error = read(given, &team()).unwrap_err().to_string();
            assert!(error.contains(part), "{given}: {error}");
        }
        assert_eq!(names("@max, eva!P1", &team()).unwrap(), ["max", "eva"]);
        assert!(
            names("max or so", &team())
                .unwrap_err()
                .to_string()
                .contains("'or' is not in the team")
        );
    }

    #[test]
    fn a_long_text_costs_little() {
        let text = "x ".repeat(1_000_000);
        let given = format!("max {text}");
        assert_eq!(read(&given, &team()).unwrap().text, text.trim());
        check(&"max ".repeat(100_000), &["max"], "");
        assert!(read(&"q".repeat(1_000_000), &team()).unwrap_err().to_string().len() < 200);
    }
}
