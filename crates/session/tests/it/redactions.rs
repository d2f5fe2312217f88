//! The entries that a redaction hides: its target everywhere, and every summary and recalled text that may contain
//! its text.

use tertulia_session::{BranchSummary, Entry, EntryId, EntryIndex, EntryKind, Fields, Recall};

use crate::entry_wire::{at, log, read, redaction, said, show, summary, view, walked};

/// Returns a log in the notation of `log`. After an id, `!target` makes a redaction, `=from..to|kept` a summary,
/// `^source` a branch summary and `@source,source` a recalled text.
fn parse(notation: &str) -> Vec<Entry> {
    notation.split_whitespace().map(parse_word).collect()
}

fn parse_word(word: &str) -> Entry {
    if let Some((id, target)) = word.split_once('!') {
        return at(id, redaction(target));
    }
    if let Some((id, source)) = word.split_once('^') {
        return at(
            id,
            EntryKind::BranchSummary(BranchSummary {
                source_session_id: "s".into(),
                source_entry_id: EntryId::from(source),
                summary: Some("secrets".into()),
                unknown: Fields::NONE,
            }),
        );
    }
    if let Some((id, sources)) = word.split_once('@') {
        let recall = Recall {
            text: format!("secrets of {sources}").into(),
            source_ids: sources.split_terminator(',').map(EntryId::from).collect(),
            replaces: true,
            member: None,
            unknown: Fields::NONE,
        };
        return at(id, EntryKind::Recall(Box::new(recall)));
    }
    match word.split_once('=').and_then(|(id, rest)| Some((id, rest.split_once('|')?))) {
        Some((id, (range, kept))) => at(id, summary(range, kept)),
        None => at(word, said(word)),
    }
}

/// Checks which entries are hidden in the view of the newest entry, however the log was indexed.
#[track_caller]
fn check(notation: &str, shown: &str) {
    let log = parse(notation);
    assert_eq!(show(view(&log)), shown);
    let mut index = EntryIndex::default();
    for end in 1..=log.len() {
        index.catch_up(&log[..end]).unwrap();
    }
    assert_eq!(show(walked(index.walk(&log).unwrap())), shown, "one by one");
}

#[test]
fn a_redaction_hides_its_target() {
    check("a b c r!b", "a -b c r");
}

#[test]
fn a_redaction_counts_on_every_branch() {
    check("a b<a r<b!a c<a", "-a c");
    check("a b<a c<b r<a!b d<c", "a -b c d");
}

#[test]
fn a_redaction_may_come_before_its_target_or_hide_another_or_itself() {
    check("a r!c c", "a r -c");
    check("a b r!b q!r", "a -b -r q");
    check("a r!r", "a -r");
}

#[test]
fn a_redaction_of_nothing_is_an_error() {
    let log = parse("a r!z b<a");
    let error = view(&log).unwrap_err();
    assert_eq!((error.entry().unwrap().as_str(), error.field()), ("r", Some("payload.targetId")));
    assert_eq!(
        error.to_string(),
        "Entry r: payload.targetId names z, which is not in the log; name an entry of the log"
    );
}

#[test]
fn nothing_that_is_hidden_can_be_reached() {
    let mut log = parse("a b c s=a..b|c r!b");
    log[1].meta = Some(tertulia_session::json::Json::parse(r#"{"copy":"secret of b"}"#).unwrap());
    let view = view(&log).unwrap();
    for hidden in [view[1], view[3]] {
        assert!(hidden.entry().is_none() && hidden.kind().is_none());
        assert_eq!(hidden.hidden_by().unwrap().as_str(), "r");
        assert!(!format!("{hidden:?}").contains("secret"), "{hidden:?}");
    }
    let shown = format!("{view:?}");
    assert!(!shown.contains("secret of b") && !shown.contains("secrets of"), "{shown}");
    assert!(shown.contains("secret of a"));
    assert!(view[0].hidden_by().is_none());
}

#[test]
fn a_summary_is_void_if_its_range_holds_the_target() {
    for target in ["b", "c"] {
        let shown = check_target("a b c d s=b..c|d", target);
        assert!(shown.contains("-s"), "{shown}");
    }
    for target in ["a", "d"] {
        let shown = check_target("a b c d s=b..c|d", target);
        assert!(shown.contains(" s"), "{shown}");
    }
}

#[test]
fn a_summary_without_a_range_covers_all_before_what_it_kept() {
    for (target, void) in [("a", true), ("c", true), ("d", false)] {
        let shown = check_target("a b c d s=|d", target);
        assert_eq!(shown.contains("-s"), void, "{shown}");
    }
}

#[test]
fn a_summary_that_points_nowhere_is_taken_to_cover_all_before_it() {
    for (log, target) in [("s=|z", "a"), ("s=|z", "d"), ("s=b..z|d", "d"), ("s=z..c|d", "a")] {
        assert!(check_target(&format!("a b c d {log}"), target).contains("-s"), "{log}");
    }
    check("a b c s=|z d r!d", "a b c s -d r");
}

#[test]
fn a_summary_written_after_the_redaction_stays() {
    check("a b c r!b s=a..b|c", "a -b c r s");
    check("a b c r!b s=a..b|c q!b", "a -b c r s q");
}

#[test]
fn a_summary_that_carries_a_void_one_is_void_too() {
    check("a b c d s=a..b|c e t=c..d|e r!a", "-a b c d -s e -t r");
    check("a b c d s=a..b|c e t=c..d|e u=e..e|u r!b", "a -b c d -s e -t -u r");
}

#[test]
fn a_summary_that_could_not_carry_the_void_one_stays() {
    // `t` came after the redaction, so it had no access to `s`.
    check("a b c d s=a..b|c r!a e t=c..d|e", "-a b c d -s r e t");
    // `u` came even later and continues `t`; the second redaction hides both.
    check("a b c d s=a..b|c r!a e t=b..d|e u=e..e|u q!b", "-a -b c d -s r e -t -u q");
}

#[test]
fn redacting_a_summary_reaches_those_that_carry_it() {
    check("a b s=a..a|b c t=b..b|c r!s", "a b -s c -t r");
}

#[test]
fn a_summary_on_another_branch_is_void_as_well() {
    check("a b<a c<b s<c=a..b|c x<a r<x!b t<s", "a -b c -s t");
    check("a b<a c<a s<c=a..a|c r<c!b t<s", "a c s t");
}

#[test]
fn a_summary_of_a_branch_is_void_if_its_source_holds_the_target() {
    check("a b<a c<b d<a x<d^c r<x!b", "a d -x r");
    check("a b<a c<b d<a x<d^b r<x!c", "a d x r");
    check("a x^elsewhere r!a", "-a x r");
    check("a b<a x<a^b s<x=a..x|s r<s!b", "a -x -s r");
}

#[test]
fn a_recalled_text_is_void_if_one_of_its_sources_is_redacted() {
    check("a b c x@a,c r!a", "-a b c -x r");
    check("a b c x@a,c r!c", "a b -c -x r");
    check("a b c x@a,c r!b", "a -b c x r");
    check("a b x@ r!a", "-a b x r");
    check("a b x@elsewhere r!a", "-a b x r");
    let log = parse("a b x@a r!a");
    let view = view(&log).unwrap();
    assert_eq!(view[2].hidden_by().unwrap().as_str(), "r");
    assert!(view[2].entry().is_none() && !format!("{view:?}").contains("secrets of"));
}

#[test]
fn a_recalled_text_that_came_after_the_redaction_stays() {
    check("a b r!a x@a,b", "-a b r x");
    check("a b r!a x@a,b q!a", "-a b r x q");
    check("a b r!a x@a,b q!b", "-a -b r -x q");
}

#[test]
fn a_recalled_text_on_another_branch_is_void_as_well() {
    check("a b<a x<b@b c<a r<c!b t<x", "a -b -x t");
}

#[test]
fn a_summary_is_void_with_a_recalled_text_only_if_it_covers_it() {
    check("a b x@a c s=b..b|c r!a", "-a b -x c s r");
    check("a b x@a c s=b..x|c r!a", "-a b -x c -s r");
}

#[test]
fn summaries_before_their_parents_are_checked_too() {
    check("a t<s=s..s|t s<a=a..a|s r<t!a", "-a -s -t r");
}

#[test]
fn many_summaries_and_redactions_are_checked_in_linear_time() {
    // Every summary covers all entries before it, and all redactions except the last came before it.
    let mut log: Vec<Entry> =
        (0..30_000).map(|position| at(&format!("e{position}"), said("x"))).collect();
    let redactions = (1..30_000).rev();
    log.extend(
        redactions.map(|position| at(&format!("r{position}"), redaction(&format!("e{position}")))),
    );
    log.extend((0..30_000).map(|position| at(&format!("s{position}"), summary("", "nowhere"))));
    log.push(at("last", redaction("e0")));
    let view = view(&log).unwrap();
    let hidden = view.iter().filter(|entry| entry.hidden_by().is_some());
    let (summaries, others): (Vec<usize>, Vec<usize>) =
        hidden.map(|entry| entry.position()).partition(|position| *position >= 59_999);
    assert_eq!((others.len(), summaries.len()), (30_000, 30_000));
}

#[test]
fn after_an_error_all_that_was_taken_in_is_hidden() {
    let mut log = parse("a b s=a..a|b r!a");
    log.push(at("b", said("other")));
    let mut index = EntryIndex::default();
    assert!(index.catch_up(&log).is_err());
    let walk = index.walk(&log[..4]).unwrap();
    assert_eq!(show(walked(walk)), "-a b -s r");
}

fn check_target(notation: &str, target: &str) -> String {
    show(view(&parse(&format!("{notation} r!{target}"))))
}

#[test]
fn the_notation_is_that_of_plain_logs() {
    assert_eq!(parse("a b<a"), log("a b<a"));
}

#[test]
fn what_was_purged_is_hidden_and_still_shows_what_it_was() {
    let hash = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    let purged = |id: &str, kind: &str| {
        let payload = format!(r#"{{"type":"{kind}","hash":"{hash}","by":"r"}}"#);
        read(&format!(r#"{{"id":"{id}","type":"purged","payload":{payload}}}"#)).unwrap()
    };
    let redaction = read(r#"{"id":"r","type":"redaction","payload":{"targetId":"a"}}"#).unwrap();
    let log = [purged("a", "message"), purged("s", "compaction_summary"), redaction];
    for entry in view(&log).unwrap().iter().take(2) {
        assert!(entry.entry().is_none());
        assert_eq!(entry.hidden_by().map(|by| by.as_str()), Some("r"));
    }
    assert_eq!(log[0].kind.shown_type_name(), "message");
}
