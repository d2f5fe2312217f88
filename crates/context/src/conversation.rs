//! The messages of one conversation in memory, found by position, id, speaker and time. Only
//! [`ContextManager`](crate::ContextManager) uses it.
//!
//! A message keeps its sequence number when older ones are archived, and the indexes contain these numbers. An index
//! entry needs about 24 bytes. Ids that the conversation assigned itself need no index, because they count up by
//! one.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use tertulia_session::{ConversationMessage, Message, MessageId, PartKind, Speaker};

/// A sequence number: 0 for the first message ever.
type Seq = u64;

#[derive(Default)]
pub(crate) struct Conversation {
    messages: VecDeque<Arc<ConversationMessage>>,
    /// The sequence number of the oldest message that is still in the conversation.
    first: Seq,
    next_number: u64,
    /// The sequence number from which on the ids are `msg-N` and count up by one.
    counted_from: Seq,
    /// The sequence numbers of all other ids. For a repeated id, it is that of the first message.
    named: HashMap<MessageId, Seq>,
    /// Messages that repeat the id of an earlier one, oldest first.
    repeated: HashMap<MessageId, VecDeque<Seq>>,
    speakers: HashMap<Box<str>, SpeakerMessages>,
    times: Times,
}

struct SpeakerMessages {
    /// The most recent speaker with this id. Later messages with an equal speaker share it.
    speaker: Arc<Speaker>,
    seqs: VecDeque<Seq>,
}

/// Messages by time. Nearly all come in order of time; the others are kept separately.
#[derive(Default)]
struct Times {
    in_order: VecDeque<(i64, Seq)>,
    late: BTreeSet<(i64, Seq)>,
}

impl Conversation {
    pub(crate) fn new() -> Self {
        Self { next_number: 1, ..Self::default() }
    }

    pub(crate) fn from_messages(messages: Vec<Arc<ConversationMessage>>) -> Self {
        let last_number = messages.iter().filter_map(|message| message.id.number()).max();
        let next_number = last_number.unwrap_or(0) + 1;
        let mut conversation = Self { next_number, ..Self::default() };
        conversation.counted_from = counted_suffix(&messages, next_number);
        for message in messages {
            let seq = conversation.end();
            let is_named = seq < conversation.counted_from;
            if is_named && conversation.named.contains_key(&message.id) {
                conversation.repeated.entry(message.id.clone()).or_default().push_back(seq);
            } else if is_named {
                conversation.named.insert(message.id.clone(), seq);
            }
            conversation.push(message);
        }
        conversation
    }

    /// Adds a message under the next id; `None` if no number is left for it.
    pub(crate) fn add(&mut self, mut message: Message) -> Option<&Arc<ConversationMessage>> {
        let number = self.next_number;
        // The largest number is never assigned, because [`MessageId::number`] does not return it.
        self.next_number = number.checked_add(1)?;
        let id = MessageId::Numbered(number);
        // A conversation is long, so unused capacity of the caller's text is released.
        for part in &mut message.parts {
            if let PartKind::Text(text) = &mut part.kind {
                text.shrink_to_fit();
            }
        }
        Some(self.push(Arc::new(ConversationMessage { id, message })))
    }

    fn push(&mut self, mut message: Arc<ConversationMessage>) -> &Arc<ConversationMessage> {
        let seq = self.end();
        if let Some(speaker) = message.message.speaker.clone() {
            let shared = self.index_speaker(speaker, seq);
            // If other code shares the message, it keeps its own copy of the speaker.
            if let Some(own) = Arc::get_mut(&mut message) {
                own.message.speaker = Some(shared);
            }
        }
        if let Some(timestamp) = &message.message.timestamp {
            self.times.add(timestamp.millis(), seq);
        }
        self.messages.push_back(message);
        // An index avoids a conflict of borrows. The message was just pushed, so it exists.
        &self.messages[self.messages.len() - 1]
    }

    /// Removes and returns the oldest message.
    pub(crate) fn remove_oldest(&mut self) -> Option<Arc<ConversationMessage>> {
        let oldest = self.messages.pop_front()?;
        let seq = self.first;
        self.first += 1;
        if let Some(speaker) = oldest.message.speaker.as_deref()
            && let Some(messages) = self.speakers.get_mut(&speaker.role_id)
        {
            messages.seqs.pop_front();
            if messages.seqs.is_empty() {
                self.speakers.remove(&speaker.role_id);
            }
        }
        if let Some(timestamp) = &oldest.message.timestamp {
            self.times.remove(timestamp.millis(), seq);
        }
        if self.named.get(&oldest.id) == Some(&seq) {
            self.named.remove(&oldest.id);
            if let Some(seq) = self.repeated.get_mut(&oldest.id).and_then(VecDeque::pop_front) {
                self.named.insert(oldest.id.clone(), seq);
            }
        }
        Some(oldest)
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn archived(&self) -> u64 {
        self.first
    }

    pub(crate) fn latest(&self) -> Option<&Arc<ConversationMessage>> {
        self.messages.back()
    }

    pub(crate) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<ConversationMessage>> + ExactSizeIterator {
        self.messages.iter()
    }

    /// Returns the message at this index; the oldest one is at 0.
    pub(crate) fn get(&self, position: usize) -> Option<&Arc<ConversationMessage>> {
        self.messages.get(position)
    }

    pub(crate) fn by_id(&self, id: &MessageId) -> Option<&Arc<ConversationMessage>> {
        self.at(self.named.get(id).copied().or_else(|| self.counted_seq(id))?)
    }

    pub(crate) fn by_speaker(
        &self,
        role_id: &str,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        let seqs = self.speakers.get(role_id).into_iter().flat_map(|messages| messages.seqs.iter());
        seqs.filter_map(|seq| self.at(*seq))
    }

    pub(crate) fn by_time(
        &self,
        millis: RangeInclusive<i64>,
    ) -> impl Iterator<Item = &Arc<ConversationMessage>> {
        self.times.between(millis).into_iter().filter_map(|seq| self.at(seq))
    }

    fn at(&self, seq: Seq) -> Option<&Arc<ConversationMessage>> {
        self.messages.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    fn end(&self) -> Seq {
        self.first + self.messages.len() as u64
    }

    /// Returns the sequence number that a counted id must have: the difference of its number from the next number
    /// gives its distance from the end.
    fn counted_seq(&self, id: &MessageId) -> Option<Seq> {
        let MessageId::Numbered(number) = id else { return None };
        let back = self.next_number.checked_sub(*number).filter(|back| *back > 0)?;
        self.end().checked_sub(back).filter(|seq| *seq >= self.counted_from)
    }

    fn index_speaker(&mut self, speaker: Arc<Speaker>, seq: Seq) -> Arc<Speaker> {
        let Some(messages) = self.speakers.get_mut(&speaker.role_id) else {
            let messages =
                SpeakerMessages { speaker: Arc::clone(&speaker), seqs: VecDeque::from([seq]) };
            self.speakers.insert(speaker.role_id.clone(), messages);
            return speaker;
        };
        messages.seqs.push_back(seq);
        if messages.speaker != speaker {
            messages.speaker = speaker;
        }
        Arc::clone(&messages.speaker)
    }
}

impl Times {
    fn add(&mut self, millis: i64, seq: Seq) {
        match self.in_order.back() {
            Some((last, _)) if *last > millis => {
                self.late.insert((millis, seq));
            }
            _ => self.in_order.push_back((millis, seq)),
        }
    }

    fn remove(&mut self, millis: i64, seq: Seq) {
        // If the oldest message is in this list, it is the first one.
        if self.in_order.front() == Some(&(millis, seq)) {
            self.in_order.pop_front();
        } else {
            self.late.remove(&(millis, seq));
        }
    }

    /// Returns the sequence numbers in this range of time, in the order of the conversation.
    fn between(&self, millis: RangeInclusive<i64>) -> Vec<Seq> {
        if millis.is_empty() {
            return Vec::new();
        }
        let start = self.in_order.partition_point(|(at, _)| at < millis.start());
        let end = self.in_order.partition_point(|(at, _)| at <= millis.end());
        let late = self.late.range((*millis.start(), 0)..=(*millis.end(), Seq::MAX));
        let mut seqs: Vec<Seq> =
            self.in_order.range(start..end).chain(late).map(|(_, seq)| *seq).collect();
        seqs.sort_unstable();
        seqs
    }
}

/// Returns the sequence number from which on the ids count up by one to the next number.
fn counted_suffix(messages: &[Arc<ConversationMessage>], next_number: u64) -> Seq {
    let from_behind = messages.iter().rev().zip(1..);
    let counted = from_behind
        .take_while(|(message, back)| {
            next_number.checked_sub(*back).map(MessageId::Numbered).as_ref() == Some(&message.id)
        })
        .count();
    (messages.len() - counted) as u64
}
