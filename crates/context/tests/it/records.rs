//! The input and output of assemblers as JSON, in the form that the program reads and writes.

use tertulia_context::record::{Detail, PromptRecord, read_assembler_input};
use tertulia_context::{Assembler, AssemblerInput, DEFAULT_MAX_BYTES};
use tertulia_session::json::{self, FieldError};

use crate::harness::{everything, line, nothing, within};

fn read(text: &str) -> Result<AssemblerInput<'static>, FieldError> {
    read_assembler_input(json::parse(text).unwrap())
}

fn written(input: &AssemblerInput<'_>) -> String {
    serde_json::to_string(input).unwrap()
}

#[test]
fn an_input_is_read_as_it_was_written() {
    for input in [nothing(), everything(), within(u64::MAX, everything())] {
        assert_eq!(read(&written(&input)).unwrap(), input);
    }
}

#[test]
fn an_input_is_written_in_the_shape_of_the_contract() {
    assert_eq!(
        written(&nothing()),
        r#"{"contextMessages":[],"currentMessage":"","teamTask":null,"maxBytes":786432}"#
    );
    let input = AssemblerInput {
        context_messages: vec![line("a", None, "x"), line("b", Some("c"), "y")],
        system_instruction: Some("s".into()),
        instruction_file_text: Some("f".into()),
        ..nothing()
    };
    assert_eq!(
        written(&input),
        concat!(
            r#"{"contextMessages":[{"from":"a","content":"x"},{"from":"b","to":"c","content":"y"}],"#,
            r#""currentMessage":"","teamTask":null,"systemInstruction":"s","instructionFileText":"f","#,
            r#""maxBytes":786432}"#
        )
    );
}

#[test]
fn what_may_be_left_out_may_also_be_null() {
    let least = read(r#"{"contextMessages":[],"currentMessage":""}"#).unwrap();
    assert_eq!(least, nothing());
    let nulls = r#"{"contextMessages":[{"from":"a","to":null,"content":"x","id":7}],
        "currentMessage":"","teamTask":null,"systemInstruction":null,"instructionFileText":null,
        "maxBytes":null,"other":[]}"#;
    let expected = AssemblerInput { context_messages: vec![line("a", None, "x")], ..nothing() };
    assert_eq!(read(nulls).unwrap(), expected);
    assert_eq!(expected.max_bytes, DEFAULT_MAX_BYTES);
}

#[test]
fn a_field_that_is_wrong_is_named() {
    for (text, sentence) in [
        ("[]", "the value must be an object; got a list"),
        (
            r#"{"currentMessage":""}"#,
            "contextMessages is missing; give a list of {from, to?, content}, [] for none",
        ),
        (r#"{"contextMessages":[]}"#, "currentMessage is missing; give a string"),
        (
            r#"{"contextMessages":{},"currentMessage":""}"#,
            "contextMessages must be a list; got an object",
        ),
        (
            r#"{"contextMessages":[{"from":"a","content":"x"},{"from":"a"}],"currentMessage":""}"#,
            "contextMessages[1].content is missing; give a string",
        ),
        (
            r#"{"contextMessages":[{"from":1,"content":"x"}],"currentMessage":""}"#,
            "contextMessages[0].from must be a string; got a number",
        ),
        (
            r#"{"contextMessages":[],"currentMessage":null}"#,
            "currentMessage must be a string; got null",
        ),
        (
            r#"{"contextMessages":[],"currentMessage":"","maxBytes":-1}"#,
            "maxBytes must be a whole number of 0 or more; got -1",
        ),
        (
            r#"{"contextMessages":[],"currentMessage":"","maxBytes":1.5}"#,
            "maxBytes must be a whole number of 0 or more; got 1.5",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), sentence, "{text}");
    }
}

#[test]
fn a_budget_beyond_64_bits_is_the_largest() {
    for number in ["18446744073709551615", "18446744073709551616", "1e400"] {
        let text = format!(r#"{{"contextMessages":[],"currentMessage":"","maxBytes":{number}}}"#);
        assert_eq!(read(&text).unwrap().max_bytes, u64::MAX, "{number}");
    }
}

#[test]
fn a_prompt_is_written_with_its_status_and_sizes() {
    let input = within(127, everything());
    let prompt = &Assembler::claude().plan(&input);
    let written = |detail| serde_json::to_string(&PromptRecord::new(prompt, detail)).unwrap();
    let totals = concat!(
        r#"{"prompt":"[TEAM_TASK]\nHave breakfast\n\n[CONTEXT]\n- ivo -> ann: It whistles.\n\n"#,
        r#"[MESSAGE]\nThen pour the tea.","systemFlag":"You are Ivo.\n\nMind the cups.","#,
        r#""status":"context_trimmed","bytes":122,"keptContext":1,"droppedContext":1"#,
    );
    let sections = r#"{"system":28,"teamTask":26,"context":36,"message":28,"separators":4}"#;
    assert_eq!(written(Detail::Totals), format!("{totals}}}"));
    assert_eq!(written(Detail::Sections), format!(r#"{totals},"sections":{sections}}}"#));
}

#[test]
fn a_prompt_without_a_flag_is_written_without_one() {
    let input = nothing();
    let prompt = &Assembler::gemini().plan(&input);
    let record = PromptRecord::new(prompt, Detail::Totals);
    assert_eq!(
        serde_json::to_string(&record).unwrap(),
        r#"{"prompt":"","status":"fits","bytes":0,"keptContext":0,"droppedContext":0}"#
    );
}
