//! What a member gets for its turn: the newest messages word for word, before them the minutes of what
//! lies further back and what was recalled for the request; then the message to be answered. Cost
//! follows the window, not the session.

use std::borrow::Cow;

use tertulia_context::recall::{RecallIndex, RecallQuery};
use tertulia_context::tokens::Tokenizer;
use tertulia_context::{
    AssemblerInput, ContextMessage, PromptStatus, SectionBytes, Strip, format_addressees,
    strip_markers,
};
use tertulia_session::{Entry, EntryId, Message};

use super::log::TableLog;
use super::record::is_partial;
use crate::team::TeamMember;

/// How many tokens of earlier passages are recalled, at most.
const RECALL_TOKENS: u64 = 2_000;
/// How many of the newest messages say what is to be recalled.
const RECENT_MESSAGES: usize = 8;
/// The most of a budget that recall may take, as a divisor.
const RECALL_SHARE: u64 = 8;

/// So many messages before the window go in word for word while no minutes cover them, at most.
const UNCOVERED_MAX: usize = 256;

const MINUTES_SPEAKER: &str = "minutes";
const RECALL_SPEAKER: &str = "recall";
const RECALL_HEAD: &str = "Earlier passages that may matter now, oldest first:";
const CUT_OFF: &str = "\n(the answer was cut off here)";

/// What a member gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPrompt {
    /// The prompt.
    pub text: String,
    /// The system text, where it travels apart.
    pub system: Option<String>,
    /// What became of its parts.
    pub status: PromptStatus,
    /// How large each part is.
    pub bytes: SectionBytes,
    /// How many messages are in it word for word, the one to be answered aside.
    pub kept: usize,
    /// How many of the window are not.
    pub dropped: usize,
    /// How many messages the minutes stand for; 0 without minutes.
    pub covered: usize,
    /// The entries of which passages were recalled.
    pub recalled: Vec<EntryId>,
}

impl TurnPrompt {
    /// Stands for all that the member gets.
    pub fn hash(&self) -> Box<str> {
        hash_of(self.system.as_deref(), &self.text)
    }
}

/// Stands for a system text and what goes with it.
pub(super) fn hash_of(system: Option<&str>, text: &str) -> Box<str> {
    let mut hasher = blake3::Hasher::new();
    for text in [system.unwrap_or_default(), text] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    format!("b3-{}", hex.get(..32).unwrap_or(&hex)).into()
}

/// A passage that was recalled.
struct Recalled {
    entry: EntryId,
    /// Who said it.
    speaker: Option<Box<str>>,
    text: String,
}

/// Finds what is no longer in a window. Kept from turn to turn; takes new messages in as they come.
#[derive(Default)]
pub(super) struct Recall {
    index: RecallIndex,
    /// So many messages were taken in.
    until: usize,
}

impl Recall {
    fn catch_up(&mut self, log: &TableLog, until: usize) {
        for number in self.until..until {
            if let Some((_, message)) = log.said(number) {
                self.index.add(number, message);
            }
        }
        self.until = self.until.max(until);
    }

    /// Passages of messages before `first` that the newest ones are about.
    fn passages(
        &mut self,
        log: &TableLog,
        first: usize,
        request: &Message,
        tokens: u64,
    ) -> Vec<Recalled> {
        self.catch_up(log, first);
        let count = log.said_count();
        let recent: Vec<&Message> = (count.saturating_sub(RECENT_MESSAGES)..count)
            .filter_map(|number| log.said(number).map(|(_, message)| message))
            .collect();
        let query = RecallQuery { request: Some(request), recent: &recent };
        let found = self.index.search(
            &query,
            tokens,
            &Tokenizer::Claude,
            |number| number < first,
            |number| log.said(number).map(|(_, message)| message),
        );
        let with_id = |passage: tertulia_context::recall::Passage| {
            let (entry, message) = log.said(passage.place)?;
            let speaker = message.speaker.as_deref().map(|speaker| speaker.role_id.clone());
            Some(Recalled { entry: entry.id.clone(), speaker, text: passage.text })
        };
        found.into_iter().filter_map(with_id).collect()
    }
}

/// What goes into a prompt, before it is put into a format.
pub(super) struct Pieces<'l> {
    pub(super) context: Vec<ContextMessage<'l>>,
    /// Which of them the member said itself.
    pub(super) own: Vec<bool>,
    pub(super) current: Cow<'l, str>,
    pub(super) covered: usize,
    pub(super) recalled: Vec<EntryId>,
}

/// Puts together what a member gets who is to answer this message.
pub(super) fn pieces<'l>(
    log: &'l TableLog,
    recall: &mut Recall,
    member: &TeamMember,
    answers: &EntryId,
    budget: u64,
) -> Pieces<'l> {
    let count = log.said_count();
    let answered = log.number_of(answers).or(count.checked_sub(1));
    let others = count - usize::from(answered.is_some());
    let first = first_of_window(count, member.window, answered);
    // What no minutes cover yet goes in too: nothing may fall between them and the window.
    let until = log.minutes().map_or(0, |(_, covered)| covered);
    let first = first.min(until).max(first.saturating_sub(UNCOVERED_MAX));
    let mut context = Vec::with_capacity(others.min(member.window) + 2);
    let minutes = log.minutes().filter(|(_, covered)| first > 0 && *covered > 0);
    let covered = minutes.map_or(0, |(_, covered)| covered);
    if let Some((minutes, _)) = minutes {
        context.push(from(MINUTES_SPEAKER, Cow::Borrowed(&*minutes.summary)));
    }
    let request = answered.and_then(|number| log.said(number));
    let mut recalled = Vec::new();
    if let Some((_, request)) = request.filter(|_| first > 0) {
        let tokens = RECALL_TOKENS.min(budget / 4 / RECALL_SHARE);
        let passages = recall.passages(log, first, request, tokens);
        if !passages.is_empty() {
            context.push(from(RECALL_SPEAKER, Cow::Owned(recall_text(&passages))));
        }
        recalled = passages.into_iter().map(|passage| passage.entry).collect();
    }
    let mut own = vec![false; context.len()];
    for number in (first..count).filter(|number| Some(*number) != answered) {
        if let Some((entry, message)) = log.said(number) {
            context.push(line(entry, message));
            let speaker = message.speaker.as_deref();
            own.push(speaker.is_some_and(|speaker| speaker.role_id == member.member.name));
        }
    }
    let current = request.map_or(Cow::Borrowed(""), |(entry, message)| content(entry, message));
    Pieces { context, own, current, covered, recalled }
}

/// The number of the first message that goes in word for word: the newest ones, as many as the window
/// has, besides the one that is answered.
fn first_of_window(count: usize, window: usize, answered: Option<usize>) -> usize {
    let first = count.saturating_sub(window);
    match answered {
        Some(answered) if answered >= first => first.saturating_sub(1),
        _ => first,
    }
}

/// Assembles the prompt in the member's format.
pub(super) fn assemble(
    pieces: Pieces<'_>,
    team_task: Option<&str>,
    member: &TeamMember,
    budget: u64,
) -> TurnPrompt {
    let Pieces { context, current, covered, recalled, .. } = pieces;
    // Minutes and recall come first and are no messages; of what does not fit the oldest goes first.
    let extras = usize::from(covered > 0) + usize::from(!recalled.is_empty());
    let messages = context.len().saturating_sub(extras);
    let input = AssemblerInput {
        context_messages: context,
        current_message: current,
        team_task: team_task.map(Cow::Borrowed),
        system_instruction: member.instruction.as_deref().map(Cow::Borrowed),
        // A team file's instruction holds the text of its file already.
        instruction_file_text: None,
        max_bytes: budget,
    };
    let output = member.assembler().assemble(&input);
    TurnPrompt {
        text: output.prompt,
        system: output.system_flag,
        status: output.status,
        bytes: output.bytes,
        kept: output.kept_context.min(messages),
        dropped: messages.saturating_sub(output.kept_context),
        covered,
        recalled,
    }
}

fn from<'l>(speaker: &'static str, content: Cow<'l, str>) -> ContextMessage<'l> {
    ContextMessage { from: Cow::Borrowed(speaker), to: None, content }
}

fn line<'l>(entry: &Entry, message: &'l Message) -> ContextMessage<'l> {
    let from = message.speaker.as_deref().map_or_else(
        || Cow::Borrowed(message.effective_role().as_str()),
        |speaker| Cow::Borrowed(&*speaker.role_name),
    );
    let routing = message.routing.as_ref();
    let to = routing.and_then(|routing| routing.resolved_addressees.as_deref());
    ContextMessage { from, to: Some(format_addressees(to)), content: content(entry, message) }
}

fn content<'l>(entry: &Entry, message: &'l Message) -> Cow<'l, str> {
    let text = match message.text() {
        Cow::Borrowed(text) => strip_markers(text, Strip::Preserve).text,
        Cow::Owned(text) => Cow::Owned(strip_markers(&text, Strip::Preserve).text.into_owned()),
    };
    if is_partial(entry) { Cow::Owned(text.into_owned() + CUT_OFF) } else { text }
}

fn recall_text(passages: &[Recalled]) -> String {
    let mut text = String::from(RECALL_HEAD);
    for Recalled { entry, speaker, text: passage } in passages {
        let speaker = speaker.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
        let passage = strip_markers(passage, Strip::Preserve).text;
        text.push_str(&format!("\n({entry}) {speaker}{passage}"));
    }
    text
}
