//! Streams that were written by hand. Those of endpoints follow their documentation and reports of their users. Those
//! of the Agent Client Protocol are shortened from recordings of three agents.

use tertulia_dialect::stream::{AgentStream, Exit};

use crate::stream_fixtures::Fixture;

macro_rules! written {
    ($stream:ident, $name:literal, $ending:literal) => {
        Fixture {
            name: $name,
            stream: AgentStream::$stream,
            exit: Exit::Code(0),
            bytes: include_bytes!(concat!("../fixtures/stream/", $name, ".", $ending)),
        }
    };
}

/// All streams that were written by hand.
pub(crate) const WRITTEN: &[Fixture] = &[
    written!(OpenAiChat, "chat-text", "sse"),
    written!(OpenAiChat, "chat-thinking", "sse"),
    written!(OpenAiChat, "chat-crlf", "sse"),
    written!(OpenAiChat, "chat-parts", "sse"),
    written!(OpenAiChat, "chat-length", "sse"),
    written!(OpenAiChat, "chat-filter", "sse"),
    written!(OpenAiChat, "chat-refusal", "sse"),
    written!(OpenAiChat, "chat-tool", "sse"),
    written!(OpenAiChat, "chat-error", "sse"),
    written!(OpenAiChat, "chat-error-event", "sse"),
    written!(OpenAiChat, "chat-error-choice", "sse"),
    written!(OpenAiChat, "chat-cut", "sse"),
    written!(OpenAiChat, "chat-late", "sse"),
    written!(OpenAiChat, "chat-whole", "json"),
    written!(OpenAiChat, "chat-whole-error", "json"),
    written!(OpenAiChat, "chat-page", "html"),
    written!(Acp, "acp-text", "jsonl"),
    written!(Acp, "acp-tool", "jsonl"),
    written!(Acp, "acp-command", "jsonl"),
    written!(Acp, "acp-hidden-error", "jsonl"),
    written!(Acp, "acp-said-error", "jsonl"),
    written!(Acp, "acp-repeated", "jsonl"),
    written!(Acp, "acp-auth", "jsonl"),
];
