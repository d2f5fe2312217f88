//! Any JSON as a request of every vendor: refused with a reason, or read, and said again to every vendor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::{Dialect, ModelContext};
use tertulia_session::json;

fuzz_target!(|text: &str| {
    let Ok(raw) = json::parse(text) else { return };
    for from in Dialect::ALL {
        let reading = match from.read(raw) {
            Ok(reading) => reading,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let context = ModelContext {
            tool_specs: &reading.tool_specs,
            cache_breakpoints: &reading.cache_breakpoints,
            ..ModelContext::new(&reading.messages)
        };
        for to in Dialect::ALL {
            let rendered = to.render(&context).fragment.to_json();
            let raw = json::parse(&rendered).expect("a request is JSON");
            to.read(raw).expect("what was written can be read");
        }
    }
});
