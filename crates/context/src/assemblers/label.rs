//! The label before a message of the context: who said it to whom, and what kind of item it is. In an escaped format
//! no name can imitate the label of another kind.

use crate::escape::{written_id, written_name};
use crate::prompt::{ContextKind, ContextMessage, SpokenBy};
use crate::window::EVERYBODY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// `- from -> to: content`
    Arrow,
    /// `- from: content`
    Dash,
    /// `from: content`
    Bare,
}

/// A piece of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelPiece<'p> {
    /// Text of the format, a name, a number.
    Text(&'p str),
    /// The id of the entry that a passage was taken from.
    Id(&'p str),
}

impl<'p> LabelPiece<'p> {
    /// Returns the text.
    pub fn text(self) -> &'p str {
        match self {
            Self::Text(text) | Self::Id(text) => text,
        }
    }
}

impl Line {
    /// Passes the label of a message to `take` in pieces, so that it can be measured and written without being
    /// built.
    pub(crate) fn label(
        self,
        message: &ContextMessage<'_>,
        is_escaped: bool,
        take: &mut impl FnMut(LabelPiece<'_>),
    ) {
        let dash = if self == Self::Bare { "" } else { "- " };
        take(LabelPiece::Text(dash));
        if is_escaped {
            return message.label(self == Self::Arrow, take);
        }
        take(LabelPiece::Text(&message.from));
        if self == Self::Arrow {
            take(LabelPiece::Text(" -> "));
            take(LabelPiece::Text(message.to.as_deref().unwrap_or(EVERYBODY)));
        }
        take(LabelPiece::Text(": "));
    }
}

impl ContextMessage<'_> {
    /// Passes the label, as escaped formats write it (`from -> to: `), to `take` piece by piece.
    pub fn for_each_label_piece(&self, mut take: impl FnMut(LabelPiece<'_>)) {
        self.label(true, &mut take);
    }

    fn label(&self, has_addressees: bool, take: &mut impl FnMut(LabelPiece<'_>)) {
        let mut text = |text: &str| take(LabelPiece::Text(text));
        match self.kind {
            ContextKind::Summary { messages, older } => {
                let noun = if messages == 1 { "message" } else { "messages" };
                text(&format!("[summary of {messages} {noun}"));
                match older {
                    0 => {}
                    1 => text("; 1 older one is not in it"),
                    older => text(&format!("; {older} older ones are not in it")),
                }
                text("]");
            }
            ContextKind::Recalled { entry, by } => {
                text("[recalled ");
                take(LabelPiece::Id(&written_id(entry)));
                let mut text = |text: &str| take(LabelPiece::Text(text));
                text(" from ");
                text(&written_name(&self.from));
                text(by.note());
                text("]");
            }
            ContextKind::Titled { title } => {
                text("[");
                text(title);
                text("]");
            }
            ContextKind::Text => {
                text(&written_name(&self.from));
                if has_addressees {
                    text(" -> ");
                    match &self.to {
                        Some(to) => text(&written_name(to)),
                        None => text(EVERYBODY),
                    }
                }
            }
            ContextKind::Speech { to, by } => {
                text(&written_name(&self.from));
                text(by.note());
                if has_addressees {
                    text(" -> ");
                    for (number, one) in to.iter().enumerate() {
                        text(if number == 0 { "" } else { ", " });
                        text(&written_name(&one.identifier));
                    }
                    text(if to.is_empty() { EVERYBODY } else { "" });
                }
            }
        }
        take(LabelPiece::Text(": "));
    }
}

impl SpokenBy {
    /// Returns the text after a name. A name that contains brackets is quoted, so no name can end with such a note.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Member => "",
            Self::BuiltIn => " (built-in)",
            Self::Namesake => " (agent)",
            Self::Tool => " (tool output)",
        }
    }
}
