//! Tool arguments and tool results as the texts and pictures that a model reads: JSON taken apart only
//! as far as counting needs it. Called by [`super::MessageCounter`]; never fails, since JSON that
//! cannot be taken apart is counted as the text it is.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};

/// A piece of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// Words.
    Text(Cow<'a, str>),
    /// A picture as base64, or what stands in its place.
    Image(Cow<'a, str>),
}

/// How the arguments of a call are written down for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentStyle {
    /// As the JSON text.
    Json,
    /// Name by name, with strings as they are: what Claude's counts fit best.
    Named,
}

/// The arguments as text, and how many there are.
pub(super) fn arguments(arguments: &Json, style: ArgumentStyle) -> (Cow<'_, str>, u64) {
    let whole = || Cow::Borrowed(arguments.as_str());
    let Some(object) = json::parse(arguments.as_str()).ok().and_then(|raw| Object::of(raw).ok())
    else {
        return (whole(), 0);
    };
    let count = object.names().count() as u64;
    match style {
        ArgumentStyle::Json => (whole(), count),
        ArgumentStyle::Named => {
            let mut text = String::with_capacity(arguments.as_str().len());
            for (name, value) in object.into_fields() {
                text.push_str(&name);
                text.push('\n');
                text.push_str(&words(value));
                text.push('\n');
            }
            (Cow::Owned(text), count)
        }
    }
}

/// The pieces of a tool result: a string is one text; a list of blocks is taken apart as Anthropic and
/// MCP write them; anything else is its JSON text.
pub(crate) fn result(content: &Json) -> Vec<Content<'_>> {
    let Ok(raw) = json::parse(content.as_str()) else {
        return vec![Content::Text(Cow::Borrowed(content.as_str()))];
    };
    match json::elements(raw) {
        Ok(blocks) => blocks.into_iter().map(block).collect(),
        Err(_) => vec![Content::Text(words(raw))],
    }
}

fn block(raw: &RawValue) -> Content<'_> {
    let known = Object::of(raw).ok().and_then(|mut object| {
        match object.take_text("type").ok()??.as_str() {
            "text" | "input_text" | "output_text" => {
                Some(Content::Text(words(object.take("text")?)))
            }
            "image" | "image_url" | "input_image" => Some(Content::Image(picture(object))),
            _ => None,
        }
    });
    known.unwrap_or_else(|| Content::Text(words(raw)))
}

/// The base64 of an image block: `{source: {data}}`, `{data}`, `{image_url: {url}}` or
/// `{image_url}`; empty where there is none.
fn picture(mut object: Object<'_>) -> Cow<'_, str> {
    let inner = ["source", "image_url"].into_iter().find_map(|name| object.take(name));
    let value = match inner {
        Some(raw) if Kind::of(raw) == Kind::Object => Object::of(raw)
            .ok()
            .and_then(|mut inner| inner.take("data").or_else(|| inner.take("url"))),
        Some(raw) => Some(raw),
        None => object.take("data"),
    };
    value.map(words).unwrap_or_default()
}

/// A string as what it says, anything else as its JSON text.
fn words(raw: &RawValue) -> Cow<'_, str> {
    match json::text(raw) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(raw.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn text(text: &str) -> Content<'_> {
        Content::Text(Cow::Borrowed(text))
    }

    #[test]
    fn a_string_counts_without_its_quotes_and_escapes() {
        assert_eq!(result(&json(r#""two\nlines""#)), [text("two\nlines")]);
    }

    #[test]
    fn blocks_are_texts_and_pictures() {
        let blocks = r#"[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","data":"AAA"}},
            {"type":"image","data":"BBB","mimeType":"image/png"},{"type":"image_url","image_url":{"url":"u"}},
            {"type":"input_image","image_url":"v"},{"type":"image"},{"type":"other"},7]"#;
        let image = |data| Content::Image(Cow::Borrowed(data));
        assert_eq!(
            result(&json(blocks)),
            [
                text("a"),
                image("AAA"),
                image("BBB"),
                image("u"),
                image("v"),
                image(""),
                text(r#"{"type":"other"}"#),
                text("7"),
            ]
        );
    }

    #[test]
    fn other_results_are_their_json() {
        for content in [r#"{"a":1}"#, "null", "12", r#""\ud800""#] {
            assert_eq!(result(&json(content)), [text(content)]);
        }
        assert!(result(&json("[]")).is_empty());
    }

    #[test]
    fn arguments_are_json_or_names_and_values() {
        let call = json(r#"{"path":"a\tb","limit":5}"#);
        let (named, count) = arguments(&call, ArgumentStyle::Named);
        assert_eq!((&*named, count), ("path\na\tb\nlimit\n5\n", 2));
        let (text, count) = arguments(&call, ArgumentStyle::Json);
        assert_eq!((&*text, count), (call.as_str(), 2));
    }

    #[test]
    fn arguments_that_are_no_object_are_their_json() {
        assert_eq!(arguments(&json("[1]"), ArgumentStyle::Named), (Cow::Borrowed("[1]"), 0));
    }
}
