//! What we say to an agent: one JSON-RPC message a line, with its line feed. Called by [`super::Acp`] and
//! [`super::AcpClient`].

use tertulia_session::json::Json;

/// The first line. We offer nothing: no files, no terminal.
pub(super) fn initialize() -> String {
    request(
        1,
        "initialize",
        r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"tertulia","version":"0"}}"#,
    )
}

pub(super) fn new_session(id: u64, cwd: &str) -> String {
    request(id, "session/new", &format!(r#"{{"cwd":{},"mcpServers":[]}}"#, text(cwd)))
}

pub(super) fn set_model(id: u64, session: &str, model: &str) -> String {
    let params = format!(r#"{{"sessionId":{},"modelId":{}}}"#, text(session), text(model));
    request(id, "session/set_model", &params)
}

pub(super) fn set_option(id: u64, session: &str, option: &str, value: &str) -> String {
    let [session, option, value] = [session, option, value].map(text);
    let params = format!(r#"{{"sessionId":{session},"configId":{option},"value":{value}}}"#);
    request(id, "session/set_config_option", &params)
}

pub(super) fn prompt(id: u64, session: &str, prompt: &str) -> String {
    let [session, prompt] = [session, prompt].map(text);
    let params =
        format!(r#"{{"sessionId":{session},"prompt":[{{"type":"text","text":{prompt}}}]}}"#);
    request(id, "session/prompt", &params)
}

pub(super) fn cancel(session: &str) -> String {
    let params = format!(r#"{{"sessionId":{}}}"#, text(session));
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{params}}}\n")
}

pub(super) fn chosen(id: &str, choice: Option<&str>) -> String {
    let outcome = match choice {
        Some(choice) => format!(r#"{{"outcome":"selected","optionId":{}}}"#, text(choice)),
        None => r#"{"outcome":"cancelled"}"#.to_owned(),
    };
    reply(id, &format!(r#""result":{{"outcome":{outcome}}}"#))
}

pub(super) fn not_offered(id: &str) -> String {
    refusal(id, -32601, "this client does not offer it")
}

pub(super) fn not_understood(id: &str) -> String {
    refusal(id, -32602, "the request cannot be read")
}

fn refusal(id: &str, code: i32, message: &str) -> String {
    reply(id, &format!(r#""error":{{"code":{code},"message":{}}}"#, text(message)))
}

/// An id that the agent chose may be spelled over several lines.
fn reply(id: &str, field: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{field}}}\n", id.replace(['\n', '\r'], " "))
}

fn request(id: u64, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

fn text(text: &str) -> String {
    Json::text(text).as_str().to_owned()
}
