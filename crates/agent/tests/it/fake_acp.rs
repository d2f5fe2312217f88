//! An agent of the Agent Client Protocol, played by a shell script. It answers the first two requests, records every
//! line that it receives in `$OUT/received`, and then runs the script of the test.

use crate::fake_agent::FakeAgent;

/// The beginning of every script. `hear` reads the next line, `say` prints a message, `update` an update of the
/// session, `chunk` a piece of text, and `stop` a stop reason.
const FIRST: &str = r#"
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >>"$OUT/received"; }
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":'"$1"'}}'; }
chunk() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
stop() { say '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"'"$1"'"}}'; }
may() { say '{"jsonrpc":"2.0","id":"p-1","method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","title":"rm -r build","kind":"execute","rawInput":{"command":"rm -r build"}},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}'; }
greet() {
  hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake"}}}'
  hear; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1","models":{"currentModelId":"m-0"}}}'
}
"#;

/// Returns an agent that completes the handshake, reads the prompt and then runs this script.
pub(crate) fn agent(rest: &str) -> FakeAgent {
    FakeAgent::new(&format!("{FIRST}greet\nhear\n{rest}\n"))
}

/// Returns an agent that runs only this script, without a handshake.
pub(crate) fn rude_agent(all: &str) -> FakeAgent {
    FakeAgent::new(&format!("{FIRST}{all}\n"))
}
