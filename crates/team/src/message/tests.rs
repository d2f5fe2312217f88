//! Tests of what a message asks for.

use super::*;
use crate::Member;

fn roster() -> Roster {
    let max = Member { display_name: Some("Max the Great".into()), ..Member::ai("max") };
    Roster::new([Member::human("ann"), max, Member::ai("eva"), Member::ai("gpt-5.5")]).unwrap()
}

fn read(text: &str, roster: &Roster) -> Directives {
    super::read(text, roster, Sender::Person)
}

fn named(text: &str) -> Vec<String> {
    let directives = read(text, &roster());
    directives
        .next
        .iter()
        .map(|request| format!("{}!{}", request.name, request.intent.as_str()))
        .collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(named(text), expected, "{text:?}");
}

#[test]
fn a_mention_is_a_short_form_of_next() {
    check("@max please", &["max!P2"]);
    check("look, @MAX and @eva.", &["max!P2", "eva!P2"]);
    check("line\n@max: go", &["max!P2"]);
    check("(see below)\t@max!", &["max!P2"]);
    check("@max!P1 now, @eva!p3", &["max!P1", "eva!P3"]);
    check("@Max the Great, go", &["max!P2"]);
    check("@gpt-5.5?", &["gpt-5.5!P2"]);
    check("@max", &["max!P2"]);
}

#[test]
fn an_address_a_package_and_an_unknown_name_are_no_mentions() {
    for text in [
        "ann@max.com",
        "@max.com",
        "@max/node",
        "@maximal",
        "@max's idea",
        "@max_2",
        "\"@max\"",
        "a.@max",
        "[@max](https://host/max)",
        "@max@eva",
        "@nobody",
        "@ max",
        "@",
        "@max!P4x",
        "@gpt-5",
    ] {
        check(text, &[]);
    }
}

#[test]
fn emphasis_brackets_and_lists_of_names_address() {
    for text in
        ["**@max** please", "(@max) hm", "_@max_", "***@max***,", "\\@max please", "[@max] hm"]
    {
        check(text, &["max!P2"]);
    }
    for text in ["@max,@eva", "@max/@eva", "(@max, @eva)", "**@max** & **@eva**", "so:@max;@eva"] {
        check(text, &["max!P2", "eva!P2"]);
    }
    check("好的，@max，请看", &["max!P2"]);
    check("(@max!P1)", &["max!P1"]);
}

#[test]
fn a_name_in_quotation_marks_or_a_link_is_reported() {
    for text in ["the word \"@max\"", "“@max”", "[@max](https://host/max)", "[**@max**][1]"] {
        check(text, &[]);
        assert_eq!(read(text, &roster()).ignored_markers, ["@max".into()], "{text}");
    }
}

/// Returns who is addressed if an agent writes this text, and who is only mentioned.
fn by_agent(text: &str) -> (Vec<String>, Vec<Box<str>>) {
    let directives = super::read(text, &roster(), Sender::Agent);
    (directives.next.into_iter().map(|request| request.name).collect(), directives.ignored_markers)
}

#[test]
fn an_agent_addresses_at_the_start_of_a_sentence_behind_a_comma_and_at_the_end() {
    for text in [
        "@max, please check this.",
        "The reader waits. @max, does that hold?",
        "Done!\n\n**@max** have a look at it",
        "- @max: the tests\n- the rest is mine",
        "1. @max runs the tests",
        "Next, @max runs the tests.",
        "Does that hold, @max? I think so.",
        "One question — @max, is it so?",
        "Thanks @max, that was it. Now I go on.",
        "(@max) please look at this",
        "I hand over to @max.",
        "Over to @max",
        "Please look: @max",
    ] {
        assert_eq!(by_agent(text), (vec!["max".to_owned()], vec![]), "{text}");
    }
    for text in ["@max and @eva, please look here.", "I hand over to @max, then @eva."] {
        assert_eq!(by_agent(text), (vec!["max".to_owned(), "eva".to_owned()], vec![]), "{text}");
    }
}

#[test]
fn an_agent_that_speaks_of_somebody_addresses_nobody_and_that_is_reported() {
    for text in [
        "It works as @max said before.",
        "I asked @max for it and got nothing.",
        "| file | owner |\n|---|---|\n| a.rs | @max |",
        "What @max (the author) wrote is fine.",
    ] {
        assert_eq!(by_agent(text), (vec![], vec!["@max".into()]), "{text}");
        check(text, &["max!P2"]);
    }
    // A member that is addressed anyway is not reported.
    assert_eq!(by_agent("@max, as @max said before."), (vec!["max".to_owned()], vec![]));
}

#[test]
fn next_without_brackets_is_reported() {
    for text in
        ["Next: max", "Done.\n\n**Next:** max, eva", "- NEXT: Max the Great.", "**Next: max**"]
    {
        let found = read(text, &roster()).look_alikes;
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
    for text in ["Next: write tests", "next: maximal", "`Next: max`", "> Next: max", "Next: @max"] {
        assert_eq!(read(text, &roster()).look_alikes, [], "{text}");
    }
}

#[test]
fn a_mention_in_code_or_a_quote_is_text() {
    for text in ["`@max`", "```\n@max\n```", "> @max", "a `b\n @max` c", "~~~\n @max"] {
        check(text, &[]);
    }
    check("> quoted\n\n@max", &["max!P2"]);
    check("`code` @max `code`", &["max!P2"]);
}

#[test]
fn brackets_around_a_mention_do_it_no_harm_and_a_marker_keeps_its_own() {
    check("[NEXT: eva and @max", &["max!P2"]);
    check("[x] @max [y]", &["max!P2"]);
    check("[NEXT: @max]", &["@max!P2"]);
    check("[TEAM_TASK: ask @max]", &[]);
    check("[NE[NEXT: eva]XT: max]", &[]);
    check("@eva and [NEXT: max]", &["max!P2", "eva!P2"]);
}

#[test]
fn what_looks_like_a_marker_is_reported_and_does_not_count() {
    for text in [
        "［NEXT：max］",
        "【NEXT: max】",
        "[ΝΕΧΤ: max]",
        "[N\u{200b}EXT: max]",
        "[NEXT\u{a0}: max]",
        "[ NEXT : max ]",
        "[𝐍𝐄𝐗𝐓: max]",
        "[ɴᴇxᴛ: max]",
        "＠max",
        "@m\u{430}x",
        "[DR\u{41e}P: ALL]",
        "[FR\u{2060}OM: ann]",
        "[TEAM_TAS\u{212a}: x]",
    ] {
        let directives = read(text, &roster());
        assert_eq!(directives.next, [], "{text:?}");
        assert_eq!(
            (directives.drop.len(), directives.from, directives.team_task),
            (0, None, None),
            "{text:?}"
        );
        assert_eq!(directives.look_alikes.len(), 1, "{text:?}");
    }
}

#[test]
fn other_languages_and_code_give_no_look_alikes() {
    for text in [
        "Привет, Макс! Как дела: хорошо [см. ниже].",
        "你好【重要】：请看",
        "`［NEXT：max］`",
        "> ［NEXT：max］",
        "- [ ] next: write tests",
        "[NEXT: max]\u{a0}— thanks",
        "[NEXT: Аня]",
        "café [DROP: eva]",
    ] {
        assert_eq!(read(text, &roster()).look_alikes, [], "{text:?}");
    }
}

#[test]
fn a_message_of_markers_alone_has_no_words() {
    assert!(!read("[DROP: ALL]\n [TEAM_TASK: x]", &roster()).has_words);
    assert!(read("[DROP: ALL] and so on", &roster()).has_words);
}

#[test]
fn an_excerpt_is_cut_between_characters() {
    assert_eq!(&*excerpt("kurz"), "kurz");
    assert_eq!(excerpt(&"ä".repeat(100)).chars().count(), 81);
}

#[test]
fn a_word_that_is_nearly_a_name_is_reported_with_the_name() {
    let unknown_mentions = |text: &str| {
        let found = read(text, &roster()).unknown_mentions;
        found.iter().map(|one| format!("{}~{} {}", one.name, one.nearest, one.is_first)).collect()
    };
    let check = |text: &str, expected: &[&str]| {
        let found: Vec<String> = unknown_mentions(text);
        assert_eq!(found, expected, "{text:?}");
    };
    check("@mxx please", &["mxx~max true"]);
    check("  @evaa: go", &["evaa~eva true"]);
    check("ask @mex!P1, then @max", &["mex~max false"]);
    check("@gpt_5-5 go", &["gpt_5-5~gpt-5.5 true"]);
    // These are another word, a path, an address, code and a quote.
    for text in ["@nobody", "@mxx/node", "@mxx.com", "a@mxx", "`@mxx`", "> @mxx", "@mxx's", "@"] {
        check(text, &[]);
    }
    let many = "@mxx ".repeat(1000);
    assert_eq!(read(&many, &roster()).unknown_mentions.len(), 20);
}

#[test]
fn a_message_that_begins_with_a_name_of_nobody_is_known() {
    let called = |text: &'static str| read(text, &roster()).nobody;
    for text in ["@zzz", "@zzz look", "@zzz, look", "@zzz: look", " \n@zzz!", "@zzz!P1 @eva look"] {
        assert_eq!(called(text).as_deref(), Some("zzz"), "{text:?}");
    }
    assert_eq!(called("@设计 look").as_deref(), Some("设计"));
    for text in [
        "@max look",
        "@mex is near",
        "@Max the Great, go",
        "look @zzz",
        "@zzz/src look",
        "@zzz.rs",
        "@zzz's idea",
        "@",
        "@ zzz",
        "`@zzz`",
        "> @zzz said",
        "[NEXT: max] @zzz",
        "",
    ] {
        assert_eq!(called(text), None, "{text:?}");
    }
    let twins = [
        Member { display_name: Some("Twin".into()), ..Member::ai("a1") },
        Member { display_name: Some("Twin".into()), ..Member::ai("b2") },
    ];
    let twins = Roster::new(twins).unwrap();
    assert_eq!(read("@Twin look", &twins).nobody, None, "two are called so");
}
