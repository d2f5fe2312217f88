//! Tool arguments as the text that a model reads: JSON taken apart only as far as counting needs it. Called by
//! [`super::MessageCounter`]; never fails, since JSON that cannot be taken apart is counted as the text it is.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Object};

/// How the arguments of a call are written down for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentStyle {
    /// As the JSON text.
    Json,
    /// Name by name, with strings as they are: what Claude's counts fit best.
    Named,
}

/// The arguments as text, and how many there are.
pub(super) fn text(arguments: &Json, style: ArgumentStyle) -> (Cow<'_, str>, u64) {
    let whole = || Cow::Borrowed(arguments.as_str());
    let Ok(object) = Object::try_from(arguments.raw()) else { return (whole(), 0) };
    let count = object.names().count() as u64;
    match style {
        ArgumentStyle::Json => (whole(), count),
        ArgumentStyle::Named => {
            let mut text = String::with_capacity(arguments.as_str().len());
            for (name, value) in object.into_fields() {
                text.push_str(&name);
                text.push('\n');
                text.push_str(&json::words(value));
                text.push('\n');
            }
            (Cow::Owned(text), count)
        }
    }
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
        let (named, count) = text(&call, ArgumentStyle::Named);
        assert_eq!((&*named, count), ("path\na\tb\nlimit\n5\n", 2));
        let (whole, count) = text(&call, ArgumentStyle::Json);
        assert_eq!((&*whole, count), (call.as_str(), 2));
    }

    #[test]
    fn arguments_that_are_no_object_are_their_json() {
        assert_eq!(text(&json("[1]"), ArgumentStyle::Named), (Cow::Borrowed("[1]"), 0));
    }
}
