//! Promises about several builds: no entry between two cuts is lost, hidden entries stay hidden, and the order never
//! changes. If a model rejects every request as too large, there is an end.

use proptest::prelude::*;
use tertulia_context::Outcome;
use tertulia_context::builder::{ContextConfig, ContextError, ContextIndex, Source};
use tertulia_session::{Entry, EntryId, EntryKind, Message};

use super::arbitrary::{Setting, Story, setting, story};
use super::claim::{appended, of_log, sent, with_entries};
use super::rules::broken_rule;
use super::world::{Branch, Checked, Turn, play};

/// Checks that a new summary begins where the last one ended, and that every entry that is not sent is before a cut.
fn nothing_between_is_lost(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let log = with_entries(turn.log, &result.entries_to_append);
    let (before, after) = (Branch::new(turn.log), Branch::new(&log));
    for entry in &result.entries_to_append {
        let EntryKind::CompactionSummary(summary) = &entry.kind else { continue };
        let expected = match before.newest_summary() {
            Some((_, first_kept)) => before.entries[first_kept].0,
            None => after.entries[0].0,
        };
        if let Some(from) = &summary.covered_from_id {
            prop_assert_eq!(from, expected);
            let to = after.position(summary.covered_to_id.as_ref().unwrap());
            let first = after.position(&summary.first_kept_entry_id);
            prop_assert_eq!(to.map(|to| to + 1), first);
        }
    }
    let summarised = after.newest_summary().map_or(0, |(_, first)| first);
    let kept_from = after.first_kept();
    for verdict in &result.verdicts {
        let at = after.position(&verdict.entry);
        match (&verdict.outcome, at) {
            (Outcome::Summarized { by }, Some(at)) => {
                prop_assert_eq!(Some(by), after.newest_summary().map(|(entry, _)| &entry.id));
                let is_summary = matches!(
                    after.entries[at].1.map(|entry| &entry.kind),
                    Some(EntryKind::CompactionSummary(_))
                );
                prop_assert!(at < summarised || is_summary);
            }
            (Outcome::Dropped { reason }, Some(at)) => {
                let is_cut = reason.as_str() == "cut";
                prop_assert!(!is_cut || (summarised..kept_from).contains(&at), "{:?}", verdict);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that the words of hidden entries are nowhere.
fn hidden_is_hidden(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let shown = format!("{:?}{:?}", result.model_messages, result.entries_to_append);
    for (place, entry) in turn.log.iter().enumerate() {
        let is_redacted = turn.log.iter().any(|other| match &other.kind {
            EntryKind::Redaction(redaction) => redaction.target_id == entry.id,
            _ => false,
        });
        let is_message =
            matches!(entry.kind, EntryKind::Message(_) | EntryKind::SystemPromptOverride(_));
        if is_redacted && is_message && entry.id.as_str() == format!("e{place}") {
            for secret in [format!("q{place}q"), format!("p{place}p")] {
                prop_assert!(!shown.contains(&secret), "{} in {}", secret, shown);
            }
        }
    }
    Ok(())
}

fn order_never_changes(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let log = with_entries(turn.log, &result.entries_to_append);
    let branch = Branch::new(&log);
    let places: Vec<_> = result
        .model_messages
        .iter()
        .filter_map(|one| match &one.source {
            Source::Entry(id) => Some(branch.position(id)),
            _ => None,
        })
        .collect();
    prop_assert!(places.iter().all(Option::is_some), "{:?}", sent(&result.model_messages));
    // A result that was made up comes after the real ones, and has the position of its call.
    let made_up = |one: &[Option<usize>]| one[0] > one[1];
    let backwards = places.windows(2).filter(|pair| made_up(pair)).count();
    prop_assert!(backwards <= result.repairs.len(), "{:?}", places);
    Ok(())
}

fn new_entries_are_a_chain(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let branch = Branch::new(turn.log);
    let mut parent: Option<EntryId> = branch.entries.last().map(|(id, _)| (*id).clone());
    for entry in &result.entries_to_append {
        prop_assert_eq!(&entry.parent_id, &parent);
        prop_assert_eq!(&entry.id, &entry.content_id());
        parent = Some(entry.id.clone());
    }
    let log = with_entries(turn.log, &result.entries_to_append);
    let length = Branch::new(&log).entries.len();
    prop_assert_eq!(length, branch.entries.len() + result.entries_to_append.len());
    let summary = &result.compaction_summary_entry;
    let summaries = result
        .entries_to_append
        .iter()
        .filter(|entry| matches!(entry.kind, EntryKind::CompactionSummary(_)));
    prop_assert_eq!(
        summaries.map(|entry| &entry.id).collect::<Vec<_>>(),
        summary.iter().collect::<Vec<_>>()
    );
    Ok(())
}

/// Checks that each new context is smaller if the model rejects every request, and that there is a last one.
fn refusals_end(setting: &Setting, mut log: Vec<Entry>) -> Checked {
    let builder = setting.builder();
    let mut index = ContextIndex::new();
    let mut last: Option<u64> = None;
    for _ in 0..2 * log.len() + 3 {
        let mut input = of_log(&log);
        (input.overflow_hint, input.explain) = (true, false);
        let built = match builder.build_with(&mut index, &input) {
            Ok(built) => built,
            Err(ContextError::InvalidInput(error)) => {
                return Err(TestCaseError::fail(error.to_string()));
            }
            Err(_) => return Ok(()),
        };
        let counted: u64 = built
            .model_messages
            .iter()
            .filter(|one| one.source != Source::Recall)
            .map(|one| one.tokens)
            .sum();
        prop_assert!(
            last.is_none_or(|last| counted < last),
            "{:?} {:?}",
            last,
            appended(&built.entries_to_append)
        );
        prop_assert!(built.compacted);
        prop_assert_eq!(broken_rule(&built.model_messages), None);
        last = Some(counted);
        let entries = built.entries_to_append;
        log.extend(entries);
    }
    Err(TestCaseError::fail("it never ends"))
}

fn log_of(story: &Story) -> Vec<Entry> {
    let mut log = Vec::new();
    let mut large = story.clone();
    large.setting.config = ContextConfig::new(1_000_000);
    let kept = play(&large, |turn| {
        log = turn.log.to_vec();
        Ok(())
    });
    kept.unwrap();
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_between_two_cuts_is_lost(story in story()) {
        play(&story, nothing_between_is_lost)?;
    }

    #[test]
    fn hidden_words_are_in_no_message_no_summary_and_no_recall(story in story()) {
        play(&story, hidden_is_hidden)?;
    }

    #[test]
    fn the_order_of_the_log_is_the_order_that_is_sent(story in story()) {
        play(&story, order_never_changes)?;
    }

    #[test]
    fn new_entries_are_a_chain_on_the_tail(story in story()) {
        play(&story, new_entries_are_a_chain)?;
    }

    #[test]
    fn a_model_that_always_refuses_gets_less_each_time_and_an_error_in_the_end(
        story in story(),
        setting in setting(),
    ) {
        refusals_end(&setting, log_of(&story))?;
    }
}

#[test]
fn what_was_hidden_after_it_was_summarised_is_gone_with_the_summary() {
    let builder = super::claim::builder(ContextConfig::new(250));
    let mut log =
        super::notation::log(&["u secret_a*400", "a one*400", "u two*400", "a three*200"]);
    let first = super::claim::build(&builder, &of_log(&log));
    log.extend(first.entries_to_append);
    let text = |messages: &[tertulia_context::builder::ModelMessage<'_>]| {
        messages
            .iter()
            .map(|one| Message::words(&one.message.parts).into_owned())
            .collect::<String>()
    };
    assert!(
        text(&super::claim::build(&builder, &of_log(&log)).model_messages).contains("secret_a")
    );
    super::notation::append(&mut log, "redact 0");
    let after = super::claim::build(&builder, &of_log(&log));
    assert!(!text(&after.model_messages).contains("secret_a"));
    assert!(after.compacted);
}
