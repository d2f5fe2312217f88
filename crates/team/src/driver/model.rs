//! Builds the request of a member that takes model messages. Its fields show the member's view of the log within its
//! token budget. Also records how the fields are made from the log.

use std::borrow::Cow;

use tertulia_context::branch::Branch;
use tertulia_context::builder::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextConfig, ContextError,
    ContextIndex, ModelMessage, Source,
};
use tertulia_context::view::{Perspective, Piece, Pieces, RECALL_HEAD, RECALL_LINE, ViewItem};
use tertulia_context::{
    INDENT, LabelPiece, LineStart, Outcome, Verdict, indented, indents, truncate_to_bytes,
};
use tertulia_dialect::{Dialect, ModelContext};
use tertulia_session::json::Json;
use tertulia_session::{EntryId, EntryKind, Message, Part, PartKind, Role};

use super::asked::About;
use super::prompt::Member;
use super::recipe::{Recipe, Said, Step, Steps, escaped, steps_of, written};

/// Maximum number of bytes of the answered message that are repeated at the end if newer messages follow it.
const REPEATED_BYTES: usize = 2_000;
/// Lower bound for the bytes per token in most texts.
const TOKEN_BYTES: u64 = 3;
/// The text between two items at the end of a request.
const BETWEEN: &str = "\n\n";
const REPEATED_CUT: &str = " […] (the whole message is above)";

pub(super) struct Body {
    /// The request fields that hold the messages, as a JSON object.
    pub(super) json: String,
    pub(super) recipe: Option<Recipe>,
    /// Number of messages of the log in the request. The answered message does not count.
    pub(super) kept: usize,
    pub(super) covered: usize,
    pub(super) recalled: Vec<EntryId>,
    /// The outcome for each message in it, oldest first.
    pub(super) verdicts: Vec<Verdict>,
    /// Entries that record how the context of the member was cut for this request.
    pub(super) cuts: Vec<EntryKind>,
}

/// Builds the request of a member that answers this message.
pub(super) fn body(
    branch: Branch<'_>,
    index: &mut ContextIndex,
    of: &Member<'_>,
    about: &About<'_>,
    after_overflow: bool,
) -> Result<Body, ContextError> {
    let answers = about.answers;
    let perspective = &of.perspective();
    let (system, system_steps) = system_text(branch, of);
    let closing = match about.consult {
        Some(consult) => {
            let bytes = of.member.budget_tokens.saturating_mul(TOKEN_BYTES);
            consult.closing(branch, perspective, bytes)
        }
        None => closing(branch, perspective, answers).into_iter().collect(),
    };
    let texts: Vec<String> = closing.iter().map(ViewItem::to_text).collect();
    let closing_message = (!texts.is_empty()).then(|| text_message(texts.join(BETWEEN)));
    let budget = of.member.budget_tokens.max(1);
    let builder = ContextBuilder::new(ContextConfig::new(budget))?;
    // Init data of an imported session does not apply to this member.
    let no_data = Json::parse("{}").ok();
    let built = builder.build_with(
        index,
        &ContextBuildInput {
            system_prompt: Some(&system),
            session_entries: branch.entries(),
            runtime_init_data: no_data.as_ref(),
            overflow_hint: after_overflow,
            perspective: Some(perspective),
            answers: Some(answers),
            closing: closing_message.as_ref(),
            ..ContextBuildInput::default()
        },
    )?;
    let context = ModelContext::new(built.model_messages.iter().map(|one| &*one.message));
    let json = Dialect::OpenAiChat.render(&context).fragment.to_json();
    let sources = Sources { branch, perspective, built: &built, system: system_steps, closing };
    // The recipe cannot refer to a cut that is not in the log yet.
    let recipe = (!built.compacted).then(|| sources.recipe(&json)).flatten();
    let sent = built.model_messages.iter().filter_map(|one| match &one.source {
        Source::Entry(entry) => {
            Some(Verdict { entry: entry.clone(), outcome: Outcome::Kept, recalled: false })
        }
        _ => None,
    });
    let verdicts: Vec<Verdict> = sent.collect();
    let mut recalled: Vec<EntryId> = built.recalled.iter().map(|one| one.entry.clone()).collect();
    recalled.dedup();
    Ok(Body {
        recipe,
        kept: verdicts.iter().filter(|one| one.entry != *answers).count(),
        covered: usize::try_from(built.stats.summarized_messages_count).unwrap_or(usize::MAX),
        recalled,
        verdicts,
        cuts: built.entries_to_append.into_iter().map(|entry| entry.kind).collect(),
        json,
    })
}

fn text_message(text: String) -> Message {
    Message::with_role(Role::User, std::iter::once(Part::text(text)).collect())
}

/// Repeats the answered message after newer ones. The text before it stays unchanged, so the provider's cache remains
/// valid.
fn closing<'l>(
    branch: Branch<'l>,
    perspective: &Perspective<'_>,
    answers: &EntryId,
) -> Option<ViewItem<'l>> {
    let number = branch.number_of(answers)?;
    if number + 1 == branch.text_message_count() {
        return None;
    }
    let (index, entry, message) = branch.text_message(number)?;
    let mut item = perspective.item(index, entry, message);
    shorten(&mut item, REPEATED_BYTES, REPEATED_CUT);
    Some(item)
}

/// Cuts the content of an item if it has more than this many bytes. `cut` tells the model so.
pub(super) fn shorten(item: &mut ViewItem<'_>, bytes_max: usize, cut: &str) {
    if item.line.content.len() > bytes_max {
        let kept = truncate_to_bytes(&item.line.content, bytes_max);
        let pieces = item.pieces.take().map(|pieces| beginning(pieces, kept.len(), cut));
        item.line.content = Cow::Owned(format!("{kept}{cut}"));
        item.pieces = pieces;
    }
}

/// Returns the pieces of the first bytes of a message, and a text that tells the model that the message is cut.
fn beginning(pieces: Pieces, mut bytes: usize, cut: &str) -> Pieces {
    let mut kept = Pieces::new();
    for (piece, length) in pieces {
        let length = length.min(bytes);
        bytes -= length;
        let piece = match piece {
            Piece::Words(words) => Piece::Words(words.get(..length).unwrap_or_default().into()),
            Piece::Said { index, range } => {
                Piece::Said { index, range: range.start..range.start + length }
            }
        };
        kept.extend((length > 0).then_some((piece, length)));
    }
    kept.push((Piece::Words(cut.into()), cut.len()));
    kept
}

/// Returns the system text: the texts of the team file and the program, then the task.
fn system_text(branch: Branch<'_>, of: &Member<'_>) -> (String, Steps) {
    let text = of.team.system_text(of.member).filter(|text| !text.trim().is_empty());
    let mut text = text.unwrap_or_default();
    let words = |text: &str| (Step::Words(text.into()), text.len());
    let Some((index, task)) = branch.team_task().filter(|(_, task)| !task.trim().is_empty()) else {
        let steps = vec![words(&text)];
        return (text, steps);
    };
    text.push_str(if text.is_empty() { "" } else { "\n\n" });
    text.push_str("[TEAM_TASK]\n");
    let is_indented = indents(task, LineStart::Margin).next() == Some(0);
    text.push_str(if is_indented { INDENT } else { "" });
    let before = words(&text);
    text.push_str(&indented(task, LineStart::Label));
    (text, vec![before, (Step::said(index, 0..task.len()), task.len())])
}

struct Sources<'r, 'l> {
    branch: Branch<'l>,
    perspective: &'r Perspective<'r>,
    built: &'r ContextBuildResult<'r>,
    system: Steps,
    closing: Vec<ViewItem<'l>>,
}

impl Sources<'_, '_> {
    /// Returns how the JSON is made from the log. `None` if a message contains text that is not in the log.
    fn recipe(&self, json: &str) -> Option<Recipe> {
        let mut recipe = Recipe::default();
        let mut from = 0;
        for one in &self.built.model_messages {
            let is_text = |part: &Part| matches!(part.kind, PartKind::Text(_));
            if !one.message.parts.iter().all(is_text) {
                return None;
            }
            let text = one.message.text();
            let written = escaped(&text);
            let at = from + json.get(from..)?.find(&written)?;
            recipe.words(json.get(from..at)?);
            let steps = self.steps(one)?;
            steps.iter().for_each(|(step, _)| push_escaped(&mut recipe, step));
            from = at + written.len();
        }
        recipe.words(json.get(from..)?);
        Some(recipe)
    }

    fn steps(&self, one: &ModelMessage<'_>) -> Option<Steps> {
        match &one.source {
            Source::System => Some(self.system.clone()),
            Source::Summary(id) => {
                let index = self.branch.index_of(id)?;
                let EntryKind::CompactionSummary(summary) = &self.branch.entries().get(index)?.kind
                else {
                    return None;
                };
                let count = usize::try_from(self.built.stats.summarized_messages_count).ok()?;
                labelled(&ViewItem::summary(index, &summary.summary, count, summary.older()))
            }
            Source::Entry(id) => {
                let (index, entry, message) =
                    self.branch.text_message(self.branch.number_of(id)?)?;
                let item = self.perspective.item(index, entry, message);
                if !self.perspective.is_own(message) {
                    return labelled(&item);
                }
                let body = tertulia_context::Body { text: &item.line.content, indent: None };
                Some(written(&steps_of(item.pieces.as_ref()?), body))
            }
            Source::Recall => {
                let mut steps = vec![(Step::Words(RECALL_HEAD.into()), RECALL_HEAD.len())];
                for passage in &self.built.recalled {
                    let number = self.branch.number_of(&passage.entry)?;
                    let (index, entry, _) = self.branch.text_message(number)?;
                    steps.push((Step::Words(RECALL_LINE.into()), RECALL_LINE.len()));
                    let item = self.perspective.passage(index, entry, &passage.text)?;
                    steps.extend(labelled(&item)?);
                }
                Some(steps)
            }
            Source::Closing => {
                let mut steps = Vec::new();
                for (number, item) in self.closing.iter().enumerate() {
                    let between = if number == 0 { "" } else { BETWEEN };
                    steps.push((Step::Words(between.into()), between.len()));
                    steps.extend(labelled(item)?);
                }
                Some(steps)
            }
            Source::RuntimeHints => None,
        }
    }
}

/// Returns the steps of an item as a separate text: its label, then its content.
fn labelled(item: &ViewItem<'_>) -> Option<Steps> {
    let words = |text: &str| (Step::Words(text.into()), text.len());
    let mut steps = Vec::new();
    let mut label = String::new();
    item.line.for_each_label_piece(|piece| match piece {
        LabelPiece::Text(text) => label.push_str(text),
        LabelPiece::Id(id) => {
            steps.push(words(&std::mem::take(&mut label)));
            steps.push((Step::Id(item.index), id.len()));
        }
    });
    steps.push(words(&label));
    steps.extend(written(&steps_of(item.pieces.as_ref()?), item.body()));
    Some(steps)
}

fn push_escaped(recipe: &mut Recipe, step: &Step) {
    match step {
        Step::Words(words) => recipe.words(&escaped(words)),
        Step::Said(said) => recipe.0.push(Step::Said(Said { is_escaped: true, ..said.clone() })),
        other => recipe.0.push(other.clone()),
    }
}

#[cfg(test)]
mod tests;
