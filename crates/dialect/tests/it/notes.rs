//! Every change and omission has a note. There is one test for each kind of repair, which also shows the resulting
//! request.

use tertulia_dialect::{Dialect, NoteKind};
use tertulia_session::{FileRef, ImageSource, Message, Part, PartKind, Role};

use crate::messages::{
    assistant, call, call_with, codes, failure, hint, image, message, other, png, render, result,
    result_part, system, thinking, turns, user, with_field,
};

use Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};

fn last_turn(dialect: Dialect, messages: &[Message]) -> String {
    turns(dialect, &render(dialect, messages).fragment.to_json()).pop().unwrap()
}

#[test]
fn unsigned_thinking_is_left_out_everywhere() {
    let messages =
        [user("go"), assistant(vec![thinking("hm"), Part::text("done")]), user("thanks")];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["thinking_left_out"], "{dialect:?}");
        assert!(!render(dialect, &messages).fragment.to_json().contains("hm"));
    }
}

#[test]
fn signed_thinking_is_first_in_its_turn() {
    let signed = with_field(thinking("hm"), "signature", "c2ln");
    let messages =
        [user("go"), assistant(vec![Part::text("a"), signed, call("a", "ls")]), result("a", "")];
    assert_eq!(codes(Anthropic, &messages), ["thinking_moved"]);
    let request = render(Anthropic, &messages).fragment.to_json();
    assert!(
        request
            .contains(r#"[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text""#)
    );
}

#[test]
fn an_id_that_anthropic_refuses_is_rewritten_in_the_call_and_the_result() {
    let messages = [user("go"), assistant(vec![call("call|1", "ls")]), result("call|1", "ok")];
    let rendering = render(Anthropic, &messages);
    let [note] = rendering.notes.as_slice() else { panic!("{:?}", rendering.notes) };
    let NoteKind::IdRewritten { from, to } = &note.kind else { panic!("{note}") };
    assert_eq!((&**from, note.message), ("call|1", Some(1)));
    assert_eq!(rendering.fragment.to_json().matches(&**to).count(), 2);
    assert_eq!(codes(OpenAiChat, &messages), [""; 0]);
}

#[test]
fn an_id_that_comes_again_gets_a_number() {
    let once = [assistant(vec![call("a", "ls")]), result("a", "1")];
    let messages: Vec<_> = [user("go")].into_iter().chain(once.clone()).chain(once).collect();
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["id_rewritten"], "{dialect:?}");
        assert!(render(dialect, &messages).fragment.to_json().contains("\"a_2\""));
    }
}

#[test]
fn a_call_without_a_result_is_closed_with_an_error() {
    let messages = [user("go"), assistant(vec![call("a", "ls")]), user("well?")];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["call_closed"], "{dialect:?}");
        assert!(render(dialect, &messages).fragment.to_json().contains("No result was recorded"));
    }
}

#[test]
fn a_result_without_a_call_is_left_out() {
    let messages =
        [user("go"), result("a", "early"), assistant(vec![Part::text("ok")]), user("on")];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["result_without_call"], "{dialect:?}");
        assert!(!render(dialect, &messages).fragment.to_json().contains("early"));
    }
}

#[test]
fn results_stand_behind_their_calls_in_the_order_of_the_calls() {
    let messages = [
        user("go"),
        assistant(vec![call("a", "ls"), call("b", "cat")]),
        user("and?"),
        result("b", "two"),
        result("a", "one"),
    ];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["result_moved"; 2], "{dialect:?}");
        let request = render(dialect, &messages).fragment.to_json();
        let at = |text| request.find(text).unwrap();
        assert!(at("one") < at("two") && at("two") < at("and?"), "{request}");
    }
}

#[test]
fn words_between_a_call_and_its_result_join_the_answer() {
    let messages = [
        user("go"),
        assistant(vec![call("a", "ls")]),
        assistant(vec![Part::text("on it")]),
        result("a", "x"),
    ];
    assert_eq!(codes(OpenAiChat, &messages), ["merged"]);
    assert_eq!(codes(Anthropic, &messages), ["merged"]);
    let chat = turns(OpenAiChat, &render(OpenAiChat, &messages).fragment.to_json());
    assert!(chat[1].starts_with(r#"{"role":"assistant","content":"on it","tool_calls":"#));
}

#[test]
fn arguments_that_are_no_object_are_sent_as_raw() {
    let broken = call_with("a", "ls", "null", Some("{\"path\":"));
    let messages = [user("go"), assistant(vec![broken]), result("a", "x")];
    for dialect in [Anthropic, Gemini] {
        assert_eq!(codes(dialect, &messages), ["arguments_wrapped"]);
        let request = render(dialect, &messages).fragment.to_json();
        assert!(request.contains(r#"{"_raw":"{\"path\":"}"#), "{request}");
    }
    assert_eq!(codes(OpenAiChat, &messages), [""; 0]);
}

#[test]
fn a_failed_result_stays_failed() {
    let messages = [user("go"), assistant(vec![call("a", "ls")]), failure("a", "no")];
    assert!(last_turn(Anthropic, &messages).contains(r#""content":"no","is_error":true"#));
    assert!(last_turn(Gemini, &messages).contains(r#""response":{"error":"no"}"#));
    for dialect in [OpenAiChat, OpenAiResponses] {
        assert!(last_turn(dialect, &messages).contains("[tool error] no"));
        assert_eq!(codes(dialect, &messages), ["error_as_text"]);
    }
}

#[test]
fn a_picture_where_none_is_taken_is_left_out() {
    let messages = [
        message(Role::System, vec![Part::text("s"), png()]),
        user("go"),
        assistant(vec![Part::text("look"), png()]),
        user("on"),
    ];
    for dialect in [OpenAiChat, OpenAiResponses, Anthropic] {
        assert_eq!(codes(dialect, &messages), ["image_left_out"; 2], "{dialect:?}");
    }
    assert_eq!(codes(Gemini, &messages), ["image_left_out"]);
}

#[test]
fn a_broken_picture_is_left_out() {
    for source in [ImageSource::Data("no base64".into()), ImageSource::Url("file:///a.png".into())]
    {
        let picture = image("image/png", source);
        let messages = [message(Role::User, vec![Part::text("see"), picture])];
        for dialect in Dialect::ALL {
            assert_eq!(codes(dialect, &messages), ["image_left_out"], "{dialect:?}");
        }
    }
}

#[test]
fn a_picture_in_a_result_is_sent_where_it_can_be() {
    let blocks =
        r#"[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"AAAA"}]"#;
    let answer = message(Role::Tool, vec![result_part("a", false, blocks)]);
    let messages = [user("go"), assistant(vec![call("a", "ls")]), answer];
    assert!(
        last_turn(Anthropic, &messages)
            .contains(r#""source":{"type":"base64","media_type":"image/png""#)
    );
    assert!(last_turn(OpenAiResponses, &messages).contains("data:image/png;base64,AAAA"));
    assert!(
        last_turn(Gemini, &messages)
            .ends_with(r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}"#)
    );
    assert!(last_turn(OpenAiChat, &messages).ends_with(r#""content":"see\n[image: image/png]"}"#));
    assert_eq!(codes(OpenAiChat, &messages), ["image_left_out"]);
}

#[test]
fn a_file_is_named_by_its_path() {
    let file = FileRef { path: "src/a.rs".into(), mime_type: None, size: Some(7) };
    let messages = [message(Role::User, vec![Part::new(PartKind::FileRef(Box::new(file)))])];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["file_as_text"]);
        assert!(last_turn(dialect, &messages).contains("[file: src/a.rs]"));
    }
}

#[test]
fn parts_of_unknown_kinds_are_left_out_by_name() {
    let messages = [message(Role::User, vec![Part::text("see"), other("video", "{}")])];
    for dialect in Dialect::ALL {
        let rendering = render(dialect, &messages);
        assert!(rendering.notes[0].to_string().starts_with("message 0: part of kind \"video\""));
    }
}

#[test]
fn a_request_always_has_a_turn() {
    for messages in [vec![], vec![system("s")], vec![system("s"), assistant(vec![])]] {
        for dialect in [OpenAiResponses, Anthropic, Gemini] {
            let codes = codes(dialect, &messages);
            assert_eq!(codes.last(), Some(&"user_turn_added"), "{dialect:?}");
        }
    }
    let first = [assistant(vec![Part::text("hello")]), user("hi")];
    assert_eq!(codes(Anthropic, &first), ["user_turn_added"]);
    assert_eq!(codes(Gemini, &first), ["user_turn_added"]);
}

#[test]
fn a_request_that_ends_with_the_assistant_says_so() {
    let messages = [user("go"), assistant(vec![Part::text("Well, \n")])];
    assert_eq!(codes(Anthropic, &messages), ["blanks_trimmed", "ends_with_assistant"]);
    assert!(last_turn(Anthropic, &messages).contains(r#""text":"Well,""#));
    assert_eq!(codes(Gemini, &messages), ["user_turn_added"]);
    assert_eq!(codes(OpenAiChat, &messages), [""; 0]);
}

#[test]
fn a_volatile_message_in_the_middle_goes_to_the_end() {
    let messages = [user("go"), hint("now: 12:00"), assistant(vec![Part::text("ok")]), user("on")];
    for dialect in Dialect::ALL {
        assert_eq!(codes(dialect, &messages), ["volatile_moved"]);
        assert!(last_turn(dialect, &messages).contains("now: 12:00"));
    }
}
