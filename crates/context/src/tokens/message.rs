//! Counts the tokens of a message, its parts and the tools: the text with a tokenizer, the wrappers by
//! [`Vendor::overheads`], the pictures by their size. A part that cannot be counted gets a fixed count and a note.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Object};
use tertulia_session::{
    ImageSource, Message, OtherPart, Part, PartKind, ResultPiece, ToolCall, ToolResult,
};

use super::{Model, TokenCache, TokenCount, Tokenizer, Vendor, read_dimensions};

/// Counts messages for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageCounter {
    pub tokenizer: Tokenizer,
    pub vendor: Vendor,
}

/// The token count of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageCount {
    /// The tokens of words, wrappers and pictures. Exact only for text messages to OpenAI: the wrappers of other
    /// vendors, and those of tools, are estimates.
    pub count: TokenCount,
    pub notes: Vec<CountNote>,
}

/// A part that got a fixed count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("part {part}: {problem}")]
pub struct CountNote {
    /// The index of the part in its message.
    pub part: usize,
    pub problem: CountProblem,
}

/// The reason for a fixed count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CountProblem {
    /// A picture in the message whose size cannot be read.
    #[error("the size of the image cannot be read; counted as {tokens} tokens")]
    ImageUnreadable { tokens: u64 },
    /// A picture that is given by its address.
    #[error("the image is not in the message; counted as {tokens} tokens")]
    ImageElsewhere { tokens: u64 },
}

/// A tool with the description that the model gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub parameter_schema: Json,
    /// Whether the model must follow the schema.
    pub strict: Option<bool>,
}

impl MessageCounter {
    /// Creates a counter with this tokenizer. Wrappers and pictures are counted as for the vendor that usually uses
    /// it.
    pub fn new(tokenizer: Tokenizer) -> Self {
        let vendor = Vendor::usual_for(&tokenizer);
        Self { tokenizer, vendor }
    }

    /// Creates a counter for a known model.
    pub fn for_model(model: &Model) -> Self {
        Self { tokenizer: model.tokenizer.clone(), vendor: model.vendor }
    }

    /// Returns the tokens of the message.
    pub fn count_message(&self, message: &Message) -> MessageCount {
        self.message(message, &mut |text| self.tokenizer.count(text))
    }

    /// Returns the tokens of the message; texts that were counted before come from the cache.
    pub fn count_message_cached(&self, message: &Message, cache: &mut TokenCache) -> MessageCount {
        self.message(message, &mut |text| cache.count(&self.tokenizer, text))
    }

    /// Returns the tokens of these tools: each as JSON text, and its wrapper.
    pub fn count_tools(&self, tools: &[ToolSpec]) -> TokenCount {
        if tools.is_empty() {
            return TokenCount::ZERO;
        }
        let overheads = self.vendor.overheads();
        let specs: TokenCount =
            tools.iter().map(|tool| self.tokenizer.count(&tool.to_json())).sum();
        let wrappers = overheads.tools + overheads.tool_spec * tools.len() as u64;
        // Vendors change the schema in ways that they do not publish. So this is an estimate even with an exact
        // tokenizer.
        specs + TokenCount::estimated(wrappers)
    }

    /// Returns the tokens that a request needs besides its messages and tools.
    pub fn count_reply(&self) -> TokenCount {
        self.published(self.vendor.overheads().reply)
    }

    /// Returns an exact count for OpenAI, which publishes the tokens of a message besides its words. For other
    /// vendors, returns an estimate.
    fn published(&self, tokens: u64) -> TokenCount {
        match self.vendor {
            Vendor::OpenAi => TokenCount::exact(tokens),
            Vendor::Anthropic | Vendor::Google => TokenCount::estimated(tokens),
        }
    }

    fn message(&self, message: &Message, count: &mut Count<'_>) -> MessageCount {
        let mut whole = MessageCount {
            count: self.published(self.vendor.overheads().message),
            notes: Vec::new(),
        };
        for (position, part) in message.parts.iter().enumerate() {
            let mut note = |problem| whole.notes.push(CountNote { part: position, problem });
            whole.count += self.part(part, count, &mut note);
        }
        whole
    }

    fn part(&self, part: &Part, count: &mut Count<'_>, note: &mut Note<'_>) -> TokenCount {
        let overheads = self.vendor.overheads();
        let (overhead, words) = match &part.kind {
            PartKind::Text(text) => (0, count(text)),
            PartKind::Thinking(text) => (overheads.thinking, count(text)),
            PartKind::ToolCall(call) => (overheads.tool_call, self.tool_call(call, count)),
            PartKind::ToolResult(result) => {
                (overheads.tool_result, self.result(result, count, note))
            }
            PartKind::Image(image) => (0, self.image(&image.source, note)),
            // Only the name of a file is sent.
            PartKind::FileRef(file) => (0, count(&file.path)),
            PartKind::Other(other) => (0, other_part(other, count)),
        };
        if overhead == 0 { words } else { TokenCount::estimated(overhead) + words }
    }

    fn tool_call(&self, call: &ToolCall, count: &mut Count<'_>) -> TokenCount {
        let (arguments, number) = match &call.raw_args_text {
            Some(text) => (Cow::Borrowed(&**text), 0),
            None => arguments_text(&call.arguments, self.vendor),
        };
        let wrappers = TokenCount::exact(number * self.vendor.overheads().tool_argument);
        wrappers + count(&call.tool_name) + count(&arguments)
    }

    fn result(
        &self,
        result: &ToolResult,
        count: &mut Count<'_>,
        note: &mut Note<'_>,
    ) -> TokenCount {
        let price = |piece| match piece {
            ResultPiece::Text(raw) | ResultPiece::Other(raw) => count(&json::words(raw)),
            ResultPiece::Image(image) => self.image(&image.source, note),
        };
        result.pieces().map(price).sum()
    }

    fn image(&self, source: &ImageSource, note: &mut Note<'_>) -> TokenCount {
        let (ImageSource::Data(data) | ImageSource::Url(data)) = source;
        let Some(size) = read_dimensions(data) else {
            let tokens = self.vendor.unknown_image_tokens();
            note(match data.get(..4) {
                Some("http") => CountProblem::ImageElsewhere { tokens },
                _ => CountProblem::ImageUnreadable { tokens },
            });
            return TokenCount::estimated(tokens);
        };
        TokenCount::estimated(self.vendor.image_tokens(size))
    }
}

type Count<'a> = dyn FnMut(&str) -> TokenCount + 'a;

/// A function that records what could not be counted.
type Note<'a> = dyn FnMut(CountProblem) + 'a;

impl ToolSpec {
    /// Returns the JSON text of the tool that is counted.
    pub fn to_json(&self) -> String {
        let quoted = |text: &str| Json::text(text).as_str().to_owned();
        let mut json = format!("{{\"name\":{}", quoted(&self.name));
        if let Some(description) = &self.description {
            json += &format!(",\"description\":{}", quoted(description));
        }
        json += &format!(",\"parameterSchema\":{}", self.parameter_schema.as_str());
        if let Some(strict) = self.strict {
            json += &format!(",\"strict\":{strict}");
        }
        json + "}"
    }
}

/// Counts a part of an unknown kind, which is sent unchanged.
fn other_part(other: &OtherPart, count: &mut Count<'_>) -> TokenCount {
    let payload = other.payload.as_ref().map_or(TokenCount::ZERO, |json| count(json.as_str()));
    count(&other.kind) + payload
}

/// Returns the text of a call's arguments as the model reads it, and the number of arguments. For Claude, each name
/// is followed by its value, with strings unquoted, because this fits Claude's counts best. For other vendors it is
/// JSON text. Arguments that are not an object are counted as text.
fn arguments_text(arguments: &Json, vendor: Vendor) -> (Cow<'_, str>, u64) {
    let whole = Cow::Borrowed(arguments.as_str());
    let Ok(object) = Object::try_from(arguments.raw()) else { return (whole, 0) };
    let count = object.names().count() as u64;
    if vendor != Vendor::Anthropic {
        return (whole, count);
    }
    let mut text = String::with_capacity(arguments.as_str().len());
    for (name, value) in object.into_fields() {
        text.push_str(&name);
        text.push('\n');
        text.push_str(&json::words(value));
        text.push('\n');
    }
    (Cow::Owned(text), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn arguments_are_json_or_names_and_values() {
        let call = json(r#"{"path":"a\tb","limit":5}"#);
        let (named, count) = arguments_text(&call, Vendor::Anthropic);
        assert_eq!((&*named, count), ("path\na\tb\nlimit\n5\n", 2));
        let (whole, count) = arguments_text(&call, Vendor::OpenAi);
        assert_eq!((&*whole, count), (call.as_str(), 2));
    }

    #[test]
    fn arguments_that_are_no_object_are_their_json() {
        let list = json("[1]");
        assert_eq!(arguments_text(&list, Vendor::Anthropic), (Cow::Borrowed("[1]"), 0));
    }
}
