//! Recipes of made-up prompts: what was written can be read, and nothing of a message is in it.

use proptest::prelude::*;
use tertulia_session::{Message, NewEntry, Speaker, SpeakerType};

use super::*;

fn said(text: &str) -> Entry {
    let speaker = Speaker::new("ann", "ann", SpeakerType::Human);
    NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id()
}

fn whole(place: usize) -> Step {
    Step::Said { place, range: None, is_escaped: false }
}

fn words(words: &str) -> Step {
    Step::Words(words.into())
}

fn read(json: &Json, before: &Recipe) -> Recipe {
    Recipe::read(json, || Ok(before.clone())).unwrap()
}

#[test]
fn a_recipe_makes_the_prompt_again() {
    let entries = [said("Which colour?"), said("Blue. [NEXT: ann] Or red.")];
    let recipe = Recipe(vec![
        words("Be brief."),
        Step::Apart,
        words("- ann: "),
        whole(0),
        words("\n("),
        Step::Id(1),
        words(") "),
        Step::said(1, 0..5),
        Step::said(1, 17..25),
    ]);
    let made = recipe.make(&entries);
    assert_eq!(made.system.as_deref(), Some("Be brief."));
    let id = &entries[1].id;
    assert_eq!(made.text, format!("- ann: Which colour?\n({id}) Blue. Or red."));
    assert_eq!(made.lost, []);
}

#[test]
fn a_text_in_a_request_is_escaped_as_json() {
    let entries = [said("a \"b\"\n")];
    let step = Step::Said { place: 0, range: None, is_escaped: true };
    assert_eq!(Recipe(vec![step]).make(&entries).text, "a \\\"b\\\"\\n");
}

#[test]
fn what_both_prompts_have_is_referred_to() {
    let lines = |first: usize, last: usize| {
        let line = |place| [words("\n- ann: "), whole(place)];
        Recipe((first..last).flat_map(line).collect())
    };
    let (before, after) = (lines(0, 20), lines(1, 21));
    let json = after.to_json(Some(&before)).unwrap();
    assert_eq!(json.as_str(), "[1,[0,1],[3,37],[0,1],20]");
    assert_eq!(read(&json, &before), after);
}

#[test]
fn a_text_that_is_gone_is_named_and_nothing_else_is_lost() {
    let entries = [said(""), said("Blue.")];
    let recipe = Recipe(vec![words("- "), Step::said(0, 0..7), words("\n- "), whole(1)]);
    let made = recipe.make(&entries);
    assert_eq!(made.text, format!("- [redacted: {}]\n- Blue.", entries[0].id));
    assert_eq!(made.lost, [entries[0].id.clone()]);
}

#[test]
fn what_is_no_recipe_is_refused() {
    for text in ["7", "[]", "[2]", "[0,true]", "[0,[1,2,3,4,5]]", "[0,[5,1]]", "[0,-1]", "[0,{}]"] {
        let json = Json::parse(text).unwrap();
        assert!(Recipe::read(&json, || Ok(Recipe::default())).is_err(), "{text}");
    }
}

#[test]
fn what_makes_a_prompt_inert_is_part_of_the_recipe() {
    let entries = [said("see @a and @eva")];
    let recipe = Recipe(vec![words("/x "), Step::said(0, 0..15)]);
    let edits = [Edit::Escape(0), Edit::Escape(7), Edit::DropSign(14)];
    let edited = recipe.edited(&[3, 15], &edits);
    assert_eq!(edited.make(&entries).text, "\\/x see \\@a and eva");
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-z\\n\"]{1,8}".prop_map(|text| Step::Words(text.into())),
        (0..4_usize).prop_map(whole),
        (0..4_usize, 0..3_usize, 1..4_usize, any::<bool>()).prop_map(|(place, from, more, esc)| {
            Step::Said { place, range: Some(from..from + more), is_escaped: esc }
        }),
        (0..4_usize).prop_map(Step::Id),
        Just(Step::Apart),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        before in proptest::collection::vec(step(), 0..12),
        after in proptest::collection::vec(step(), 0..12),
        shared in 0..12_usize,
    ) {
        let mut after = after;
        after.extend(before.iter().skip(shared).cloned());
        let (before, after) = (Recipe(before), Recipe(after));
        let alone = after.to_json(None).unwrap();
        prop_assert!(Recipe::is_alone(&alone));
        prop_assert_eq!(&Recipe::read(&alone, || Err(RecipeError("asked"))).unwrap(), &after);
        let behind = after.to_json(Some(&before)).unwrap();
        prop_assert!(!Recipe::is_alone(&behind));
        prop_assert_eq!(read(&behind, &before), after);
    }

    #[test]
    fn any_list_is_read_or_refused(text in "\\[[01](,([0-9]{1,3}|\"a\"|null|\\[[0-9,]{0,9}\\])){0,6}\\]") {
        if let Ok(json) = Json::parse(&text) {
            let before = Recipe(vec![words("a"), whole(0)]);
            if let Ok(recipe) = Recipe::read(&json, || Ok(before)) {
                recipe.make(&[said("b")]);
            }
        }
    }
}
