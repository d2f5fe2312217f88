//! The error bodies of OpenAI. Responses and Chat Completions share them.

use serde_json::{Value, json};

/// Returns the body for an HTTP status.
pub(crate) fn of_status(status: u16) -> Value {
    let (message, kind, code) = match status {
        401 => ("Incorrect API key provided.", "invalid_request_error", Some("invalid_api_key")),
        403 => ("You are not allowed to use this model.", "permission_error", None),
        404 => ("The model does not exist.", "invalid_request_error", Some("model_not_found")),
        429 => ("Rate limit reached. Please try again.", "requests", Some("rate_limit_exceeded")),
        503 => ("The engine is currently overloaded.", "service_unavailable_error", None),
        400 => ("The request is not valid.", "invalid_request_error", None),
        _ => ("The server had an error while processing your request.", "server_error", None),
    };
    body(message, kind, code)
}

/// Returns the error for a prompt that is too large.
pub(crate) fn overflow() -> Value {
    let message = "Your input exceeds the context window of this model. Please adjust your input \
                   and try again.";
    body(message, "invalid_request_error", Some("context_length_exceeded"))
}

/// The plan is used up.
pub(crate) fn usage_limit() -> Value {
    json!({ "error": {
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "plan_type": "plus",
        "resets_in_seconds": 13_872,
    } })
}

fn body(message: &str, kind: &str, code: Option<&str>) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}
