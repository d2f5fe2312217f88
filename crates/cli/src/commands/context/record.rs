//! A prompt and its verdicts as JSON, for programs that ask why.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use tertulia_context::record::{Detail, PromptRecord};
use tertulia_context::{Explanation, Fate, Prompt, Section, Verdict};

/// The answer of `tertulia context --json`.
pub(super) struct ContextRecord<'a> {
    pub(super) prompt: &'a Prompt<'a>,
    pub(super) explanation: Option<&'a Explanation<'a>>,
}

struct VerdictsRecord<'a>(&'a Explanation<'a>);
struct VerdictRecord<'a>(Verdict<'a>);

impl Serialize for ContextRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let detail = if self.explanation.is_some() { Detail::Sections } else { Detail::Totals };
        PromptRecord { prompt: self.prompt, detail }.write_fields(&mut map)?;
        if let Some(explanation) = self.explanation {
            map.serialize_entry("verdicts", &VerdictsRecord(explanation))?;
        }
        map.end()
    }
}

impl Serialize for VerdictsRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.0
            .verdicts()
            .try_for_each(|verdict| list.serialize_element(&VerdictRecord(verdict)))?;
        list.end()
    }
}

impl Serialize for VerdictRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.0.message.id.to_string())?;
        match &self.0.fate {
            Fate::InPrompt { section, bytes } => {
                map.serialize_entry("verdict", "in_prompt")?;
                let section = match section {
                    Section::Context => "context",
                    Section::Message => "message",
                };
                map.serialize_entry("section", section)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Fate::Truncated { kept_bytes, bytes } => {
                map.serialize_entry("verdict", "truncated")?;
                map.serialize_entry("keptBytes", kept_bytes)?;
                map.serialize_entry("bytes", bytes)?;
            }
            Fate::OutsideWindow { behind } => {
                map.serialize_entry("verdict", "outside_window")?;
                map.serialize_entry("behind", behind)?;
            }
            Fate::Duplicate { of } => {
                map.serialize_entry("verdict", "duplicate")?;
                map.serialize_entry("of", &of.to_string())?;
            }
            Fate::OverBudget { bytes } => {
                map.serialize_entry("verdict", "over_budget")?;
                map.serialize_entry("bytes", bytes)?;
            }
            Fate::Empty => map.serialize_entry("verdict", "empty")?,
        }
        map.end()
    }
}
