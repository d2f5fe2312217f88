//! The receipt of a handover or an import: the status of every item of the source, with its size and a reason. It
//! contains no text of the session.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use tertulia_session::json::{
    self, FieldError, Json, Object, RawValue, SyntaxError, elements, text,
};

tertulia_session::word_enum! {
    /// The kind of an item.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum ItemKind: "the kind of an item" {
        UserText = "user text",
        AnswerText = "answer",
        SystemText = "system text",
        Thinking = "thinking",
        ToolCall = "tool call",
        ToolResult = "tool result",
        Picture = "picture",
        File = "file",
        OtherPart = "other part",
        Summary = "summary",
        Recalled = "recalled text",
        Usage = "usage",
        Setting = "setting",
        TurnRecord = "turn record",
        NativeRecord = "agent's record",
        OtherEntry = "other entry",
    }
}

/// The statuses of all items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    pub items: Vec<Item>,
}

/// One item of the source: a part of a message, or another entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The number of its entry in the log, starting at 1.
    pub entry: u64,
    pub kind: ItemKind,
    pub bytes: u64,
    pub status: ItemStatus,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemStatus {
    Kept,
    /// The item is complete, in another form.
    Reshaped {
        reason: Box<str>,
    },
    /// A part of the item is missing.
    Shortened {
        kept_bytes: u64,
        reason: Box<str>,
    },
    LeftOut {
        reason: Box<str>,
    },
}

/// A number of items and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub items: u64,
    pub bytes: u64,
}

/// The reason why a stored receipt cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    #[error("the receipt is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    #[error("the receipt cannot be read: {0}")]
    Field(#[from] FieldError),
    #[error("item {number} of the receipt cannot be read; a newer version may have written it")]
    Item { number: usize },
}

impl ItemStatus {
    /// The words for the statuses, from the best to the worst.
    pub const WORDS: [&'static str; 4] = ["kept", "reshaped", "shortened", "left out"];

    /// Returns the index of the status in [`Self::WORDS`].
    pub fn index(&self) -> usize {
        match self {
            Self::Kept => 0,
            Self::Reshaped { .. } => 1,
            Self::Shortened { .. } => 2,
            Self::LeftOut { .. } => 3,
        }
    }

    /// Returns the reason why the item changed, if it did.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Kept => None,
            Self::Reshaped { reason }
            | Self::Shortened { reason, .. }
            | Self::LeftOut { reason } => Some(reason),
        }
    }
}

impl Item {
    /// Returns the number of bytes that are missing.
    pub fn lost_bytes(&self) -> u64 {
        match &self.status {
            ItemStatus::Kept | ItemStatus::Reshaped { .. } => 0,
            ItemStatus::Shortened { kept_bytes, .. } => self.bytes.saturating_sub(*kept_bytes),
            ItemStatus::LeftOut { .. } => self.bytes,
        }
    }
}

impl Receipt {
    /// Returns the items and bytes of the source.
    pub fn total(&self) -> Tally {
        self.items.iter().fold(Tally::default(), |tally, item| tally.with(item))
    }

    /// Returns the items and bytes of every status, in the order of [`ItemStatus::WORDS`].
    pub fn by_status(&self) -> [Tally; 4] {
        let mut tallies = [Tally::default(); 4];
        for item in &self.items {
            let tally = &mut tallies[item.status.index()];
            *tally = tally.with(item);
        }
        tallies
    }

    /// Returns the items and bytes of every kind, by status.
    pub fn by_kind(&self) -> BTreeMap<ItemKind, [Tally; 4]> {
        let mut kinds: BTreeMap<ItemKind, [Tally; 4]> = BTreeMap::new();
        for item in &self.items {
            let tally = &mut kinds.entry(item.kind).or_default()[item.status.index()];
            *tally = tally.with(item);
        }
        kinds
    }

    /// Returns the items with the most missing bytes, the largest loss first.
    pub fn largest_losses(&self, count: usize) -> Vec<&Item> {
        let mut lost: Vec<&Item> = self.items.iter().filter(|item| item.lost_bytes() > 0).collect();
        lost.sort_by_key(|item| (std::cmp::Reverse(item.lost_bytes()), item.entry));
        lost.truncate(count);
        lost
    }

    /// Returns the stored form of the receipt: each kind and reason once, then a short list for every item.
    pub fn to_json(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        let mut items = String::new();
        for item in &self.items {
            let kind = ItemKind::ALL.iter().position(|kind| *kind == item.kind).unwrap_or_default();
            let comma = if items.is_empty() { "" } else { "," };
            // Writing into a string cannot fail.
            let _ = write!(
                items,
                "{comma}[{},{kind},{},{}",
                item.entry,
                item.bytes,
                item.status.index()
            );
            if let Some(reason) = item.status.reason() {
                let known = reasons.iter().position(|one| *one == reason);
                let at = known.unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                });
                let _ = write!(items, ",{at}");
            }
            if let ItemStatus::Shortened { kept_bytes, .. } = item.status {
                let _ = write!(items, ",{kept_bytes}");
            }
            items.push(']');
        }
        let list = |words: &mut dyn Iterator<Item = &str>| {
            words.map(|word| Json::text(word).as_str().to_owned()).collect::<Vec<_>>().join(",")
        };
        let kinds = list(&mut ItemKind::ALL.into_iter().map(ItemKind::as_str));
        let reasons = list(&mut reasons.into_iter());
        format!(r#"{{"version":1,"kinds":[{kinds}],"reasons":[{reasons}],"items":[{items}]}}"#)
    }

    /// Reads a receipt from its stored form.
    pub fn read(raw: &RawValue) -> Result<Self, ReceiptError> {
        let mut object = Object::try_from(raw)?;
        let kinds: Vec<ItemKind> = object.need_with("kinds", "a list of strings", |raw| {
            let word = |raw| text(raw).map(|word| word.parse().unwrap_or(ItemKind::OtherEntry));
            json::each(raw, word)
        })?;
        let reasons: Vec<Box<str>> = object.need_with("reasons", "a list of strings", |raw| {
            json::each(raw, |raw| text(raw).map(Into::into))
        })?;
        let items = object.need("items", "a list")?;
        let mut receipt = Self::default();
        for (number, raw) in elements(items)?.into_iter().enumerate() {
            let numbers: Vec<u64> = json::each(raw, json::whole_number)?;
            let item = read_item(&numbers, &kinds, &reasons);
            receipt.items.push(item.ok_or(ReceiptError::Item { number: number + 1 })?);
        }
        Ok(receipt)
    }
}

fn read_item(numbers: &[u64], kinds: &[ItemKind], reasons: &[Box<str>]) -> Option<Item> {
    let at = |index: usize| usize::try_from(*numbers.get(index)?).ok();
    let reason = || reasons.get(at(4)?).cloned();
    let status = match numbers.get(3)? {
        0 => ItemStatus::Kept,
        1 => ItemStatus::Reshaped { reason: reason()? },
        2 => ItemStatus::Shortened { reason: reason()?, kept_bytes: *numbers.get(5)? },
        3 => ItemStatus::LeftOut { reason: reason()? },
        _ => return None,
    };
    Some(Item {
        entry: *numbers.first()?,
        kind: *kinds.get(at(1)?)?,
        bytes: *numbers.get(2)?,
        status,
    })
}

impl Tally {
    fn with(self, item: &Item) -> Self {
        Self { items: self.items + 1, bytes: self.bytes.saturating_add(item.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        let item = |entry, kind, bytes, status| Item { entry, kind, bytes, status };
        let shortened = ItemStatus::Shortened { kept_bytes: 20, reason: "a stub".into() };
        Receipt {
            items: vec![
                item(1, ItemKind::UserText, 10, ItemStatus::Kept),
                item(2, ItemKind::ToolResult, 500, shortened),
                item(2, ItemKind::Thinking, 70, ItemStatus::LeftOut { reason: "signed".into() }),
                item(3, ItemKind::File, 5, ItemStatus::Reshaped { reason: "as text".into() }),
            ],
        }
    }

    #[test]
    fn a_receipt_is_read_as_it_was_written() {
        let json = receipt().to_json();
        assert_eq!(Receipt::read(json::parse(&json).unwrap()).unwrap(), receipt());
    }

    #[test]
    fn every_item_has_one_status_and_the_sums_are_those_of_the_source() {
        let receipt = receipt();
        let statuses = receipt.by_status();
        assert_eq!(receipt.total(), Tally { items: 4, bytes: 585 });
        assert_eq!(statuses.iter().map(|one| one.bytes).sum::<u64>(), 585);
        assert_eq!(statuses.map(|one| one.items), [1, 1, 1, 1]);
        let kinds = receipt.by_kind();
        assert_eq!(kinds.values().flatten().map(|one| one.items).sum::<u64>(), 4);
    }

    #[test]
    fn the_largest_losses_come_first() {
        let receipt = receipt();
        let lost: Vec<u64> = receipt.largest_losses(5).into_iter().map(Item::lost_bytes).collect();
        assert_eq!(lost, [480, 70]);
    }

    #[test]
    fn a_receipt_of_another_shape_is_refused_and_named() {
        let read = |json: &str| Receipt::read(json::parse(json).unwrap()).unwrap_err().to_string();
        assert_eq!(
            read(r#"{"kinds":[],"reasons":[],"items":[[1,0,0,0]]}"#),
            "item 1 of the receipt cannot be read; a newer version may have written it"
        );
        assert!(read("[]").contains("must be an object"), "{}", read("[]"));
    }
}
