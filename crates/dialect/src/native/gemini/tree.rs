//! The conversation of a Gemini session as a tree of messages. The records of the log change a list of messages, and
//! every change becomes a step in the tree. When a record replaces the list, known messages at its start are found in
//! the tree again, so no message is added twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tertulia_session::{EntryId, EntryKind, Fields, ModelChange, NativeRecord, Role};

use super::super::NativeFormat;
use super::super::item::{Item, Parent, native_summary};
use super::super::reader::hash;
use super::message::{GeminiMessage, result_kind};

/// The model's answer to the agent's summary.
const SUMMARY_ANSWER: &str = "Got it. Thanks for the additional context!";

const ROOT: u32 = 0;

/// The conversation so far. Its memory grows by about 150 bytes for every message.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The node of a message after another node. The key is that node and the hash of the message.
    children: HashMap<(u32, u64), u32>,
    /// The data of a message by the hash of its id.
    marks: HashMap<u64, Mark>,
    /// Hashes of the ids of the calls that have a result.
    answered: HashSet<u64>,
    /// The parent of the next message.
    tip: u32,
    /// The node of the last entry of the current branch.
    leaf: u32,
    /// Whether it is the conversation of a sub-agent.
    pub is_side: bool,
    model: Option<Box<str>>,
}

/// A message of the model or the user.
#[derive(Debug)]
struct Node {
    parent: u32,
    print: u64,
    /// Its own entry.
    first: EntryId,
    /// The entry that the entries after this node name as their parent.
    tail: Arc<str>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// The node before the message.
    before: u32,
    /// The node of the message. If the message has no content, the node before it.
    node: u32,
    exact: u64,
    /// Number of records with this id.
    versions: u32,
    has_usage: bool,
}

impl Tree {
    pub(super) fn new(is_side: bool) -> Self {
        let root = Node { parent: ROOT, print: 0, first: EntryId::from(""), tail: Arc::from("") };
        Self {
            nodes: vec![root],
            children: HashMap::new(),
            marks: HashMap::new(),
            answered: HashSet::new(),
            tip: ROOT,
            leaf: ROOT,
            is_side,
            model: None,
        }
    }

    /// Adds the message of one record. `id` is the id of its entry without the number of the version.
    pub(super) fn add_message(&mut self, id: &str, mut message: GeminiMessage) -> Item {
        let key = hash(id);
        let known = self.marks.get(&key).copied();
        let is_again = known.is_some();
        let mut mark = known.unwrap_or_default();
        mark.versions += 1;
        let id = versioned(id, mark.versions);
        let is_same = is_again && mark.exact == message.exact;
        let kinds = if is_same { Vec::new() } else { self.kinds(&mut message) };
        if kinds.is_empty() {
            if !is_again {
                (mark.before, mark.node) = (self.tip, self.tip);
            }
            mark.exact = message.exact;
            let mut item = non_message(&message.kind);
            item.more.extend(is_same.then(|| usage(&mut message, &mut mark)).flatten());
            (item.id, item.timestamp) = (Some(id), message.timestamp);
            self.marks.insert(key, mark);
            return item;
        }
        let is_current = !is_again || self.tip == mark.node || self.tip == mark.before;
        let before = if is_again { mark.before } else { self.tip };
        let mut kinds = kinds.into_iter();
        let mut item = Item::new(kinds.next().unwrap_or_else(|| record(&message.kind)));
        item.parent = self.follow(before);
        item.more = kinds.collect();
        let place = Place { record: &id, first: 0, last: None, is_current };
        let node = self.place(before, &message, place);
        item.more.extend(usage(&mut message, &mut mark));
        item.is_side = self.is_side || !is_current;
        if is_current {
            (self.tip, self.leaf) = (node, node);
        }
        (mark.before, mark.node, mark.exact) = (before, node, message.exact);
        self.marks.insert(key, mark);
        (item.id, item.timestamp) = (Some(id), message.timestamp);
        item
    }

    /// Replaces the list of messages. `id` is the id of the entry.
    pub(super) fn replace(&mut self, id: &str, list: Vec<GeminiMessage>) -> Item {
        let (mut at, mut known) = (ROOT, 0);
        let mut marks = Vec::with_capacity(list.len());
        for (index, message) in list.iter().enumerate() {
            let before = at;
            if message.is_said {
                let Some(next) = self.children.get(&(at, message.print)) else { break };
                (at, known) = (*next, index + 1);
            }
            marks.push((message.id.as_deref().map(hash), before, at));
        }
        marks.truncate(known);
        for (key, before, node) in marks {
            if let Some(key) = key {
                let mark = self.marks.entry(key).or_default();
                (mark.before, mark.node) = (before, node);
            }
        }
        let mut rest: Vec<GeminiMessage> = list.into_iter().skip(known).collect();
        if at == ROOT && is_summary(&rest) {
            return self.compact(id, rest);
        }
        let kinds = self.add(id, at, &mut rest);
        let is_empty = at == ROOT && self.tip == ROOT && kinds.is_empty();
        if kinds.is_empty() && (self.tip == self.leaf || is_empty) {
            return non_message("$set");
        }
        let mut item = Item::new(record("$set"));
        (item.parent, item.more) = (self.follow(at), kinds);
        item.is_side = self.is_side;
        self.leaf = self.tip;
        item
    }

    /// Rewinds to the state before the message with this id, or to the beginning if the id is unknown.
    pub(super) fn rewind(&mut self, id: &str) -> Item {
        self.tip = self.marks.get(&hash(id)).map_or(ROOT, |mark| mark.before);
        let mut item = Item::new(record("$rewindTo"));
        item.parent = self.follow(self.tip);
        item.is_side = self.is_side;
        self.leaf = self.tip;
        item
    }

    /// Replaces everything before the kept messages of the list by a summary.
    fn compact(&mut self, id: &str, list: Vec<GeminiMessage>) -> Item {
        let parent = self.follow(self.leaf);
        let mut list = list.into_iter().filter(|message| message.is_said);
        let (Some(summary), Some(answer)) = (list.next(), list.next()) else {
            return non_message("$set");
        };
        let mut kept: Vec<GeminiMessage> = list.collect();
        // The kept messages are usually the last ones of the conversation.
        let mut at = self.leaf;
        let mut first_kept = EntryId::from(id);
        let mut is_known = true;
        for message in kept.iter().rev() {
            let Some(node) = self.nodes.get(at as usize).filter(|_| at != ROOT) else {
                is_known = false;
                break;
            };
            is_known &= node.print == message.print;
            first_kept = node.first.clone();
            at = node.parent;
        }
        let text = summary.message.as_ref().map(|message| message.text().into_owned());
        let mut before = ROOT;
        let place = Place { record: id, first: 0, last: None, is_current: true };
        before = self.place(before, &summary, place);
        before = self.place(before, &answer, place);
        let mut more = Vec::new();
        if is_known {
            for message in &kept {
                before = self.place(before, message, place);
            }
            (self.tip, self.leaf) = (before, before);
        } else {
            first_kept = EntryId::from(id);
            more = self.add(id, before, &mut kept);
            self.leaf = self.tip;
        }
        let summary = native_summary(NativeFormat::Gemini, text.unwrap_or_default(), first_kept);
        let mut item = Item::new(EntryKind::CompactionSummary(Box::new(summary)));
        (item.parent, item.more) = (parent, more);
        item.is_side = self.is_side;
        item
    }

    /// Adds messages of a list after a node. Returns their entries, which become further entries of the record `id`.
    fn add(&mut self, id: &str, after: u32, list: &mut [GeminiMessage]) -> Vec<EntryKind> {
        let (mut kinds, mut count) = (Vec::new(), 0);
        self.tip = after;
        for message in list {
            let before = self.tip;
            let new = self.kinds(message);
            let first = count + 1;
            count += u32::try_from(new.len()).unwrap_or(u32::MAX);
            if !new.is_empty() {
                let place = Place { record: id, first, last: Some(count), is_current: true };
                self.tip = self.place(before, message, place);
            }
            kinds.extend(new);
            if let Some(id) = message.id.as_deref() {
                let mark = self.marks.entry(hash(id)).or_default();
                (mark.before, mark.node) = (before, self.tip);
                if let Some(usage) = usage(message, mark) {
                    count += 1;
                    kinds.push(usage);
                }
            }
        }
        kinds
    }

    /// Returns the entries of a message: the message itself, and those of its results that are new.
    fn kinds(&mut self, message: &mut GeminiMessage) -> Vec<EntryKind> {
        for call in &message.calls {
            self.answered.remove(call);
        }
        let results = std::mem::take(&mut message.results).into_iter();
        let results = results.filter(|(call, _)| self.answered.insert(*call));
        let results = results.map(|(_, result)| result_kind(result));
        let body = message.message.take();
        let is_user = body.as_ref().is_some_and(|body| body.role == Some(Role::User));
        let body = body.map(EntryKind::Message);
        let mut kinds: Vec<EntryKind> = match is_user {
            true => results.chain(body).collect(),
            false => body.into_iter().chain(results).collect(),
        };
        if let Some(model) = message.model.as_ref().filter(|_| !kinds.is_empty() && !is_user) {
            let before = self.model.replace(model.clone());
            if before.is_some_and(|before| before != *model) {
                let change = ModelChange { model: model.clone(), unknown: Fields::NONE };
                kinds.push(EntryKind::ModelChange(change));
            }
        }
        kinds
    }

    /// Adds the node of a message. If the message has only results, moves the end of the previous node instead.
    /// Returns the parent of the next node.
    fn place(&mut self, before: u32, message: &GeminiMessage, place: Place<'_>) -> u32 {
        let tail: Arc<str> = match place.last {
            None => place.record.into(),
            Some(last) => format!("{}#{last}", place.record).into(),
        };
        if !message.is_said && before != ROOT {
            if let Some(node) = self.nodes.get_mut(before as usize) {
                node.tail = tail;
            }
            return before;
        }
        let first = match place.first {
            0 => EntryId::from(place.record),
            first => EntryId::from(format!("{}#{first}", place.record)),
        };
        let node = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node { parent: before, print: message.print, first, tail });
        let child = self.children.entry((before, message.print)).or_insert(node);
        if place.is_current {
            *child = node;
        }
        node
    }

    /// Returns the parent for an entry after this node.
    fn follow(&self, node: u32) -> Parent {
        match self.nodes.get(node as usize) {
            Some(node) if !node.tail.is_empty() => Parent::Id((*node.tail).into()),
            _ => Parent::Root,
        }
    }
}

/// The position of the entries of a message among the entries of a record.
#[derive(Clone, Copy)]
struct Place<'a> {
    record: &'a str,
    /// The number of the first entry; 0 is the first entry of the record.
    first: u32,
    /// The number of the last entry. `None` for the last one of the record.
    last: Option<u32>,
    /// Whether it belongs to the current branch.
    is_current: bool,
}

/// Returns the usage, once for every message.
fn usage(message: &mut GeminiMessage, mark: &mut Mark) -> Option<EntryKind> {
    let mut usage = message.usage.take().filter(|_| !mark.has_usage)?;
    mark.has_usage = true;
    usage.model = message.model.take();
    Some(EntryKind::Usage(usage))
}

/// Returns whether a list begins with a summary and the model's answer to it.
fn is_summary(list: &[GeminiMessage]) -> bool {
    let mut messages = list.iter().filter_map(|message| message.message.as_ref());
    let (Some(summary), Some(answer)) = (messages.next(), messages.next()) else { return false };
    summary.role == Some(Role::User)
        && answer.role == Some(Role::Assistant)
        && answer.text().trim() == SUMMARY_ANSWER
}

fn versioned(id: &str, version: u32) -> Box<str> {
    match version {
        1 => id.into(),
        version => format!("{id}~{version}").into(),
    }
}

/// Returns an entry of the conversation for a record that is no message.
fn record(kind: &str) -> EntryKind {
    EntryKind::NativeRecord(NativeRecord {
        agent: NativeFormat::Gemini.as_str().into(),
        record_type: (!kind.is_empty()).then(|| kind.to_owned().into()),
        unknown: Fields::NONE,
    })
}

/// Returns an item for a record outside the conversation.
pub(super) fn non_message(kind: &str) -> Item {
    Item::non_message(NativeFormat::Gemini, (!kind.is_empty()).then_some(kind))
}
