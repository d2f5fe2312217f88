//! The member that is an endpoint, against the same model server as the programs.

use std::collections::BTreeMap;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Endpoint, Mentions, Permissions, Timeouts, TurnReport,
    TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, Limits};
use tertulia_fake_models::{FakeModels, Script, Step};

use crate::trial::Heard;

fn ask(models: &FakeModels, content: &str) -> TurnReport {
    let endpoint = Endpoint { base_url: format!("{}/v1", models.url()).into(), key_variable: None };
    let spec = AgentSpec {
        kind: AgentKind::OpenAi(endpoint),
        program: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        model: Some("gpt-x".into()),
        cwd: ".".into(),
        permissions: Permissions::Read,
        timeouts: Timeouts::default(),
        limits: Limits::default(),
        resources: tertulia_agent::ResourceLimits::default(),
    };
    let messages = serde_json::json!({ "messages": [{ "role": "user", "content": content }] });
    let body = messages.to_string();
    let request = TurnRequest {
        turn: "endpoint",
        number: 0,
        prompt: "",
        mentions: Mentions::none(),
        system: None,
        body: Some(&body),
        memory: tertulia_agent::Memory::Fresh,
        message_start: 0,
    };
    tertulia_agent::run(&spec, &request, &CancelToken::new(), &mut Heard::default())
}

#[test]
fn an_endpoint_is_asked_and_answers_byte_for_byte() {
    let text = "fn f() {\n    \"漢字 🙂\"\n}";
    let models = FakeModels::start(Script::new([Step::text(text)])).unwrap();
    let report = ask(&models, "Show me.");
    assert_eq!(report.output.final_text.unwrap().text, text);
    let asked = models.asked();
    assert_eq!((asked[0].user.as_str(), asked[0].model.as_str()), ("Show me.", "gpt-x"));
}

#[test]
fn an_endpoint_s_failures_have_their_classes() {
    let cases = [
        (Step::Status(401), ErrorClass::Auth),
        (Step::Status(429), ErrorClass::Quota),
        (Step::Status(500), ErrorClass::Network),
        (Step::Overflow, ErrorClass::Overflow),
        (Step::DropMidStream("Half of an ans".into()), ErrorClass::Network),
        (Step::Refusal, ErrorClass::Refused),
        (Step::Empty, ErrorClass::Empty),
    ];
    for (step, class) in cases {
        let models = FakeModels::start(Script::new([step.clone()])).unwrap();
        let error = ask(&models, "Are you there?").output.error;
        assert_eq!(error.as_ref().map(|error| error.class), Some(class), "{step:?}: {error:?}");
    }
}
