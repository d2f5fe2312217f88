//! Tests of which teams are valid, and which members their names refer to.

use super::*;

fn roster(members: impl IntoIterator<Item = Member>) -> Roster {
    Roster::new(members).unwrap()
}

#[test]
fn a_name_is_found_whatever_its_case_spaces_and_hyphens() {
    let roster = roster([
        Member::human("ann"),
        Member { display_name: Some("Max the Great".into()), ..Member::ai("code-max") },
    ]);
    for written in ["code-max", "CodeMax", "code_max", " code max", "@code-max", "max the great"] {
        assert_eq!(roster.resolve(written), Resolved::Member(MemberIndex(1)), "{written}");
    }
}

#[test]
fn an_unknown_name_offers_the_nearest_one() {
    let roster = roster([Member::human("ann"), Member::ai("max"), Member::ai("eva")]);
    let nearest = |written: &str| match roster.resolve(written) {
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
    let roster = roster([
        Member { display_name: Some("Claude".into()), ..Member::ai("a") },
        Member { display_name: Some("Claude".into()), ..Member::ai("b") },
        Member { display_name: Some("a".into()), ..Member::ai("c") },
    ]);
    assert_eq!(roster.resolve("claude"), Resolved::Several(vec!["a".into(), "b".into()]));
    assert_eq!(roster.resolve("A"), Resolved::Member(MemberIndex(0)));
}

#[test]
fn two_members_of_one_name_are_refused_with_both_names() {
    let error = Roster::new([Member::ai("code-max"), Member::ai("CodeMax")]).unwrap_err();
    assert_eq!(error, RosterError::TwoOfOneName("code-max".into(), "CodeMax".into()));
    assert!(error.to_string().contains("rename one"));
}

#[test]
fn names_that_a_marker_cannot_carry_are_refused() {
    for name in ["", "- _", "ALL", "a,b", "a]", "[a", "a!P1", "a\nb", "@a", "a`b"] {
        let error = Roster::new([Member::ai(name)]).unwrap_err();
        assert!(matches!(error, RosterError::Unwritable(..)), "{name:?}: {error}");
    }
}

#[test]
fn there_is_at_most_one_default_member_and_it_is_an_agent() {
    let two = Roster::new([
        Member { is_default: true, ..Member::ai("a") },
        Member { is_default: true, ..Member::ai("b") },
    ]);
    assert_eq!(two, Err(RosterError::TwoDefaults("a".into(), "b".into())));
    let person = Roster::new([Member { is_default: true, ..Member::human("ann") }]);
    assert_eq!(person, Err(RosterError::HumanDefault("ann".into())));
}

#[test]
fn who_addresses_nobody_reaches_the_default_member_else_the_first_agent() {
    let members = [Member::human("ann"), Member::ai("max"), Member::ai("eva")];
    assert_eq!(roster(members.clone()).default_member(), Some((MemberIndex(1), false)));
    let [ann, max, eva] = members;
    assert_eq!(
        roster([ann.clone(), max, Member { is_default: true, ..eva }]).default_member(),
        Some((MemberIndex(2), true))
    );
    assert_eq!(roster([ann]).default_member(), None);
}

fn two_people() -> Roster {
    Roster::new([Member::ai("max"), Member::human("ann"), Member::human("bob")]).unwrap()
}

#[test]
fn the_named_person_speaks_else_the_awaited_one_else_the_only_one() {
    let roster = two_people();
    assert_eq!(speaker(&roster, Some(MemberIndex(1)), Some("Bob")), Ok(Some(MemberIndex(2))));
    assert_eq!(speaker(&roster, Some(MemberIndex(2)), None), Ok(Some(MemberIndex(2))));
    let alone = Roster::new([Member::ai("max"), Member::human("ann")]).unwrap();
    assert_eq!(speaker(&alone, None, None), Ok(Some(MemberIndex(1))));
}

#[test]
fn without_people_in_the_team_one_speaks_from_outside() {
    let roster = Roster::new([Member::ai("max")]).unwrap();
    assert_eq!(speaker(&roster, None, None), Ok(None));
    assert_eq!(speaker(&roster, None, Some("max")), Ok(None));
}

#[test]
fn several_people_an_agent_and_an_unknown_name_are_errors_that_list_the_people() {
    let roster = two_people();
    for (named, word) in [(None, "several"), (Some("max"), "agent"), (Some("eve"), "eve")] {
        let error = speaker(&roster, None, named).unwrap_err().to_string();
        assert!(error.contains(word) && error.ends_with("ann, bob"), "{error}");
    }
}

#[test]
fn the_error_for_a_typo_names_the_nearest_person_and_never_an_agent() {
    let roster = Roster::new([Member::ai("bub"), Member::human("ann"), Member::human("bob")]);
    let error = speaker(&roster.unwrap(), None, Some("bubb")).unwrap_err().to_string();
    assert!(!error.contains("did you mean bub?"), "{error}");
    let error = speaker(&two_people(), None, Some("bub")).unwrap_err().to_string();
    assert!(error.contains("did you mean bob?"), "{error}");
}
