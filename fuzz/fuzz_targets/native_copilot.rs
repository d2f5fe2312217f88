//! Reads any bytes as a session of Copilot CLI.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::NativeFormat;

fuzz_target!(|bytes: &[u8]| common::check(NativeFormat::Copilot, bytes));
