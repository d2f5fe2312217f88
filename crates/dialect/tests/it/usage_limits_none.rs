//! Texts that are no usage limit of the agent: other errors, and texts about limits.

use proptest::prelude::*;
use tertulia_dialect::stream::UsageLimit;

const OTHERS: &[&str] = &[
    // The service is overloaded or out of reach.
    r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    "API Error: Repeated 529 Overloaded errors",
    "We're currently experiencing high demand, which may cause temporary errors.",
    "Selected model is at capacity. Please try a different model.",
    r#"{"error":{"code":429,"message":"No capacity available for model gemini-3-flash-preview on the server","status":"RESOURCE_EXHAUSTED","details":[{"reason":"MODEL_CAPACITY_EXHAUSTED"}]}}"#,
    r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#,
    "stream disconnected before completion: error sending request for url (https://example.com)",
    "API Error: Connection error.",
    "API Error: 500 Internal server error",
    "The endpoint took too long. Try again in 5 minutes.",
    // Key, permission, setup.
    "Invalid API key · Please run /login",
    "401 Unauthorized: Missing bearer authentication in header",
    "Your organization has disabled Claude subscription access",
    r#"{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}"#,
    "error: unexpected argument '--limit' found",
    // Limits of the model or of the run.
    "Prompt is too long",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    r#"{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}"#,
    "API Error: Claude's response exceeded the 32000 output token maximum.",
    "Reached maximum number of turns (5)",
    "Reached maximum budget ($1)",
    "Reached max session turns for this session. Increase the number of turns by specifying maxSessionTurns in settings.json.",
    "the answer is longer than the limit",
    "File content (33048 tokens) exceeds maximum allowed tokens (25000). Use offset and limit parameters to read specific portions of the file",
    "Request too large (max 32MB). Try with a smaller file.",
    "error_max_turns",
    // Limits of the machine.
    "write failed: Disk quota exceeded (os error 122)",
    "ENOSPC: System limit for number of file watchers reached, watch '/src'",
    "ulimit: open files: cannot modify limit: Operation not permitted",
    "fatal: memory limit reached, process was killed",
    "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5000000 vs. 4194304)",
    // Limits of other services, in the output of tools.
    "gh: API rate limit exceeded for user ID 1234. (HTTP 403)",
    r#"{"message":"API rate limit exceeded for 192.0.2.1. (But here's the good news: Authenticated requests get a higher rate limit.)","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}"#,
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    "toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and upgrading",
    "npm error 429 Too Many Requests - GET https://registry.npmjs.org/left-pad",
    "429 Client Error: Too Many Requests for url: https://pypi.org/simple/",
    "curl: (22) The requested URL returned error: 429",
    "APIError: [429]: Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per user' of service 'sheets.googleapis.com' for consumer 'project_number:1'.",
    "received unexpected HTTP status: 429 Too Many Requests",
    "Slack API: ratelimited, retry after 30",
    // Prose and files.
    "",
    "There is no limit.",
    "The speed limit on this road is 50, the weekly limit of working hours is 40.",
    "If the Claude usage limit reached message appears, wait until it resets at 3pm.",
    "Users who say \"You've hit your usage limit\" should be sent to the billing page.",
    "Document what happens when you've hit your weekly limit: the page shows the reset time.",
    "pub const RATE_LIMIT: u32 = 60; // requests per minute, resets at midnight",
    "## Rate limiting\n\nThe server answers 429 and `Retry-After: 120` if a client sends too many requests.",
    "fn hit_your_limit(quota: Quota) -> Result<(), LimitReached>",
    "The bank's API reports an insufficient balance of the account.",
    "SELECT * FROM usage LIMIT 10",
    "The test expects `monthly usage limit reached`, but the page says something else.",
    "Reset the counter at 3pm and try again in 5 minutes.",
    "retry-after: 120",
];

#[test]
fn other_errors_and_texts_about_limits_are_not_recognised() {
    assert!(OTHERS.len() >= 40);
    for text in OTHERS {
        assert_eq!(UsageLimit::from_message(text), None, "{text}");
    }
}

#[test]
fn a_long_text_is_searched_only_at_its_start() {
    let limit = "You've hit your weekly limit · resets 3pm";
    let before = format!("{}\n{limit}", "é".repeat(4000));
    assert_eq!(UsageLimit::from_message(&before), UsageLimit::from_message(limit));
    let after = format!("{}\n{limit}", "é".repeat(5000));
    assert_eq!(UsageLimit::from_message(&after), None);
    for cue in ["resets ", "try again in 1 ", "retry-after: ", "Mon ", "{\"", "\\\\", "Jan 1, "] {
        let hostile = format!("You've hit your usage limit. {}", cue.repeat(100_000));
        assert!(UsageLimit::from_message(&hostile).is_some(), "{cue}");
    }
}

/// Pieces of messages, so that the parsers of times are reached.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("You've hit your usage limit. ".to_owned()),
        Just("resets at ".to_owned()),
        Just("try again in ".to_owned()),
        Just("retry-after: ".to_owned()),
        Just("\"resets_at\":".to_owned()),
        Just("Jan ".to_owned()),
        Just("Mon, ".to_owned()),
        Just("2026-02-".to_owned()),
        Just("T25:00:00Z".to_owned()),
        Just(" GMT".to_owned()),
        Just("quotaId: GeneratePerDay".to_owned()),
        "[0-9]{1,25}",
        "[0-9:.]{1,12} ?(am|pm|s|h|days)?",
        "\\PC{0,8}",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_the_search_panic(text in "\\PC*") {
        let _ = UsageLimit::from_message(&text);
    }

    #[test]
    fn no_mixture_of_pieces_makes_it_panic(
        pieces in proptest::collection::vec(piece(), 0..12),
        now in any::<i64>(),
    ) {
        let text = format!("You've hit your usage limit. {}", pieces.concat());
        let limit = UsageLimit::from_message(&text);
        prop_assert!(limit.is_some());
        if let Some(resets) = limit.and_then(|limit| limit.resets) {
            let now = tertulia_session::Timestamp::from_millis(now);
            let _ = resets.resolve(&now, &jiff::tz::TimeZone::UTC, |_| None);
        }
    }
}
