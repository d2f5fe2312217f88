//! Promises about every context, tested on random sessions: the log grows, is branched, redacted, cut by other
//! programs, and built from repeatedly.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_context::Outcome;
use tertulia_context::builder::{
    ContextError, ContextIndex, Item, LogIndex, MessageRef, Source, repair,
};
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_session::{Entry, EntryKind, Message, PartKind};

use super::arbitrary::story;
use super::claim::{appended, sent, with_entries};
use super::rules::{broken_rule, least_history};
use super::world::{Branch, Checked, Turn, asks, lasting, play};

fn counter(turn: &Turn<'_>) -> MessageCounter {
    let is_claude = turn.story.setting.is_claude;
    MessageCounter::new(if is_claude { Tokenizer::Claude } else { Tokenizer::Bytes })
}

/// Checks that every entry has exactly one verdict, and that the verdicts match what is sent.
fn every_entry_is_in_one_state(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let arrived = result.entries_to_append.iter();
    let arrived = arrived.filter(|entry| matches!(entry.kind, EntryKind::Message(_)));
    let mut seen = HashSet::new();
    let ids = turn.log.iter().chain(arrived).map(|entry| &entry.id).filter(|id| seen.insert(*id));
    let judged: Vec<_> = result.verdicts.iter().map(|verdict| &verdict.entry).collect();
    prop_assert_eq!(judged, ids.collect::<Vec<_>>());
    let sent: HashSet<_> = result
        .model_messages
        .iter()
        .filter_map(|one| match &one.source {
            Source::Entry(id) | Source::Summary(id) => Some(id),
            _ => None,
        })
        .collect();
    for verdict in &result.verdicts {
        let kind = turn.log.iter().find(|entry| entry.id == verdict.entry).map(|entry| &entry.kind);
        let is_told =
            !matches!(kind, Some(EntryKind::SystemPromptOverride(_) | EntryKind::RuntimeInit(_)));
        let is_sent = matches!(verdict.outcome, Outcome::Kept | Outcome::Elided);
        let is_stale_summary = matches!(kind, Some(EntryKind::CompactionSummary(_)))
            && result.compaction_summary_entry.is_some();
        if is_told && !is_stale_summary {
            prop_assert_eq!(is_sent, sent.contains(&verdict.entry), "{:?}", verdict);
        }
    }
    Ok(())
}

/// Checks that the context is within the budget by an independent count, or that there is an error with the reason.
fn never_over_budget(turn: &Turn<'_>) -> Checked {
    let config = &turn.story.setting.config;
    let counter = counter(turn);
    let result = match turn.result {
        Ok(result) => result,
        Err(error) => return rightly_refused(turn, error, &counter),
    };
    let (mut tokens, mut recalled) = (counter.count_reply().tokens, 0);
    for one in &result.model_messages {
        let count = counter.count_message(&one.message).count.tokens;
        prop_assert_eq!(count, one.tokens, "{:?}", one);
        if one.source == Source::Recall { recalled += count } else { tokens += count }
    }
    let scale = result.stats.scale_permille;
    let scaled = |tokens: u64| (tokens * scale).div_ceil(1_000);
    prop_assert_eq!(result.stats.input_tokens, scaled(tokens) + scaled(recalled));
    prop_assert!(result.stats.input_tokens <= config.max_input_tokens, "{:?}", result.stats);
    prop_assert_eq!(result.stats.message_count, result.model_messages.len() as u64);
    Ok(())
}

fn rightly_refused(turn: &Turn<'_>, error: &ContextError, counter: &MessageCounter) -> Checked {
    let config = &turn.story.setting.config;
    match error {
        ContextError::CompactionFailed { reason } => {
            let may_drop = config.strategies.contains(&tertulia_context::builder::Strategy::Drop);
            prop_assert!(!may_drop && turn.story.setting.has_compactor, "{}", reason);
        }
        ContextError::Overflow(overflow) => {
            prop_assert_eq!(overflow.limit, config.max_input_tokens);
            prop_assert!(!overflow.biggest.is_empty() || turn.input.overflow_hint);
            prop_assert!(overflow.biggest.is_sorted_by_key(|item| std::cmp::Reverse(item.tokens)));
            let is_scaled = turn.log.iter().any(|entry| {
                matches!(&entry.kind, EntryKind::Usage(_))
                    || matches!(&entry.kind, EntryKind::Message(message) if message.meta.is_some())
            });
            // If the newer of two calls with the same id is cut, it is unknown which one the result belongs to.
            if turn.input.overflow_hint || is_scaled || uses_open_id_again(turn.log) {
                return Ok(());
            }
            let fixed = frozen_messages(turn)
                .iter()
                .map(|message| counter.count_message(message).count.tokens)
                .sum::<u64>()
                + counter.count_reply().tokens;
            let summary =
                Branch::new(turn.log).newest_summary().map_or(0, |(entry, _)| match &entry.kind {
                    EntryKind::CompactionSummary(summary) => {
                        counter.tokenizer.count(&summary.summary).tokens + 20
                    }
                    _ => 0,
                });
            // If nothing may be dropped, a new summary needs some room.
            let may_drop = config.strategies.contains(&tertulia_context::builder::Strategy::Drop);
            let summary = if may_drop || summary == 0 { summary } else { summary.max(52) };
            // Stubs name new entries, and the ids of these do not all have the same number of tokens for Claude.
            let new_ids = 1 + turn.input.input_messages.len() as u64;
            let slack = if turn.story.setting.is_claude { 20 * new_ids } else { 0 };
            let least = fixed + summary + least_history(turn) + slack;
            prop_assert!(least > config.max_input_tokens, "{} could be sent: {}", least, error);
        }
        _ => prop_assert!(false, "{}", error),
    }
    Ok(())
}

/// Returns whether an answer calls with the id of an earlier call that has no result yet, or whose result may be
/// cut.
fn uses_open_id_again(log: &[Entry]) -> bool {
    let is_mark = |entry: &Entry| {
        matches!(entry.kind, EntryKind::CompactionSummary(_) | EntryKind::ContextCut(_))
    };
    let is_cut = log.iter().any(is_mark);
    let mut open = HashSet::new();
    let messages = log.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message(message) => Some(message),
        _ => None,
    });
    messages.flat_map(|message| &message.parts).any(|part| match &part.kind {
        PartKind::ToolCall(call) => !open.insert(call.tool_call_id.clone()),
        PartKind::ToolResult(result) if !is_cut => {
            open.remove(&result.tool_call_id);
            false
        }
        _ => false,
    })
}

/// Returns the system message and the hints, which are the same at every build of a log.
fn frozen_messages(turn: &Turn<'_>) -> Vec<Message> {
    let mut large = turn.story.setting.clone();
    large.config = tertulia_context::builder::ContextConfig::new(1 << 50);
    let built = large.builder().build_context(&turn.input).unwrap();
    let fixed = built.model_messages.into_iter();
    let fixed = fixed.filter(|one| matches!(one.source, Source::System | Source::RuntimeHints));
    fixed.map(|one| one.message.into_owned()).collect()
}

fn no_rule_is_broken(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    prop_assert_eq!(broken_rule(&result.model_messages), None);
    Ok(())
}

fn same_input_same_bytes(turn: &Turn<'_>) -> Checked {
    let fresh = turn.builder.build_context(&turn.input);
    prop_assert_eq!(&fresh, turn.result);
    let mut index = ContextIndex::new();
    let warm = turn.builder.build_with(&mut index, &turn.input);
    let again = turn.builder.build_with(&mut index, &turn.input);
    prop_assert_eq!(&warm, &again);
    Ok(())
}

fn old_messages_are_a_prefix(turn: &Turn<'_>) -> Checked {
    let (Ok(result), Some(before)) = (turn.result, turn.before) else { return Ok(()) };
    if !result.compacted {
        let now = lasting(result);
        prop_assert_eq!(
            now.get(..before.len()),
            Some(before),
            "{:?}",
            sent(&result.model_messages)
        );
    }
    Ok(())
}

/// Returns the positions on the branch of messages that providers would refuse.
fn repaired_entries(turn: &Turn<'_>, branch: &Branch<'_>) -> HashSet<usize> {
    let messages = (0..branch.entries.len()).filter_map(|at| Some((at, branch.message(at)?)));
    let arrived = (branch.entries.len()..).zip(turn.input.input_messages);
    let items = messages
        .chain(arrived)
        .map(|(at, message)| Item::new(LogIndex(at), MessageRef::Logged(message)));
    repair(items).repairs.into_iter().map(|one| one.entry.0).collect()
}

fn musts_are_sent_verbatim(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let branch = Branch::new(turn.log);
    let is_sent = |message: &Message| {
        result
            .model_messages
            .iter()
            .any(|one| matches!(one.source, Source::Entry(_)) && one.message.parts == message.parts)
    };
    let mut arrived = turn.input.input_messages.iter().rev();
    let request =
        arrived.find(|message| asks(message)).or_else(|| branch.message(branch.newest_request()?));
    // A repaired message differs from its entry.
    let repaired_entries = repaired_entries(turn, &branch);
    let pinned = (0..branch.entries.len()).filter(|at| branch.is_pinned(*at));
    let pinned = pinned.filter(|at| !repaired_entries.contains(at));
    for message in pinned.filter_map(|at| branch.message(at)) {
        prop_assert!(
            is_sent(message),
            "pinned {:?} of {:?}",
            message,
            sent(&result.model_messages)
        );
    }
    if let Some(request) = request {
        let words = request.text();
        let is_there = result
            .model_messages
            .iter()
            .any(|one| matches!(one.source, Source::Entry(_)) && one.message.text() == words);
        prop_assert!(is_there, "request {:?} of {:?}", request, sent(&result.model_messages));
    }
    if let Some(prompt) = turn.story.setting.system_prompt {
        let first = result.model_messages.first().map(|one| one.message.parts[0].as_text());
        prop_assert_eq!(first, Some(Some(prompt)));
    }
    Ok(())
}

fn appended_it_is_the_same(turn: &Turn<'_>) -> Checked {
    let Ok(result) = turn.result else { return Ok(()) };
    let log = with_entries(turn.log, &result.entries_to_append);
    for input_messages in [&[], turn.input.input_messages] {
        let mut input = turn.input;
        (input.session_entries, input.input_messages) = (&log, input_messages);
        input.overflow_hint = false;
        let again = turn.builder.build_context(&input);
        let again = match again {
            Ok(again) => again,
            Err(error) => return Err(TestCaseError::fail(format!("{error}"))),
        };
        prop_assert_eq!(&again.model_messages, &result.model_messages);
        prop_assert_eq!(appended(&again.entries_to_append), Vec::<String>::new());
        prop_assert!(!again.compacted);
        prop_assert_eq!(&again.repairs, &result.repairs);
        prop_assert_eq!(&again.stats, &result.stats);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_entry_of_a_log_is_in_exactly_one_state(story in story()) {
        play(&story, every_entry_is_in_one_state)?;
    }

    #[test]
    fn a_context_is_never_over_its_budget(story in story()) {
        play(&story, never_over_budget)?;
    }

    #[test]
    fn whatever_is_cut_no_rule_of_a_provider_is_broken(story in story()) {
        play(&story, no_rule_is_broken)?;
    }

    #[test]
    fn the_same_input_gives_the_same_bytes_with_any_index(story in story()) {
        play(&story, same_input_same_bytes)?;
    }

    #[test]
    fn without_a_cut_the_old_messages_are_a_prefix_of_the_new_ones(story in story()) {
        play(&story, old_messages_are_a_prefix)?;
    }

    #[test]
    fn the_prompt_the_pinned_and_the_newest_request_are_sent_verbatim(story in story()) {
        play(&story, musts_are_sent_verbatim)?;
    }

    #[test]
    fn what_was_appended_is_built_from_again_without_a_change(story in story()) {
        play(&story, appended_it_is_the_same)?;
    }
}
