//! Reads any bytes as messages between the processes of one session: there must be no panic, the lines must not depend
//! on how the bytes arrive, and a message that was read must be the same after it was written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_team::wire::{ClientMessage, HostMessage, LineBuffer, WireError};

fuzz_target!(|bytes: &[u8]| {
    let lines = lines_of(bytes, bytes.len().max(1));
    assert_eq!(lines, lines_of(bytes, 1 + bytes.len() % 13), "chunks do not matter");
    for line in lines.into_iter().flatten() {
        match ClientMessage::read(&line) {
            Ok(message) => {
                let written = message.to_line();
                assert!(!written.contains('\n'), "a message is one line");
                assert_eq!(ClientMessage::read(&written), Ok(message));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        match HostMessage::read(&line) {
            Ok(message) => check_host_message(message),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

/// Splits the bytes into lines. They arrive in chunks of this size.
fn lines_of(bytes: &[u8], chunk: usize) -> Vec<Result<String, WireError>> {
    let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());
    for piece in bytes.chunks(chunk) {
        buffer.push(piece);
        while let Some(line) = buffer.next_line() {
            lines.push(line.map(str::to_owned));
        }
    }
    lines
}

fn check_host_message(message: HostMessage) {
    let written = message.to_line();
    assert!(!written.contains('\n'), "a message is one line");
    assert_eq!(HostMessage::read(&written), Ok(message.clone()));
    if let Ok(event) = message.clone().into_event() {
        assert_eq!(HostMessage::from_event(&event), Some(message), "an event is the same event");
    }
}
