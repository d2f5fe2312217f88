//! Checks rendered requests by the vendors' rules, which are in `tertulia-fake-models`.

use serde_json::Value;
use tertulia_dialect::Dialect;
use tertulia_fake_models::{Vendor, violations};

#[track_caller]
pub(crate) fn assert_valid(dialect: Dialect, request: &str) {
    let value: Value = serde_json::from_str(request).expect(request);
    let vendor = match dialect {
        Dialect::OpenAiChat => Vendor::Chat,
        Dialect::OpenAiResponses => Vendor::Responses,
        Dialect::Anthropic => Vendor::Anthropic,
        Dialect::Gemini => Vendor::Gemini,
    };
    let found = violations(vendor, &value);
    assert!(found.is_empty(), "{dialect:?}: {found:#?}\n{request}");
}
