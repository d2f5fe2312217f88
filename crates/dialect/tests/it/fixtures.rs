//! One real request for each vendor that uses every feature of its format. Reading and rendering it gives the same
//! bytes.

use tertulia_dialect::{Dialect, ModelContext, Note};
use tertulia_session::json::{self, Json};

use crate::rules::assert_valid;

fn fixture(dialect: Dialect) -> Json {
    let text = match dialect {
        Dialect::OpenAiChat => include_str!("../fixtures/openai.json"),
        Dialect::OpenAiResponses => include_str!("../fixtures/responses.json"),
        Dialect::Anthropic => include_str!("../fixtures/anthropic.json"),
        Dialect::Gemini => include_str!("../fixtures/gemini.json"),
    };
    Json::parse(text).unwrap()
}

#[test]
fn a_request_that_was_read_is_rendered_as_it_was() {
    for dialect in Dialect::ALL {
        let request = fixture(dialect);
        assert_valid(dialect, request.as_str());
        let reading = dialect.read(json::parse(request.as_str()).unwrap()).unwrap();
        assert_eq!(reading.notes, [], "{dialect:?}");
        let context = ModelContext {
            tool_specs: &reading.tool_specs,
            cache_breakpoints: &reading.cache_breakpoints,
            ..ModelContext::new(&reading.messages)
        };
        let rendering = dialect.render(&context);
        assert_eq!(rendering.fragment.to_json(), request.as_str());
        assert_eq!(losses(&rendering.notes), [] as [&Note; 0], "{dialect:?}");
    }
}

/// Returns the notes about losses. Marking a failure in the text, for lack of a field, is not a loss.
fn losses(notes: &[Note]) -> Vec<&Note> {
    notes.iter().filter(|note| note.kind.code() != "error_as_text").collect()
}

#[test]
fn a_request_of_one_vendor_is_valid_for_every_other() {
    for from in Dialect::ALL {
        let reading = from.read(json::parse(fixture(from).as_str()).unwrap()).unwrap();
        for to in Dialect::ALL {
            let context = ModelContext {
                tool_specs: &reading.tool_specs,
                cache_breakpoints: &reading.cache_breakpoints,
                ..ModelContext::new(&reading.messages)
            };
            let rendering = to.render(&context);
            assert_valid(to, &rendering.fragment.to_json());
            // If a feature exists only in the first vendor's format, its loss has a note.
            assert_eq!(losses(&rendering.notes).is_empty(), from == to, "{from:?} {to:?}");
        }
    }
}

#[test]
fn a_bare_list_of_messages_is_read_like_the_request_around_it() {
    for (dialect, name) in [
        (Dialect::OpenAiChat, "messages"),
        (Dialect::OpenAiResponses, "input"),
        (Dialect::Anthropic, "messages"),
        (Dialect::Gemini, "contents"),
    ] {
        let request = fixture(dialect);
        let raw = json::parse(request.as_str()).unwrap();
        let list = json::Object::try_from(raw).unwrap().take(name).unwrap();
        let whole = dialect.read(raw).unwrap().messages;
        let bare = dialect.read(list).unwrap().messages;
        assert!(whole.ends_with(&bare), "{dialect:?}");
        assert!(bare.len() + 1 >= whole.len());
    }
}
