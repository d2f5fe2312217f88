//! The text of a cause: `word key=value …: sentence`. The head before the first `: ` is for replay and
//! stays as it is; the sentence behind it is for people and may be put better in later versions.

use std::fmt::Write as _;

use tertulia_context::Intent;
use tertulia_session::EntryId;

use super::{Cause, How, Rule};

impl Cause {
    /// The cause as it stands in the log; `member` is whose turn it is.
    ///
    /// ```
    /// use tertulia_team::{Cause, Rule};
    ///
    /// let cause = Cause::Chosen { turn: "e-7".into(), rule: Rule::Urgent };
    /// assert_eq!(cause.text("max"), "chosen turn=e-7 rule=urgent: P1 goes first");
    /// assert_eq!(Cause::parse(&cause.text("max")), Some(cause));
    /// ```
    pub fn text(&self, member: &str) -> String {
        let mut text = self.head();
        text.push_str(": ");
        text.push_str(&self.sentence(member));
        text
    }

    /// The part that is parsed back.
    pub(crate) fn head(&self) -> String {
        match self {
            Self::Asked { entry, by, how, intent } => {
                Head::new(how.word()).id("entry", entry).by(by).intent(*intent)
            }
            Self::Repeated { turn, entry, by, intent } => {
                Head::new("repeat").id("turn", turn).id("entry", entry).by(by).intent(*intent)
            }
            Self::Chosen { turn, rule } => {
                Head::new("chosen").id("turn", turn).value("rule", rule.word())
            }
            Self::Answered { turn, entry } => {
                Head::new("answered").id("turn", turn).id("entry", entry)
            }
            Self::Failed { turn, class } => {
                Head::new("failed").id("turn", turn).value("class", class)
            }
            Self::Cancelled { turn, all } => {
                let word = if *all { "cancelled_all" } else { "cancelled" };
                Head::new(word).id("turn", turn)
            }
            Self::Dropped { turn, entry, by } => {
                Head::new("dropped").id("turn", turn).id("entry", entry).by(by)
            }
            Self::Declined { turn, entry, by } => {
                Head::new("declined").id("turn", turn).id("entry", entry).by(by)
            }
            Self::PassedOver { turn } => Head::new("passed_over").id("turn", turn),
            Self::CutOff { turn, entry } => {
                Head::new("cut_off").id("turn", turn).id("entry", entry)
            }
            Self::TableStopped { turn } => Head::new("table_stopped").id("turn", turn),
        }
        .0
    }

    /// Reads a cause out of the log; `None` if this version did not write it.
    pub fn parse(text: &str) -> Option<Self> {
        let fields = Fields::of(text);
        let turn = || fields.id("turn");
        let entry = || fields.id("entry");
        Some(match fields.word {
            "repeat" => Self::Repeated {
                turn: turn()?,
                entry: entry()?,
                by: fields.by(),
                intent: fields.intent()?,
            },
            "chosen" => Self::Chosen { turn: turn()?, rule: Rule::parse(&fields.get("rule")?)? },
            "answered" => Self::Answered { turn: turn()?, entry: entry()? },
            "failed" => Self::Failed { turn: turn()?, class: fields.get("class")?.into() },
            "cancelled" => Self::Cancelled { turn: turn()?, all: false },
            "cancelled_all" => Self::Cancelled { turn: turn()?, all: true },
            "dropped" => Self::Dropped { turn: turn()?, entry: entry()?, by: fields.by() },
            "declined" => Self::Declined { turn: turn()?, entry: entry()?, by: fields.by() },
            "passed_over" => Self::PassedOver { turn: turn()? },
            "cut_off" => Self::CutOff { turn: turn()?, entry: entry()? },
            "table_stopped" => Self::TableStopped { turn: turn()? },
            word => Self::Asked {
                entry: entry()?,
                by: fields.by(),
                how: How::parse(word)?,
                intent: fields.intent()?,
            },
        })
    }
}

impl How {
    const ALL: [Self; 5] =
        [Self::Next, Self::Mention, Self::Default, Self::FirstAgent, Self::Reply];

    fn word(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Mention => "mention",
            Self::Default => "default",
            Self::FirstAgent => "first_agent",
            Self::Reply => "reply",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|how| how.word() == word)
    }
}

impl Rule {
    const ALL: [Self; 4] = [Self::Urgent, Self::Local, Self::InTurn, Self::LongestWait];

    fn word(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Local => "local",
            Self::InTurn => "in_turn",
            Self::LongestWait => "longest_wait",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.word() == word)
    }
}

struct Head(String);

impl Head {
    fn new(word: &str) -> Self {
        Self(word.to_owned())
    }

    fn id(self, key: &str, id: &EntryId) -> Self {
        self.value(key, id.as_str())
    }

    fn by(self, by: &Option<Box<str>>) -> Self {
        match by {
            Some(name) => self.value("by", name),
            None => self,
        }
    }

    fn intent(self, intent: Intent) -> Self {
        self.value("intent", intent.as_str())
    }

    /// Ids and names may hold anything: what could end a value is written as `%` and two hex digits.
    fn value(mut self, key: &str, value: &str) -> Self {
        self.0.push(' ');
        self.0.push_str(key);
        self.0.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_./+".contains(&byte) {
                self.0.push(char::from(byte));
            } else {
                // Writing into a string cannot fail.
                let _ = write!(self.0, "%{byte:02X}");
            }
        }
        self
    }
}

struct Fields<'t> {
    word: &'t str,
    pairs: Vec<(&'t str, &'t str)>,
}

impl<'t> Fields<'t> {
    fn of(text: &'t str) -> Self {
        let head = text.split_once(": ").map_or(text, |(head, _)| head);
        let mut words = head.split(' ');
        let word = words.next().unwrap_or_default();
        Self { word, pairs: words.filter_map(|pair| pair.split_once('=')).collect() }
    }

    fn get(&self, key: &str) -> Option<String> {
        let (_, value) = self.pairs.iter().find(|(name, _)| *name == key)?;
        let mut bytes = Vec::with_capacity(value.len());
        let mut rest = value.bytes();
        while let Some(byte) = rest.next() {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let read = if byte == b'%' { digit()? * 16 + digit()? } else { byte.into() };
            bytes.push(u8::try_from(read).ok()?);
        }
        String::from_utf8(bytes).ok()
    }

    fn id(&self, key: &str) -> Option<EntryId> {
        self.get(key).map(EntryId::from)
    }

    fn by(&self) -> Option<Box<str>> {
        self.get("by").map(Into::into)
    }

    fn intent(&self) -> Option<Intent> {
        let word = self.get("intent")?;
        let all = [Intent::Interrupt, Intent::Reply, Intent::Extend];
        all.into_iter().find(|intent| intent.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_cause() -> impl Strategy<Value = Cause> {
        let id = || any::<String>().prop_map(EntryId::from);
        let by = || proptest::option::of(any::<String>().prop_map(Box::from));
        let intent =
            || prop::sample::select(vec![Intent::Interrupt, Intent::Reply, Intent::Extend]);
        let how = prop::sample::select(How::ALL.to_vec());
        let rule = prop::sample::select(Rule::ALL.to_vec());
        prop_oneof![
            (id(), by(), how, intent()).prop_map(|(entry, by, how, intent)| Cause::Asked {
                entry,
                by,
                how,
                intent
            }),
            (id(), id(), by(), intent()).prop_map(|(turn, entry, by, intent)| Cause::Repeated {
                turn,
                entry,
                by,
                intent
            }),
            (id(), rule).prop_map(|(turn, rule)| Cause::Chosen { turn, rule }),
            (id(), id()).prop_map(|(turn, entry)| Cause::Answered { turn, entry }),
            (id(), any::<String>())
                .prop_map(|(turn, class)| Cause::Failed { turn, class: class.into() }),
            (id(), any::<bool>()).prop_map(|(turn, all)| Cause::Cancelled { turn, all }),
            (id(), id(), by()).prop_map(|(turn, entry, by)| Cause::Dropped { turn, entry, by }),
            (id(), id(), by()).prop_map(|(turn, entry, by)| Cause::Declined { turn, entry, by }),
            id().prop_map(|turn| Cause::PassedOver { turn }),
            (id(), id()).prop_map(|(turn, entry)| Cause::CutOff { turn, entry }),
            id().prop_map(|turn| Cause::TableStopped { turn }),
        ]
    }

    proptest! {
        #[test]
        fn every_cause_is_read_back_from_its_text(cause in any_cause(), member in any::<String>()) {
            prop_assert_eq!(Cause::parse(&cause.text(&member)), Some(cause));
        }

        #[test]
        fn any_text_is_a_cause_or_none(text in any::<String>()) {
            let _ = Cause::parse(&text);
        }
    }

    #[test]
    fn the_head_alone_is_enough_and_unknown_keys_do_no_harm() {
        let cause = Cause::PassedOver { turn: "e-1".into() };
        assert_eq!(Cause::parse("passed_over turn=e-1"), Some(cause.clone()));
        assert_eq!(Cause::parse("passed_over new=x turn=e-1: put better"), Some(cause));
        for text in [
            "",
            "passed_over",
            "asked entry=e-1",
            "chosen turn=e-1 rule=best",
            "failed turn=%G class=x",
        ] {
            assert_eq!(Cause::parse(text), None, "{text}");
        }
    }
}
