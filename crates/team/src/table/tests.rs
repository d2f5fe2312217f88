//! What a table takes, and what a name means at it.

use super::*;

fn table(members: impl IntoIterator<Item = Member>) -> Table {
    Table::new(members).unwrap()
}

#[test]
fn a_name_is_found_whatever_its_case_blanks_and_hyphens() {
    let table = table([
        Member::human("ann"),
        Member { display_name: Some("Max the Great".into()), ..Member::ai("code-max") },
    ]);
    for written in ["code-max", "CodeMax", "code_max", " code max", "@code-max", "max the great"] {
        assert_eq!(table.resolve(written), Resolved::Member(Seat(1)), "{written}");
    }
}

#[test]
fn an_unknown_name_offers_the_nearest_one() {
    let table = table([Member::human("ann"), Member::ai("max"), Member::ai("eva")]);
    let nearest = |written: &str| match table.resolve(written) {
        Resolved::Unknown { nearest } => nearest,
        found => panic!("{found:?}"),
    };
    assert_eq!(nearest("maxx").as_deref(), Some("max"));
    assert_eq!(nearest("m\u{200b}ax").as_deref(), Some("max"));
    assert_eq!(nearest("reviewer"), None);
    assert_eq!(nearest(&"x".repeat(1_000_000)), None);
    assert_eq!(nearest("---"), None);
}

#[test]
fn a_display_name_that_two_share_means_neither_and_a_name_goes_before_it() {
    let table = table([
        Member { display_name: Some("Claude".into()), ..Member::ai("a") },
        Member { display_name: Some("Claude".into()), ..Member::ai("b") },
        Member { display_name: Some("a".into()), ..Member::ai("c") },
    ]);
    assert_eq!(table.resolve("claude"), Resolved::Several(vec!["a".into(), "b".into()]));
    assert_eq!(table.resolve("A"), Resolved::Member(Seat(0)));
}

#[test]
fn two_members_of_one_name_are_refused_with_both_names() {
    let error = Table::new([Member::ai("code-max"), Member::ai("CodeMax")]).unwrap_err();
    assert_eq!(error, TableError::TwoOfOneName("code-max".into(), "CodeMax".into()));
    assert!(error.to_string().contains("rename one"));
}

#[test]
fn names_that_a_marker_cannot_carry_are_refused() {
    for name in ["", "- _", "ALL", "a,b", "a]", "[a", "a!P1", "a\nb", "@a", "a`b"] {
        let error = Table::new([Member::ai(name)]).unwrap_err();
        assert!(matches!(error, TableError::Unwritable(..)), "{name:?}: {error}");
    }
}

#[test]
fn there_is_at_most_one_default_member_and_it_is_an_agent() {
    let two = Table::new([
        Member { is_default: true, ..Member::ai("a") },
        Member { is_default: true, ..Member::ai("b") },
    ]);
    assert_eq!(two, Err(TableError::TwoDefaults("a".into(), "b".into())));
    let person = Table::new([Member { is_default: true, ..Member::human("ann") }]);
    assert_eq!(person, Err(TableError::HumanDefault("ann".into())));
}

#[test]
fn who_addresses_nobody_reaches_the_default_member_else_the_first_agent() {
    let members = [Member::human("ann"), Member::ai("max"), Member::ai("eva")];
    assert_eq!(table(members.clone()).default_seat(), Some((Seat(1), false)));
    let [ann, max, eva] = members;
    assert_eq!(
        table([ann.clone(), max, Member { is_default: true, ..eva }]).default_seat(),
        Some((Seat(2), true))
    );
    assert_eq!(table([ann]).default_seat(), None);
}

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
