//! Reads any JSON as a request of every vendor: it must be refused with a reason, or read and written again for
//! every vendor.
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
            to.read(raw).expect("a written request can be read");
        }
    }
});
