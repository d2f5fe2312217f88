//! The positions of elements in a request: the system text, volatile messages, cache breakpoints and tools.

use tertulia_dialect::{Dialect, ModelContext, Note, NoteKind};
use tertulia_session::{Message, Part};

use crate::messages::{assistant, call, hint, json, render, result, system, turns, user};
use crate::rules::assert_valid;

fn check(dialect: Dialect, messages: &[Message], expected: &str) {
    assert_eq!(render(dialect, messages).fragment.to_json(), expected, "{dialect:?}");
}

#[test]
fn the_system_text_is_where_the_vendor_expects_it() {
    let messages = [system("s"), user("u")];
    check(
        Dialect::OpenAiChat,
        &messages,
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}"#,
    );
    check(
        Dialect::OpenAiResponses,
        &messages,
        r#"{"instructions":"s","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]}]}"#,
    );
    check(
        Dialect::Anthropic,
        &messages,
        r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}"#,
    );
    check(
        Dialect::Gemini,
        &messages,
        r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"}]}]}"#,
    );
}

#[test]
fn volatile_messages_join_the_last_user_turn_and_are_never_hoisted() {
    let messages = [system("s"), user("u"), hint("h")];
    check(
        Dialect::Anthropic,
        &messages,
        r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"u"},{"type":"text","text":"h"}]}]}"#,
    );
    check(
        Dialect::Gemini,
        &messages,
        r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"},{"text":"h"}]}]}"#,
    );
    check(
        Dialect::OpenAiChat,
        &messages,
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"system","content":"h"}]}"#,
    );
}

#[test]
fn volatile_messages_are_a_new_user_turn_behind_the_assistant() {
    let messages = [user("u"), assistant(vec![Part::text("a")]), hint("h")];
    for (dialect, role) in [(Dialect::Anthropic, "user"), (Dialect::Gemini, "user")] {
        let turns = turns(dialect, &render(dialect, &messages).fragment.to_json());
        assert_eq!(turns.len(), 3);
        assert!(turns[2].starts_with(&format!("{{\"role\":\"{role}\"")));
        assert!(render(dialect, &messages).notes.is_empty());
    }
}

#[test]
fn a_system_message_in_the_middle_stays_in_its_place() {
    let messages = [system("s"), user("u"), system("brief"), user("v")];
    for dialect in [Dialect::Anthropic, Dialect::Gemini] {
        let request = render(dialect, &messages).fragment.to_json();
        let at = |text| request.find(text).unwrap();
        assert!(at("\"u\"") < at("brief") && at("brief") < at("\"v\""));
    }
    let chat =
        turns(Dialect::OpenAiChat, &render(Dialect::OpenAiChat, &messages).fragment.to_json());
    assert_eq!(chat[2], r#"{"role":"system","content":"brief"}"#);
}

#[test]
fn results_are_first_in_the_user_turn_and_the_words_follow() {
    let messages =
        [user("u"), assistant(vec![call("a", "ls")]), result("a", "r"), user("w"), hint("h")];
    let anthropic = render(Dialect::Anthropic, &messages);
    let last = turns(Dialect::Anthropic, &anthropic.fragment.to_json()).pop().unwrap();
    assert_eq!(
        last,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"},{"type":"text","text":"w"},{"type":"text","text":"h"}]}"#
    );
    assert!(anthropic.notes.is_empty());
}

#[test]
fn four_breakpoints_go_to_tools_system_and_the_last_messages() {
    let tools = [json(r#"{"name":"ls","parameterSchema":{"type":"object"}}"#)];
    let answer = || assistant(vec![Part::text("a")]);
    let messages = [system("s"), user("1"), answer(), user("3"), answer(), user("5"), hint("now")];
    let context = ModelContext {
        tool_specs: &tools,
        cache_breakpoints: &[0, 1, 3, 5, 6, 99],
        ..ModelContext::new(&messages)
    };
    let rendering = Dialect::Anthropic.render(&context);
    let request = rendering.fragment.to_json();
    assert_valid(Dialect::Anthropic, &request);
    let mark = r#","cache_control":{"type":"ephemeral"}}"#;
    assert_eq!(request.matches(mark).count(), 4);
    for marked in [r#"{"type":"object"}"#, r#""text":"s""#, r#""text":"3""#, r#""text":"5""#] {
        assert!(request.contains(&format!("{marked}{mark}")), "{marked}: {request}");
    }
    let reason = |note: &Note| match note.kind {
        NoteKind::BreakpointLeftOut { reason } => (note.message, reason),
        _ => panic!("{note}"),
    };
    assert_eq!(
        rendering.notes.iter().map(reason).collect::<Vec<_>>(),
        [
            (Some(1), "a request may have four"),
            (Some(6), "volatile messages are not cached"),
            (Some(99), "there is no such message"),
        ]
    );
}

#[test]
fn breakpoints_before_a_call_and_on_its_result_are_two_marks() {
    let answer = assistant(vec![Part::text("a")]);
    let messages = [user("u"), answer, assistant(vec![call("c", "ls")]), result("c", "r")];
    let context = ModelContext { cache_breakpoints: &[1, 3], ..ModelContext::new(&messages) };
    let request = Dialect::Anthropic.render(&context).fragment.to_json();
    let mark = r#","cache_control":{"type":"ephemeral"}}"#;
    for marked in [r#""text":"a""#, r#""content":"r""#] {
        assert!(request.contains(&format!("{marked}{mark}")), "{marked}: {request}");
    }
}

#[test]
fn a_breakpoint_is_all_that_a_breakpoint_changes() {
    let messages = [system("s"), user("1"), assistant(vec![Part::text("a")]), user("3")];
    let context = ModelContext { cache_breakpoints: &[0, 1, 3], ..ModelContext::new(&messages) };
    let marked = Dialect::Anthropic.render(&context).fragment.to_json();
    let bare = render(Dialect::Anthropic, &messages).fragment.to_json();
    assert_eq!(marked.replace(r#","cache_control":{"type":"ephemeral"}"#, ""), bare);
}

#[test]
fn the_name_of_a_tool_is_rewritten_in_its_spec_and_its_calls() {
    let tools = [json(r#"{"name":"fs.read","parameterSchema":{"type":"object"}}"#)];
    let messages = [user("u"), assistant(vec![call("a", "fs.read")]), result("a", "r")];
    let context = ModelContext { tool_specs: &tools, ..ModelContext::new(&messages) };
    for dialect in Dialect::ALL {
        let rendering = dialect.render(&context);
        let [call, spec] = rendering.notes.as_slice() else { panic!("{:?}", rendering.notes) };
        assert_eq!(call.kind, spec.kind);
        let NoteKind::ToolRenamed { to, .. } = &call.kind else { panic!("{call}") };
        // Gemini's response also contains the name of the function.
        let occurrences = if dialect == Dialect::Gemini { 3 } else { 2 };
        assert_eq!(rendering.fragment.to_json().matches(&**to).count(), occurrences, "{dialect:?}");
    }
}
