//! Tests of recipes of invented prompts: a written recipe can be read again, and it contains no text of a message.

use proptest::prelude::*;
use tertulia_session::json::Json;
use tertulia_session::{Cause, Fields, Message, NewEntry, Speaker, SpeakerType, Turn, TurnState};

use super::*;

fn said(text: &str) -> Entry {
    let speaker = Speaker::new("ann", "ann", SpeakerType::Human);
    NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id()
}

fn whole(index: usize) -> Step {
    Step::Said(Said { index, range: None, is_indented: true, is_escaped: false })
}

fn words(words: &str) -> Step {
    Step::Words(words.into())
}

fn steps(recipe: &Recipe) -> Vec<&Step> {
    recipe.0.iter().collect()
}

/// Writes the recipe with references to these earlier steps, and reads it again.
fn written(recipe: &Recipe, earlier: &Recipe) -> String {
    let json = recipe.to_json(Some(&steps(earlier))).unwrap();
    assert_eq!(Recipe::read(&json, &steps(earlier)).as_ref(), Ok(recipe));
    json.as_str().to_owned()
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
    let step = Step::Said(Said { index: 0, range: None, is_indented: false, is_escaped: true });
    assert_eq!(Recipe(vec![step]).make(&entries).text, "a \\\"b\\\"\\n");
}

#[test]
fn what_both_prompts_have_is_referred_to() {
    let lines = |first: usize, last: usize| {
        let line = |index| [words("\n- ann: "), whole(index)];
        Recipe((first..last).flat_map(line).collect())
    };
    let (before, after) = (lines(0, 20), lines(1, 21));
    assert_eq!(written(&after, &before), r#"[3,["2+38 0+1 20"]]"#);
}

#[test]
fn what_differs_by_its_entry_only_is_referred_to_with_the_other_entry() {
    let passage = |index, range: Range<usize>| {
        [words("\n("), Step::Id(index), words(") eva: "), Step::said(index, range)]
    };
    let before = Recipe(passage(10, 0..30).into_iter().chain(passage(17, 4..9)).collect());
    let after = Recipe(passage(17, 4..9).into_iter().chain(passage(21, 5..60)).collect());
    assert_eq!(written(&after, &before), r#"[3,["4+4 0+4@21:5-60"]]"#);
}

#[test]
fn lines_are_indented_also_where_one_stretch_ends_and_the_next_begins() {
    let entries = [said("one\n[NEXT: ann]two\r\n\nthree\n")];
    let recipe = Recipe(vec![
        words("[MESSAGE]\n"),
        Step::said(0, 0..4),
        Step::said(0, 15..26),
        words("\n- ann: "),
        Step::said(0, 0..4),
        Step::said(0, 15..18).plain(),
    ]);
    let made = recipe.make(&entries).text;
    assert_eq!(made, "[MESSAGE]\n  one\n  two\r\n\n  three\n- ann: one\ntwo");
}

#[test]
fn a_gap_is_indented_like_what_was_said_there() {
    let entries = [said("")];
    let recipe = Recipe(vec![words("[MESSAGE]\n"), Step::said(0, 0..7), Step::said(0, 9..12)]);
    let gap = format!("[MESSAGE]\n  [redacted: {}]", entries[0].id);
    assert_eq!(recipe.make(&entries).text, gap);
}

#[test]
fn what_makes_an_indented_text_inert_keeps_its_indents() {
    let entries = [said("@a\n@b c\n\n x@d")];
    let recipe = Recipe(vec![words("[M]\n"), Step::said(0, 0..13)]);
    let text = recipe.make(&entries).text;
    assert_eq!(text, "[M]\n  @a\n  @b c\n\n   x@d");
    let signs: Vec<usize> = text.match_indices('@').map(|(at, _)| at).collect();
    let edits = [Edit::Escape(signs[0]), Edit::DropSign(signs[1]), Edit::Escape(signs[2])];
    let edited = recipe.edited(&[4, text.len() - 4], &edits, &text);
    assert_eq!(edited.make(&entries).text, "[M]\n  \\@a\n  b c\n\n   x\\@d");
}

#[test]
fn a_record_of_the_form_before_is_refused_by_name() {
    for text in [r#"[0,"a",["1:2"]]"#, r#"[1,["0+1"]]"#] {
        let error = Recipe::read(&Json::parse(text).unwrap(), &[]).unwrap_err();
        assert!(error.to_string().contains("in another form"), "{error}");
    }
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
    let others = ["7", "[]", "[4]", "[2,7]", "[2,true]", "[2,-1]", "[2,{}]", "[2,[]]", "[2,[7]]"];
    let lines =
        ["", "x", "-1", "1 ", "1:", "1:2-", "1:j", "0+1", "#", "1+", "+1", "0+0@", "0+0@#1"];
    let lines = lines.map(|line| format!("[2,[{line:?}]]"));
    for text in others.into_iter().chain(lines.iter().map(String::as_str)) {
        let json = Json::parse(text).unwrap();
        assert!(Recipe::read(&json, &[]).is_err(), "{text}");
    }
}

#[test]
fn a_short_record_that_copies_itself_without_end_is_refused() {
    let copies: Vec<String> = (0..40).map(|power| format!("0+{}", 1_u64 << power)).collect();
    let json = Json::parse(&format!("[2,\"a\",[\"{}\"]]", copies.join(" "))).unwrap();
    assert_eq!(Recipe::read(&json, &[]), Err(RecipeError("it has too many steps")));
}

#[test]
fn what_makes_a_prompt_inert_is_part_of_the_recipe() {
    let entries = [said("see @a and @eva")];
    let recipe = Recipe(vec![words("/x "), Step::said(0, 0..15)]);
    let edits = [Edit::Escape(0), Edit::Escape(7), Edit::DropSign(14)];
    let edited = recipe.edited(&[3, 15], &edits, "/x see @a and @eva");
    assert_eq!(edited.make(&entries).text, "\\/x see \\@a and eva");
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-z\\n\"]{1,8}".prop_map(|text| Step::Words(text.into())),
        (0..4_usize).prop_map(whole),
        (0..4_usize, 0..3_usize, 1..4_usize, any::<(bool, bool)>()).prop_map(
            |(index, from, more, (is_indented, is_escaped))| {
                Step::Said(Said { index, range: Some(from..from + more), is_indented, is_escaped })
            }
        ),
        (0..4_usize).prop_map(Step::Id),
        Just(Step::Apart),
    ]
}

/// Returns a started turn with this record.
fn started(member: &str, recipe: Json) -> Entry {
    let turn = Turn {
        member: member.into(),
        state: TurnState::Started,
        turn_id: None,
        cause: Cause::PassedOver,
        cause_source: None,
        error_class: None,
        prompt_hash: None,
        prompt_recipe: Some(recipe),
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    };
    NewEntry::new(EntryKind::Turn(Box::new(turn))).with_content_id()
}

fn is_alone(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Turn(turn) => turn.prompt_recipe.as_ref().is_some_and(Recipe::is_alone),
        _ => false,
    }
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
        prop_assert_eq!(&Recipe::read(&alone, &[]).unwrap(), &after);
        prop_assert!(written(&after, &before).starts_with("[3"));
    }

    #[test]
    fn each_recipe_of_a_session_can_be_read_whoever_answers(
        recipes in proptest::collection::vec((0..3_usize, proptest::collection::vec(step(), 0..6)), 1..300),
    ) {
        let mut history = RecipeHistory::default();
        let mut entries = Vec::new();
        for (member, steps) in &recipes {
            let member = format!("m{member}");
            let json = history.record(&member, Recipe(steps.clone())).unwrap();
            entries.push(started(&member, json));
        }
        let indexes: Vec<usize> = (0..entries.len()).collect();
        for (index, (_, steps)) in recipes.iter().enumerate().rev().step_by(11) {
            let read = RecipeHistory::read(&entries, &indexes[..=index]).unwrap();
            prop_assert_eq!(&read.into_last().unwrap().0, steps);
        }
        let alone = entries.iter().filter(|entry| is_alone(entry)).count();
        prop_assert_eq!(alone, recipes.len().div_ceil(256));
    }

    #[test]
    fn any_list_is_read_or_refused(text in "\\[[23](,(\"a\"|\\[\"[0-9+@:#/jp -]{0,12}\"\\])){0,6}\\]") {
        if let Ok(json) = Json::parse(&text) {
            let before = Recipe(vec![words("a"), whole(0)]);
            if let Ok(recipe) = Recipe::read(&json, &steps(&before)) {
                recipe.make(&[said("b")]);
            }
        }
    }
}
