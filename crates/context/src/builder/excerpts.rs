//! Files as they are now, in a build. A cut adds them in place of the old messages that showed them. Between cuts, a
//! file whose known lines are no longer sent is added once when the work turns to it. Each of these additions is an
//! entry of the log, so that the provider's cache stays valid. [`crate::files`] keeps the known lines.

use std::collections::HashSet;

use tertulia_session::{EntryKind, Fields, Message, Part, PartKind, Recall, Role};

use super::apply_cut::CutWriter;
use super::build::{Build, id_at};
use super::plan::permille_of;
use super::window::generated_message;
use super::{Item, LogIndex, recalled};
use crate::files::{ExcerptQuery, Excerpts, without_number};
use crate::recall::RecallQuery;

/// The minimum part of the history that stays at a cut if files could fill the rest, in thousandths.
const KEPT_PERMILLE: u64 = 300;

/// The part of the history that a file gets when the work turns to it, in thousandths.
const TURN_PERMILLE: u64 = 200;

/// The same limit in tokens.
const TURN_TOKENS_MAX: u64 = 3_072;

/// The part of the history that all such files get together until the next cut, in thousandths.
const TURNS_PERMILLE: u64 = 400;

/// The minimum number of tokens for a useful excerpt of a file.
const TURN_TOKENS_MIN: u64 = 200;

/// The maximum number of tokens of the message with files besides the files themselves.
const MESSAGE_TOKENS: u64 = 64;

/// The text before the files.
pub(super) const FILES_HEAD: &str = "[Files as they are now, as far as they were read or written before. No need to read these lines again. A number before → is that of the line, not part of it.]";

impl Build<'_, '_> {
    /// Returns whether this build shows files. A member of a team gets the conversation alone.
    pub(super) fn shows_files(&self) -> bool {
        self.builder.config.recall_cap() > 0 && self.input.perspective.is_none()
    }

    /// Returns the size of the history after a cut, in thousandths, so that known lines of files fill the rest.
    pub(super) fn kept_permille(&self, usual: u64) -> u64 {
        if !self.shows_files() {
            return usual;
        }
        let tokens = self.index.files.bytes() as u64 / 4;
        let room = self.trigger().saturating_sub(self.scale.of_tokens(self.sums.fixed())).max(1);
        let share = tokens.saturating_mul(1_000) / room;
        usual.saturating_sub(share).max(KEPT_PERMILLE.min(usual))
    }

    /// Removes recalled text from the window, because a cut recalls anew. Returns whether there was any.
    pub(super) fn take_recalled(&mut self) -> bool {
        let is_recall: Vec<bool> =
            self.window.items.iter().map(|item| self.is_recall(item)).collect();
        let mut stays = is_recall.iter().map(|is| !is);
        self.tokens.retain(|_| stays.next().unwrap_or(true));
        let mut stays = is_recall.iter().map(|is| !is);
        self.window.retain(|_| stays.next().unwrap_or(true));
        is_recall.contains(&true)
    }

    pub(super) fn is_recall(&self, item: &Item<'_>) -> bool {
        self.log.get(item.entry.0).is_some_and(|entry| matches!(entry.kind, EntryKind::Recall(_)))
    }

    /// Returns the newest message that somebody said.
    pub(super) fn newest_message(&self) -> Option<&Item<'_>> {
        self.window.items.iter().rev().find(|item| !self.is_recall(item))
    }
}

/// Recalls the files at a cut, or the file that the work turns to.
pub(super) fn recall(writer: &mut CutWriter<'_, '_, '_>, had_recalled: bool, was_over: bool) {
    let build = &mut *writer.build;
    if !build.shows_files() {
        return;
    }
    let found = match was_over {
        true => at_cut(build),
        false => at_turn(build),
    };
    if found.is_none() && !(was_over && had_recalled) {
        return;
    }
    let Excerpts { text, sources } = found.unwrap_or_default();
    let ids =
        sources.into_iter().map(|at| id_at(build.log, &build.new_messages, LogIndex(at)).clone());
    let recall = Recall {
        text: text.into(),
        source_ids: ids.collect(),
        replaces: was_over,
        member: None,
        unknown: Fields::NONE,
    };
    let message = recall_message(&recall);
    let id = writer.append_recall(recall);
    // Removing recalled text changes the context, even if no message was cut.
    writer.cut.is_new |= had_recalled;
    let build = &mut *writer.build;
    if let Some(message) = message {
        let tokens = build.index.generated_tokens(&message, &build.builder.counter).tokens;
        build.fresh = Some((id, message));
        build.sums.fresh = tokens;
    }
}

/// Returns the message that a model gets for an entry with recalled text.
pub(super) fn recall_message(recall: &Recall) -> Option<Message> {
    let text = format!("{FILES_HEAD}{}", recall.text);
    (!recall.text.is_empty()).then(|| generated_message(Role::User, "recall", [Part::text(text)]))
}

fn at_cut(build: &mut Build<'_, '_>) -> Option<Excerpts> {
    if is_waiting(build) {
        return None;
    }
    let fixed = build.scale.of_tokens(build.sums.fixed());
    let room =
        permille_of(build.trigger().saturating_sub(fixed), build.builder.config.target_permille);
    let tokens = (fixed + room).saturating_sub(build.total());
    excerpts(build, tokens, &|_| true)
}

fn at_turn(build: &mut Build<'_, '_>) -> Option<Excerpts> {
    let is_whole = build.cut_state.first_kept.is_none() && build.cut_state.elided.is_empty();
    let newest = build.window.items.last()?;
    // A cut has already recalled what fits. Nothing more is recalled until somebody says something.
    let is_cut = Some(newest.entry) < build.cut_state.newest.max(build.cut_state.recalled);
    if is_whole || is_cut || build.is_recall(newest) || is_waiting(build) {
        return None;
    }
    let fixed = build.scale.of_tokens(build.sums.fixed());
    let room = permille_of(build.trigger().saturating_sub(fixed), TURN_PERMILLE);
    let free = build.trigger().saturating_sub(build.total());
    let room = room.min(TURN_TOKENS_MAX).min(free);
    if room < TURN_TOKENS_MIN {
        return None;
    }
    let said = new_text(build);
    let most = permille_of(build.trigger().saturating_sub(fixed), TURNS_PERMILLE);
    let appended: u64 = build
        .window
        .items
        .iter()
        .zip(&build.tokens)
        .filter(|(item, _)| build.is_recall(item) && Some(item.entry) > build.cut_state.recalled)
        .map(|(_, tokens)| *tokens)
        .sum();
    let room = room.min(most.saturating_sub(appended));
    let is_named = |path: &str| {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        said.contains(name)
    };
    excerpts(build, room, &is_named)
}

/// Returns whether a call of the newest answer has no result yet. Nothing must be added after such a call, because
/// it would then be repaired.
fn is_waiting(build: &Build<'_, '_>) -> bool {
    let mut results = HashSet::new();
    for part in build.window.items.iter().rev().flat_map(|item| item.message.parts.iter().rev()) {
        match &part.kind {
            PartKind::ToolResult(result) => drop(results.insert(&*result.tool_call_id)),
            PartKind::ToolCall(call) => {
                if !results.contains(&*call.tool_call_id) {
                    return true;
                }
            }
            _ if !results.is_empty() => {}
            _ => return false,
        }
    }
    false
}

/// Returns the text of the messages from the last answer on. The work turns to the files that this text names.
fn new_text(build: &Build<'_, '_>) -> String {
    let mut text = String::new();
    for item in build.window.items.iter().rev() {
        for part in &item.message.parts {
            match &part.kind {
                PartKind::Text(said) | PartKind::Thinking(said) => text.push_str(said),
                PartKind::ToolCall(call) => text.push_str(call.arguments.as_str()),
                PartKind::ToolResult(result) => text.push_str(&result.text()),
                _ => {}
            }
            text.push('\n');
        }
        if item.message.effective_role() == Role::Assistant {
            break;
        }
    }
    text
}

fn recalled_texts(build: &Build<'_, '_>) -> Vec<Box<str>> {
    let items = build.window.items.iter().filter_map(|item| build.log.get(item.entry.0));
    let texts = items.filter_map(|entry| match &entry.kind {
        EntryKind::Recall(recall) => Some(recall.text.clone()),
        _ => None,
    });
    texts.collect()
}

fn excerpts(
    build: &mut Build<'_, '_>,
    max_tokens: u64,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<Excerpts> {
    build.index.follow_files(build.log);
    if !build.index.files.paths().any(is_wanted) {
        return None;
    }
    recalled::catch_up(build);
    build.update_files();
    let files = build.files.as_ref().unwrap_or(&build.index.files);
    let items = &build.window.items;
    let whole = items.iter().filter(|item| !item.message.is_generated());
    let sent: HashSet<usize> = whole.map(|item| item.entry.0).collect();
    let recent = recalled::recent(build);
    let recent: Vec<&Message> = recent.iter().map(|item| &*item.message).collect();
    let request = recalled::request_at(build);
    let query = RecallQuery { request: request.map(|item| &*item.message), recent: &recent };
    let weigher = build.index.recall.weigher(&query);
    let shown = recalled_texts(build);
    let shown = shown.iter().flat_map(|text| text.split('\n')).map(without_number);
    let shown: HashSet<&str> = shown.collect();
    files.excerpts(&ExcerptQuery {
        max_tokens: (max_tokens.saturating_mul(1_000) / build.scale.permille())
            .saturating_sub(MESSAGE_TOKENS),
        tokenizer: &build.builder.counter.tokenizer,
        is_sent: &|at| sent.contains(&at),
        shown: &shown,
        weight: &|text| weigher.weight(text),
        is_wanted,
    })
}
