//! Conversations that every vendor's format can express without loss, in the form that its reader returns.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tertulia_dialect::Dialect;
use tertulia_session::{ImageSource, Message, Part, Role};

use crate::messages::{call_with, image, message, png, result_part, thinking, with_field};

/// The content of a conversation, independent of vendors.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    system: Vec<String>,
    rounds: Vec<Round>,
}

#[derive(Clone, Debug)]
struct Round {
    user: Vec<Said>,
    steps: Vec<Step>,
    answer: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Said {
    Text(String),
    Picture,
    Address,
}

#[derive(Clone, Debug)]
struct Step {
    thought: Option<String>,
    words: Vec<String>,
    calls: Vec<(usize, usize, bool)>,
}

/// Generates texts that are not blank and do not end with whitespace.
fn words() -> impl Strategy<Value = String> {
    "[ a-zé\"\\\\\n漢]{0,6}[.x]"
}

pub(crate) fn conversation() -> impl Strategy<Value = Conversation> {
    let said = prop_oneof![
        4 => words().prop_map(Said::Text),
        1 => Just(Said::Picture),
        1 => Just(Said::Address),
    ];
    let calls = vec((0..4usize, 0..4usize, any::<bool>()), 1..4);
    let step = (option::of(words()), vec(words(), 0..3), calls)
        .prop_map(|(thought, words, calls)| Step { thought, words, calls });
    let answer = option::of(vec(words(), 1..3));
    let round = (vec(said, 1..4), vec(step, 0..3), answer)
        .prop_map(|(user, steps, answer)| Round { user, steps, answer });
    (vec(words(), 0..3), vec(round, 1..4))
        .prop_map(|(system, rounds)| Conversation { system, rounds })
}

impl Conversation {
    /// Returns the conversation in messages that this vendor can express.
    pub(crate) fn messages(&self, dialect: Dialect) -> Vec<Message> {
        let mut all = Vec::new();
        let system = self.system.iter().take(match dialect {
            Dialect::OpenAiResponses => 1,
            _ => self.system.len(),
        });
        let system: Vec<Part> = system.map(Part::text).collect();
        if !system.is_empty() {
            all.push(message(Role::System, system));
        }
        let mut calls = 0;
        for (at, round) in self.rounds.iter().enumerate() {
            // If the previous round has no answer, the user message is left out, because two in a row would become
            // one.
            if !matches!(all.last(), Some(Message { role: Some(Role::User), .. })) {
                all.push(message(Role::User, user_parts(dialect, &round.user)));
            }
            for step in &round.steps {
                push_step(&mut all, dialect, step, &mut calls);
            }
            let is_last = at + 1 == self.rounds.len();
            // For Gemini the last message must be the user's.
            let answer = round.answer.as_ref().filter(|_| !(is_last && dialect == Dialect::Gemini));
            if let Some(answer) = answer {
                all.push(message(Role::Assistant, answer.iter().map(Part::text).collect()));
            }
        }
        all
    }
}

fn user_parts(dialect: Dialect, said: &[Said]) -> Vec<Part> {
    // Only Gemini's format has a type for a picture with a URL.
    let address_type = if dialect == Dialect::Gemini { "image/png" } else { "image/*" };
    let url = ImageSource::Url("https://a.example/b.png".into());
    let part = |said: &Said| match said {
        Said::Text(text) => Part::text(text),
        Said::Picture => png(),
        Said::Address => image(address_type, url.clone()),
    };
    said.iter().map(part).collect()
}

fn push_step(all: &mut Vec<Message>, dialect: Dialect, step: &Step, calls: &mut usize) {
    let mut parts = Vec::new();
    let field = match dialect {
        Dialect::OpenAiChat => None,
        Dialect::OpenAiResponses => Some("encryptedContent"),
        Dialect::Anthropic => Some("signature"),
        Dialect::Gemini => Some("thoughtSignature"),
    };
    if let (Some(thought), Some(field)) = (&step.thought, field) {
        parts.push(with_field(thinking(thought), field, "c2ln"));
    }
    parts.extend(step.words.iter().map(Part::text));
    let mut results = Vec::new();
    for (arguments, content, is_error) in &step.calls {
        *calls += 1;
        let id = format!("call_{calls}");
        parts.push(call(dialect, &id, *arguments));
        let content = if *is_error { r#""broken""# } else { contents(dialect)[*content] };
        results.push(message(Role::Tool, vec![result_part(&id, *is_error, content)]));
    }
    all.push(message(Role::Assistant, parts));
    all.extend(results);
}

fn call(dialect: Dialect, id: &str, arguments: usize) -> Part {
    let (arguments, raw) = match (dialect, arguments) {
        (_, 0) => ("{}", None),
        (_, 1) => (r#"{"path":"a\nb","n":1.50}"#, None),
        // OpenAI's format contains arguments as the model wrote them, even invalid ones.
        (Dialect::OpenAiChat | Dialect::OpenAiResponses, 2) => ("null", Some(r#"{"path":"#)),
        (Dialect::OpenAiChat | Dialect::OpenAiResponses, _) => {
            (r#"{"a":1}"#, Some(r#"{ "a": 1 }"#))
        }
        _ => (r#"{"deep":{"list":[1,null,true]}}"#, None),
    };
    call_with(id, "read_file", arguments, raw)
}

/// Returns contents of results that a reader returns unchanged.
fn contents(dialect: Dialect) -> [&'static str; 4] {
    match dialect {
        Dialect::OpenAiChat => [
            r#""""#,
            r#""two\nlines""#,
            r#""{\"a\":1}""#,
            r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
        ],
        Dialect::OpenAiResponses => [
            r#""""#,
            r#""two\nlines""#,
            r#"[{"type":"input_text","text":"a"}]"#,
            r#"[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]"#,
        ],
        Dialect::Anthropic => [
            r#""""#,
            r#""two\nlines""#,
            r#"[{"text":"a","type":"text"}]"#,
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]"#,
        ],
        Dialect::Gemini => [r#""""#, r#""two\nlines""#, r#"{"rows":[1]}"#, r#"{"output":2}"#],
    }
}

#[test]
fn the_generator_gives_conversations_with_pairs() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = conversation();
    let has_results = |seed: Conversation| {
        let messages = seed.messages(Dialect::Anthropic);
        messages.iter().filter(|message| message.role == Some(Role::Tool)).count() > 1
    };
    let rich =
        (0..100).filter(|_| has_results(strategy.new_tree(&mut runner).unwrap().current())).count();
    assert!(rich > 50, "{rich} of 100 have parallel or serial calls");
}
