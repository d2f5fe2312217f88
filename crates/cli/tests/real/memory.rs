//! A talk of four agents that keep their own sessions: each request extends the one before, and costs a fraction of the
//! same talk without memory.

use serde_json::Value;
use tertulia_fake_models::{Asked, Step};

use crate::captured::conversation;
use crate::workspace::{Run, Workspace};
use crate::{CLAUDE, CODEX, GEMINI_ASKED, OPENCODE};

const TURNS: usize = 40;
const MODELS: [(&str, &str); 4] =
    [(CLAUDE, "eva"), (CODEX, "leo"), (OPENCODE, "kim"), (GEMINI_ASKED, "max")];
/// Number of lines of the text that the person begins with: about 150 kB.
const LINES: usize = 3_000;
/// Relative prices of input tokens that come from a cache, and of those that are written to it.
const CACHED: f64 = 0.1;
const WRITTEN: f64 = 1.25;
/// The highest cost as a part of the cost without memory.
const RATIO_MAX: f64 = 0.25;

/// Runs a talk in which each member hands over to the next one.
fn talk(memory: &str) -> Workspace {
    let workspace = Workspace::of_four(memory);
    for (model, next) in MODELS {
        let rounds = TURNS / MODELS.len();
        let answer = |round: usize| {
            let next = if round == rounds && next == "max" { "ann" } else { next };
            Step::text(&format!("This is my answer number {round}.\n\n[NEXT: {next}]"))
        };
        workspace.does(model, (1..=rounds).map(answer));
    }
    let line = |number| format!("{number}: the event loop waited for the gateway\n");
    let log: String = (0..LINES).map(line).collect();
    let run: Run = workspace.run_with_input(&["--member", "max", "-"], &log);
    assert_eq!(run.code, Some(0), "{}", run.talk);
    assert_eq!(workspace.said().len(), 1 + TURNS, "{}", run.talk);
    assert_eq!(workspace.processes(), [] as [String; 0]);
    workspace
}

#[test]
fn every_request_of_a_talk_extends_the_one_before_and_costs_a_quarter_of_a_fresh_one() {
    let native = talk("native");
    let mut extended = 0;
    for (model, _) in MODELS {
        let asked = native.asked(model);
        assert_eq!(asked.len(), TURNS / MODELS.len(), "requests to {model}");
        for pair in asked.windows(2) {
            let (before, after) = (conversation(&pair[0]), conversation(&pair[1]));
            assert!(after.len() > before.len(), "{model}");
            assert_eq!(after[..before.len()], before, "{model}: the history has changed");
            assert_eq!(pair[0].tools, pair[1].tools, "{model}");
            extended += 1;
        }
    }
    assert!(native.replay_is_equal());
    let cost = |workspace: &Workspace| MODELS.map(|(model, _)| cost_of(&workspace.asked(model)));
    let (warm, fresh) = (cost(&native), cost(&talk("fresh")));
    for (number, (model, _)) in MODELS.iter().enumerate() {
        println!("{model}: {:.3} of fresh", warm[number] / fresh[number]);
    }
    let ratio = warm.iter().sum::<f64>() / fresh.iter().sum::<f64>();
    println!("{extended} requests extend the one before; input cost {ratio:.3} of fresh");
    assert!(ratio <= RATIO_MAX, "{ratio}");
}

/// Returns the cost of the input of these requests, if the provider keeps the beginning of every earlier one. Caches hold
/// whole parts: the tools, the system text, and messages.
fn cost_of(asked: &[Asked]) -> f64 {
    let inputs: Vec<Vec<String>> = asked.iter().map(parts).collect();
    let bytes = |parts: &[String]| parts.iter().map(String::len).sum::<usize>();
    let mut cost = 0.0;
    for (number, input) in inputs.iter().enumerate() {
        let common = |before: &Vec<String>| {
            let same = before.iter().zip(input).take_while(|(before, now)| before == now);
            bytes(input.get(..same.count()).unwrap_or_default())
        };
        let cached = inputs[..number].iter().map(common).max().unwrap_or_default();
        cost += CACHED * cached as f64 + WRITTEN * (bytes(input) - cached) as f64;
    }
    cost
}

/// Returns the parts of a request in the order in which a model reads them.
fn parts(asked: &Asked) -> Vec<String> {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let names =
        ["tools", "system", "instructions", "systemInstruction", "messages", "input", "contents"];
    let mut parts = Vec::new();
    for name in names {
        let mut part = body.get(name).cloned().unwrap_or_default();
        normalise(&mut part);
        match part {
            Value::Null => {}
            Value::Array(messages) if ["messages", "input", "contents"].contains(&name) => {
                parts.extend(messages.iter().map(Value::to_string));
            }
            part => parts.push(part.to_string()),
        }
    }
    parts
}

/// Removes the marks for caches, which move from request to request.
fn normalise(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            if let Some(Value::String(text)) = fields.get("content") {
                let content = serde_json::json!([{ "type": "text", "text": text }]);
                fields.insert("content".to_owned(), content);
            }
            fields.values_mut().for_each(normalise);
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalise),
        _ => {}
    }
}
