//! The four APIs of models, and the dispatch to their files. The server and `perform` use this file; the JSON of a
//! vendor is only in its own file.

use serde_json::{Value, json};

use crate::http::{Frame, HttpRequest};
use crate::{anthropic, chat, gemini, openai_error, responses};

/// The API of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// Gemini `generateContent` and `streamGenerateContent`.
    Gemini,
    /// OpenAI Chat Completions.
    Chat,
}

/// The parts of a main request that tests check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The API that was used.
    pub vendor: Vendor,
    /// The path, with the query.
    pub path: String,
    /// The model.
    pub model: String,
    /// All of the system text.
    pub system: String,
    /// The text of the user since the last answer, without additions of the agent program.
    pub user: String,
    /// Its last message. It is all of `user`, unless several messages of the user follow each other.
    pub last_message: String,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// The key that was sent.
    pub key: Option<String>,
    /// The length of the request.
    pub bytes: usize,
    /// The whole request.
    pub body: String,
}

/// The parts of a request that the file of a vendor reads.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) user: String,
    /// The last of several messages of the user that follow each other.
    pub(crate) last_message: Option<String>,
    pub(crate) tools: Vec<String>,
    /// Whether it is the agent's own question, and not a request for a title, a classification or a check.
    pub(crate) is_main: bool,
    pub(crate) is_streamed: bool,
}

impl Reading {
    /// Returns the last message of the user.
    pub(crate) fn last_message(&self) -> &str {
        self.last_message.as_deref().unwrap_or(&self.user)
    }
}

/// The target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To a model.
    Model(Vendor),
    /// To a token counter; the name of the field with the number.
    Count(&'static str),
    /// To the list of models.
    Models,
    /// To an unknown path.
    Unknown,
}

impl Route {
    /// Returns the route of a path.
    pub(crate) fn from_path(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let ends = |end: &str| path.ends_with(end);
        match () {
            () if ends("/messages/count_tokens") => Self::Count("input_tokens"),
            () if ends(":countTokens") => Self::Count("totalTokens"),
            () if ends("/messages") => Self::Model(Vendor::Anthropic),
            () if ends("/responses") => Self::Model(Vendor::Responses),
            () if ends("/chat/completions") => Self::Model(Vendor::Chat),
            () if ends(":generateContent") || ends(":streamGenerateContent") => {
                Self::Model(Vendor::Gemini)
            }
            () if ends("/models") => Self::Models,
            () => Self::Unknown,
        }
    }
}

/// The end of an answer, after its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// The answer is complete.
    Whole,
    /// With a call of the shell tool.
    Shell(&'a str),
    /// The model refused.
    Refused,
}

/// The parts of an answer besides its text.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) model: String,
    /// The tools that may be called.
    pub(crate) tools: Vec<String>,
    pub(crate) input_tokens: usize,
    /// A number that is unique among the answers of this server.
    pub(crate) number: u64,
}

/// Writes an answer in a vendor's format.
pub(crate) enum Voice {
    Anthropic(anthropic::Voice),
    Responses(responses::Voice),
    Gemini(gemini::Voice),
    Chat(chat::Voice),
}

impl Vendor {
    /// Reads a request.
    pub(crate) fn read(self, path: &str, body: &Value) -> Reading {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Gemini => gemini::read(path, body),
            Self::Chat => chat::read(body),
        }
    }

    /// Returns the key of a request.
    pub(crate) fn key(request: &HttpRequest) -> Option<String> {
        let bearer = |value: &str| value.strip_prefix("Bearer ").map(str::to_owned);
        let named = ["x-api-key", "x-goog-api-key"];
        named
            .iter()
            .find_map(|name| request.header(name).map(str::to_owned))
            .or_else(|| request.header("authorization").and_then(bearer))
    }

    /// Returns the vendor's error body for an HTTP status.
    pub(crate) fn error(self, status: u16) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status),
            Self::Gemini => gemini::error(status),
            Self::Responses | Self::Chat => openai_error::of_status(status),
        }
    }

    /// Returns the vendor's error body, with status 400, for a prompt that is too large.
    pub(crate) fn overflow(self) -> Value {
        match self {
            Self::Anthropic => anthropic::overflow(),
            Self::Gemini => gemini::overflow(),
            Self::Responses | Self::Chat => openai_error::overflow(),
        }
    }

    /// Returns the status and what the vendor writes when the plan or quota is used up.
    pub(crate) fn usage_limit(self) -> (u16, Value) {
        match self {
            Self::Anthropic => (400, anthropic::usage_limit()),
            Self::Gemini => (429, gemini::usage_limit()),
            Self::Responses | Self::Chat => (429, openai_error::usage_limit()),
        }
    }

    /// Returns a voice for one answer.
    pub(crate) fn voice(self, answer: Answer) -> Voice {
        match self {
            Self::Anthropic => Voice::Anthropic(anthropic::Voice::new(answer)),
            Self::Responses => Voice::Responses(responses::Voice::new(answer)),
            Self::Gemini => Voice::Gemini(gemini::Voice::new(answer)),
            Self::Chat => Voice::Chat(chat::Voice::new(answer)),
        }
    }
}

impl Voice {
    /// Returns the events before the first piece of text. Without text, there may be no event for it.
    pub(crate) fn begin(&mut self, has_text: bool) -> Vec<Frame> {
        match self {
            Self::Anthropic(voice) => voice.begin(has_text),
            Self::Responses(voice) => voice.begin(has_text),
            Self::Gemini(_) => Vec::new(),
            Self::Chat(voice) => voice.begin(),
        }
    }

    /// Returns the next piece of text.
    pub(crate) fn piece(&mut self, text: &str) -> Vec<Frame> {
        match self {
            Self::Anthropic(voice) => voice.piece(text),
            Self::Responses(voice) => voice.piece(text),
            Self::Gemini(voice) => voice.piece(text),
            Self::Chat(voice) => voice.piece(text),
        }
    }

    /// Returns the events after the last piece.
    pub(crate) fn finish(&mut self, end: End<'_>) -> Vec<Frame> {
        match self {
            Self::Anthropic(voice) => voice.finish(end),
            Self::Responses(voice) => voice.finish(end),
            Self::Gemini(voice) => voice.finish(end),
            Self::Chat(voice) => voice.finish(end),
        }
    }

    /// Returns the whole answer as one value, for a request without a stream.
    pub(crate) fn whole(&self, text: &str, end: End<'_>) -> Value {
        match self {
            Self::Anthropic(voice) => voice.whole(text, end),
            Self::Responses(voice) => voice.whole(text, end),
            Self::Gemini(voice) => voice.whole(text, end),
            Self::Chat(voice) => voice.whole(text, end),
        }
    }
}

/// Returns the answer to all requests other than the main one: an object with all fields that the titles,
/// classifiers and checks of the agent programs need.
pub(crate) fn side_answer() -> String {
    let answer = json!({
        "title": "A title", "isNewTopic": false, "reasoning": "It is done.",
        "model_choice": "flash", "complexity_score": 10, "next_speaker": "user",
    });
    answer.to_string()
}

/// Returns the text of a message: a string, or the `text` fields of its blocks, without those that the agent
/// program added.
pub(crate) fn text_of(content: &Value, is_ours: impl Fn(&str) -> bool) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.filter(|text| is_ours(text)).collect()
        }
        _ => String::new(),
    }
}

/// Returns the items of a list; none if the value is not a list.
pub(crate) fn items(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the text of a field; empty if it is missing.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_who_is_asked() {
        let model = Route::Model;
        assert_eq!(Route::from_path("/v1/messages?beta=true"), model(Vendor::Anthropic));
        assert_eq!(Route::from_path("/v1/responses"), model(Vendor::Responses));
        assert_eq!(Route::from_path("/v1/chat/completions"), model(Vendor::Chat));
        let gemini = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
        assert_eq!(Route::from_path(gemini), model(Vendor::Gemini));
        assert_eq!(
            Route::from_path("/v1/messages/count_tokens?beta=true"),
            Route::Count("input_tokens")
        );
        assert_eq!(Route::from_path("/v1/models?limit=3"), Route::Models);
        assert_eq!(Route::from_path("/"), Route::Unknown);
    }

    #[test]
    fn blocks_that_are_not_ours_are_left_out_of_a_text() {
        let content = json!([{ "text": "<note>" }, { "image": 1 }, { "text": "hello" }]);
        assert_eq!(text_of(&content, |text| !text.starts_with('<')), "hello");
        assert_eq!(text_of(&json!("<as it is>"), |_| false), "<as it is>");
    }
}
