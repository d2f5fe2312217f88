//! Reads any bytes as the output of an agent process that gets one turn after the other: there must be no panic, and
//! each turn must have an answer or an error. Also reads them as the end of a native session.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, read_tail};
use tertulia_dialect::stream::{
    AcpSession, AgentClient, AgentPrompt, CodexSession, Exit, Limits, LoadedSession, SessionTotals,
};

/// Small limits, so that short inputs exceed them.
const LIMITS: Limits = Limits { line_bytes_max: 1024, text_bytes_max: 512 };
const LOADED: LoadedSession<'_> =
    LoadedSession { session: "s-1", history: "", cost_usd: Some(0.5) };
const PROMPT: AgentPrompt<'_> = AgentPrompt { id: "u-1", context: "Eva: no.\n", message: "Why?" };

fuzz_target!(|bytes: &[u8]| {
    let session = CodexSession {
        cwd: "/p",
        model: None,
        sandbox: "read-only",
        instructions: None,
        resumed: None,
    };
    let totals = SessionTotals::default();
    for mut client in [
        AgentClient::codex(&session, totals, LIMITS),
        AgentClient::claude(None, totals, LIMITS),
        AgentClient::acp(&AcpSession { cwd: "/p", model: None, loaded: None }, LIMITS),
        AgentClient::acp(&AcpSession { cwd: "/p", model: None, loaded: Some(LOADED) }, LIMITS),
    ] {
        for chunk in [bytes.len().max(1), 1 + bytes.len() % 13] {
            client.begin(&PROMPT, &mut Vec::new());
            for piece in bytes.chunks(chunk) {
                client.push(piece, &mut Vec::new(), &mut Vec::new());
            }
            let output = client.finish(Exit::Code(0), "", &mut Vec::new());
            assert_eq!(output.final_text.is_some(), output.error.is_none());
        }
    }
    for format in NativeFormat::ALL {
        read_tail(format, bytes, None);
        read_tail(format, bytes, Some("a-1"));
    }
});
