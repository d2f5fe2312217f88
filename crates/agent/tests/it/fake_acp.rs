//! An agent of the Agent Client Protocol, played by a shell. It answers the first two requests, notes all
//! that it is received in `$OUT/received`, and then does what the test says.

use crate::fake_agent::FakeAgent;

/// What every script begins with. `hear` takes the next line, `say` a whole message, `update` an update of
/// the session, `chunk` a piece of text, `stop` a stop reason.
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

/// Returns a fake agent with an agent that greets and takes the prompt before it does this.
pub(crate) fn agent(rest: &str) -> FakeAgent {
    FakeAgent::new(&format!("{FIRST}greet\nhear\n{rest}\n"))
}

/// Returns a fake agent with an agent that does only this.
pub(crate) fn rude_agent(all: &str) -> FakeAgent {
    FakeAgent::new(&format!("{FIRST}{all}\n"))
}
