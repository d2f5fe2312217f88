//! Passes any lines to `tertulia rpc`: every output line must be JSON, and there must be no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_operations::rpc::RpcServer;

fuzz_target!(|text: &str| {
    let mut server = RpcServer::new(|| 0);
    let mut out = Vec::new();
    for line in text.split('\n') {
        server.answer(line, &mut out).expect("memory takes every answer");
    }
    let out = String::from_utf8(out).expect("answers are UTF-8");
    for line in out.lines() {
        let answer: &serde_json::value::RawValue =
            serde_json::from_str(line).expect("answers are JSON");
        assert!(answer.get().starts_with(['{', '[']));
    }
});
