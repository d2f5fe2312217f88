//! Builds the body of a request for a streamed completion. The `agent` crate calls it and sends the body. It is here
//! because only this crate contains vendors' JSON.

use std::fmt::Write as _;

use tertulia_session::json::{self, FieldError, Json, Object, SyntaxError};

/// Fields that we set, because they decide the format of the response.
const OURS: [&str; 2] = ["stream", "stream_options"];

/// A body that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The body is JSON, but does not contain the fields of a request.
    #[error(transparent)]
    Shape(#[from] FieldError),
}

/// Builds the body. It contains the fields of `body` (messages and tools, as
/// [`Dialect::OpenAiChat`](crate::Dialect::OpenAiChat) renders them), or without `body` the system text and the
/// prompt as messages. It also contains the model, if one is requested, and the options for streaming and for usage
/// at the end. Values keep their spelling.
pub fn chat_request(
    body: Option<&str>,
    model: Option<&str>,
    system: Option<&str>,
    prompt: &str,
) -> Result<String, BodyError> {
    let mut written = String::from("{");
    let mut field = |name: &str, value: &str| {
        let comma = if written.len() > 1 { "," } else { "" };
        // Writing into a string cannot fail.
        let _ = write!(written, "{comma}{}:{value}", Json::text(name).as_str());
    };
    if let Some(model) = model {
        field("model", Json::text(model).as_str());
    }
    match body {
        Some(body) => {
            for (name, value) in Object::try_from(json::parse(body)?)?.into_fields() {
                let is_ours = OURS.contains(&&*name) || (name == "model" && model.is_some());
                if !is_ours {
                    field(&name, value.get());
                }
            }
        }
        None => field("messages", &messages(system, prompt)),
    }
    field("stream", "true");
    field("stream_options", r#"{"include_usage":true}"#);
    written.push('}');
    Ok(written)
}

fn messages(system: Option<&str>, prompt: &str) -> String {
    let message = |role: &str, text: &str| {
        format!(r#"{{"role":"{role}","content":{}}}"#, Json::text(text).as_str())
    };
    let user = message("user", prompt);
    match system {
        Some(system) => format!("[{},{user}]", message("system", system)),
        None => format!("[{user}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_body_the_messages_are_made_of_system_text_and_prompt() {
        assert_eq!(
            chat_request(None, Some("m\"1"), Some("Be kind."), "Hello\n").unwrap(),
            r#"{"model":"m\"1","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hello\n"}],"stream":true,"stream_options":{"include_usage":true}}"#
        );
    }

    #[test]
    fn the_fields_of_a_body_stay_as_they_are_spelled_except_ours() {
        let body = r#"{"messages":[ 1.0 ],"stream":false,"model":"theirs","x":1e400}"#;
        assert_eq!(
            chat_request(Some(body), Some("ours"), None, "unread").unwrap(),
            r#"{"model":"ours","messages":[ 1.0 ],"x":1e400,"stream":true,"stream_options":{"include_usage":true}}"#
        );
        let kept = chat_request(Some(body), None, None, "").unwrap();
        assert!(kept.contains(r#""model":"theirs""#), "{kept}");
    }

    #[test]
    fn a_body_that_is_no_object_is_an_error() {
        assert!(chat_request(Some("[]"), None, None, "").is_err());
        assert!(chat_request(Some("{"), None, None, "").is_err());
    }
}
