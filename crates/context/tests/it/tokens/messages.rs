//! The tokens of messages, tools and pictures.

use tertulia_context::tokens::{
    CountProblem, MessageCount, MessageCounter, TokenCache, TokenCount, Tokenizer, ToolSpec, Vendor,
};
use tertulia_session::json::Json;
use tertulia_session::{
    FileRef, Image, ImageSource, Message, OtherPart, Part, PartKind, Speaker, SpeakerType,
    ToolCall, ToolResult,
};

/// A picture of 640 × 480.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA=";

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn message(parts: impl IntoIterator<Item = PartKind>) -> Message {
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    let mut message = Message::said(ann, "");
    message.parts = parts.into_iter().map(Part::new).collect();
    message
}

fn text(text: &str) -> PartKind {
    PartKind::Text(text.to_owned())
}

fn image(source: ImageSource) -> PartKind {
    PartKind::Image(Box::new(Image { mime_type: "image/png".into(), source }))
}

fn call(arguments: &str, raw: Option<&str>) -> PartKind {
    PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: "call-1".into(),
        tool_name: "read".into(),
        arguments: json(arguments),
        raw_args_text: raw.map(Into::into),
    }))
}

fn result(content: &str) -> PartKind {
    PartKind::ToolResult(Box::new(ToolResult {
        tool_call_id: "call-1".into(),
        is_error: false,
        content: json(content),
    }))
}

fn count(tokenizer: Tokenizer, part: PartKind) -> MessageCount {
    MessageCounter::new(tokenizer).count_message(&message([part]))
}

fn tokens(tokenizer: Tokenizer, part: PartKind) -> u64 {
    count(tokenizer, part).count.tokens
}

#[test]
fn a_text_to_openai_costs_its_words_and_three() {
    let counted = count(Tokenizer::O200k, text("Hello, world!"));
    assert_eq!(counted.count, TokenCount::exact(4 + 3));
    assert!(counted.notes.is_empty());
}

#[test]
fn a_call_costs_its_name_its_arguments_and_a_wrapper() {
    let words = Tokenizer::O200k.count("read") + Tokenizer::O200k.count(r#"{"path":"a.rs"}"#);
    assert_eq!(
        count(Tokenizer::O200k, call(r#"{"path": "a.rs"}"#, None)).count,
        TokenCount::estimated(words.tokens + 3 + 3)
    );
}

#[test]
fn arguments_that_are_no_json_are_counted_as_they_were_written() {
    let broken = r#"{"path": "a"#;
    let words = Tokenizer::O200k.count("read") + Tokenizer::O200k.count(broken);
    assert_eq!(tokens(Tokenizer::O200k, call("null", Some(broken))), words.tokens + 3 + 3);
}

#[test]
fn each_argument_costs_something_for_claude() {
    let one = tokens(Tokenizer::Claude, call(r#"{"a":"x"}"#, None));
    let two = tokens(Tokenizer::Claude, call(r#"{"a":"x","b":"y"}"#, None));
    assert!((12..20).contains(&(two - one)), "{one} {two}");
}

#[test]
fn a_result_costs_what_it_says_and_not_how_it_is_escaped() {
    let plain = tokens(Tokenizer::O200k, text("two\n\"lines\""));
    assert_eq!(tokens(Tokenizer::O200k, result(r#""two\n\"lines\"""#)), plain + 3);
}

#[test]
fn a_picture_costs_by_its_size_wherever_it_stands() {
    let data = ImageSource::Data(PNG.into());
    assert_eq!(count(Tokenizer::Claude, image(data.clone())).count, TokenCount::estimated(410 + 3));
    assert_eq!(tokens(Tokenizer::O200k, image(data.clone())), 85 + 170 * 2 + 3);
    assert_eq!(tokens(Tokenizer::Gemma, image(data)), 258 * 4 + 5);
    let inside = format!(r#"[{{"type":"image","source":{{"type":"base64","data":"{PNG}"}}}}]"#);
    assert_eq!(tokens(Tokenizer::Claude, result(&inside)), 410 + 25 + 3);
    let address = ImageSource::Url(format!("data:image/png;base64,{PNG}").into());
    assert_eq!(tokens(Tokenizer::Claude, image(address)), 410 + 3);
}

#[test]
fn the_length_of_base64_does_not_matter() {
    let long = format!("{PNG}{}", "A".repeat(1_000_000));
    let long = long.replacen('=', "", 1);
    let (short, long) = (ImageSource::Data(PNG.into()), ImageSource::Data(long.into()));
    for tokenizer in Tokenizer::BUILT_IN {
        assert_eq!(
            tokens(tokenizer.clone(), image(short.clone())),
            tokens(tokenizer, image(long.clone()))
        );
    }
}

#[test]
fn a_picture_that_cannot_be_read_has_a_fixed_price_and_a_note() {
    for (source, problem) in [
        (ImageSource::Data("%%%".into()), CountProblem::ImageUnreadable { tokens: 1_600 }),
        (ImageSource::Data("".into()), CountProblem::ImageUnreadable { tokens: 1_600 }),
        (
            ImageSource::Url("https://a.b/c.png".into()),
            CountProblem::ImageElsewhere { tokens: 1_600 },
        ),
    ] {
        let counted = count(Tokenizer::Claude, image(source));
        assert_eq!(counted.count, TokenCount::estimated(1_603));
        assert_eq!(counted.notes.len(), 1);
        assert_eq!((counted.notes[0].part, counted.notes[0].problem), (0, problem));
    }
    let note = count(Tokenizer::O200k, image(ImageSource::Data("!".into()))).notes[0];
    assert_eq!(
        note.to_string(),
        "part 0: the size of the image cannot be read; counted as 1445 tokens"
    );
}

#[test]
fn a_file_costs_its_path_whatever_its_size() {
    let file = FileRef { path: "src/main.rs".into(), mime_type: None, size: Some(1 << 40) };
    let path = Tokenizer::O200k.count("src/main.rs").tokens;
    assert_eq!(tokens(Tokenizer::O200k, PartKind::FileRef(Box::new(file))), path + 3);
}

#[test]
fn a_part_that_nobody_knows_costs_its_json() {
    let part = OtherPart { kind: "audio".into(), payload: Some(json(r#"{"a":1}"#)) };
    let words = Tokenizer::O200k.count("audio") + Tokenizer::O200k.count(r#"{"a":1}"#);
    assert_eq!(tokens(Tokenizer::O200k, PartKind::Other(Box::new(part))), words.tokens + 3);
}

#[test]
fn an_empty_message_costs_its_wrapper() {
    let counter = MessageCounter::new(Tokenizer::O200k);
    assert_eq!(counter.count_message(&message([])).count, TokenCount::exact(3));
}

#[test]
fn tools_cost_their_json_and_their_wrappers() {
    let tool = ToolSpec {
        name: "read".into(),
        description: Some("Reads a \"file\"".into()),
        parameter_schema: json(r#"{"type":"object"}"#),
        strict: Some(true),
    };
    let text = r#"{"name":"read","description":"Reads a \"file\"","parameterSchema":{"type":"object"},"strict":true}"#;
    assert_eq!(tool.to_json(), text);
    let counter = MessageCounter::new(Tokenizer::O200k);
    let words = Tokenizer::O200k.count(text).tokens;
    assert_eq!(counter.count_tools(std::slice::from_ref(&tool)).tokens, words + 7 + 12);
    assert_eq!(counter.count_tools(&[tool.clone(), tool]).tokens, 2 * (words + 7) + 12);
    assert_eq!(counter.count_tools(&[]), TokenCount::ZERO);
}

#[test]
fn a_cache_changes_nothing_but_the_work() {
    let counter = MessageCounter { tokenizer: Tokenizer::O200k, vendor: Vendor::Anthropic };
    let long = message([
        text("Hello"),
        PartKind::Thinking("so".into()),
        call(r#"{"a":"Hello"}"#, None),
        result(r#""Hello""#),
        image(ImageSource::Data("%".into())),
    ]);
    let mut cache = TokenCache::default();
    let whole = counter.count_message(&long);
    for _ in 0..2 {
        assert_eq!(counter.count_message_cached(&long, &mut cache), whole);
    }
    assert_eq!(cache.misses(), 4);
}
