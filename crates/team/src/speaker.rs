//! Which person speaks: as the door says, as `[FROM: …]` says, the one that is waited for, or the only
//! one. Called by the machine, and by doors before they store a message. No agent gets in here.

use crate::names::nearest_name;
use crate::table::{Resolved, Seat, Table};

/// It is not clear which person speaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpeakerError {
    #[error(
        "no person in this team is called '{name}'{}; use [FROM: name] with one of: {}",
        nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default(),
        people.join(", ")
    )]
    Unknown { name: Box<str>, nearest: Option<Box<str>>, people: Vec<Box<str>> },
    #[error(
        "'{name}' is an agent and cannot speak for a person; use [FROM: name] with one of: {}",
        people.join(", ")
    )]
    Agent { name: Box<str>, people: Vec<Box<str>> },
    #[error("the team has several people; use [FROM: name] with one of: {}", people.join(", "))]
    Several { people: Vec<Box<str>> },
}

/// The person who speaks; `None` where no person sits at the table and one speaks from outside.
pub(crate) fn speaker(
    table: &Table,
    awaited: Option<Seat>,
    named: Option<&str>,
) -> Result<Option<Seat>, SpeakerError> {
    let mut people = table.humans();
    let Some((first, _)) = people.next() else { return Ok(None) };
    if let Some(name) = named {
        return match table.resolve(name) {
            Resolved::Member(seat) if table.is_human(seat) => Ok(Some(seat)),
            Resolved::Member(seat) => {
                Err(SpeakerError::Agent { name: table.name(seat).into(), people: names(table) })
            }
            Resolved::Several(_) | Resolved::Unknown { .. } => Err(SpeakerError::Unknown {
                name: crate::message::excerpt(name),
                nearest: nearest_person(table, name),
                people: names(table),
            }),
        };
    }
    match (awaited, people.next()) {
        (Some(awaited), _) => Ok(Some(awaited)),
        (None, None) => Ok(Some(first)),
        (None, Some(_)) => Err(SpeakerError::Several { people: names(table) }),
    }
}

/// An agent with a name that is nearer still cannot be meant.
fn nearest_person(table: &Table, written: &str) -> Option<Box<str>> {
    let people = table.humans();
    let known = people.flat_map(|(_, one)| one.names().map(move |name| (name, &one.name)));
    nearest_name(written, known).cloned()
}

fn names(table: &Table) -> Vec<Box<str>> {
    table.humans().map(|(_, member)| member.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Member;

    fn two_people() -> Table {
        Table::new([Member::ai("max"), Member::human("ann"), Member::human("bob")]).unwrap()
    }

    #[test]
    fn the_named_person_speaks_else_the_awaited_one_else_the_only_one() {
        let table = two_people();
        assert_eq!(speaker(&table, Some(Seat(1)), Some("Bob")), Ok(Some(Seat(2))));
        assert_eq!(speaker(&table, Some(Seat(2)), None), Ok(Some(Seat(2))));
        let alone = Table::new([Member::ai("max"), Member::human("ann")]).unwrap();
        assert_eq!(speaker(&alone, None, None), Ok(Some(Seat(1))));
    }

    #[test]
    fn without_people_at_the_table_one_speaks_from_outside() {
        let table = Table::new([Member::ai("max")]).unwrap();
        assert_eq!(speaker(&table, None, None), Ok(None));
        assert_eq!(speaker(&table, None, Some("max")), Ok(None));
    }

    #[test]
    fn several_people_an_agent_and_a_stranger_are_errors_that_name_the_people() {
        let table = two_people();
        for (named, word) in [(None, "several"), (Some("max"), "agent"), (Some("eve"), "eve")] {
            let error = speaker(&table, None, named).unwrap_err().to_string();
            assert!(error.contains(word) && error.ends_with("ann, bob"), "{error}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_names_the_nearest_person_and_never_an_agent() {
        let table = Table::new([Member::ai("bub"), Member::human("ann"), Member::human("bob")]);
        let error = speaker(&table.unwrap(), None, Some("bubb")).unwrap_err().to_string();
        assert!(!error.contains("did you mean bub?"), "{error}");
        let error = speaker(&two_people(), None, Some("bub")).unwrap_err().to_string();
        assert!(error.contains("did you mean bob?"), "{error}");
    }
}
