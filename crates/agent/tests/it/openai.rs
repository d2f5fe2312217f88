//! Turns of an endpoint that plays a script: what is sent, what counts as an answer, and how each failure ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tertulia_agent::{
    AgentKind, CancelToken, Containment, Ended, Endpoint, Mentions, Timeout, TurnReport,
    TurnRequest, run,
};
use tertulia_dialect::stream::{ErrorClass, LimitScope, StreamEvent};

use crate::fake_agent::is_in_own_process;
use crate::fake_endpoint::{FakeEndpoint, Seen, Step, reply, stream};
use crate::recorder::{Recorder, error_of, spec, text_of};

/// A variable that cargo sets for every test. Its value is long enough for a key.
const KEY_VARIABLE: &str = "CARGO_PKG_DESCRIPTION";

fn key() -> String {
    std::env::var(KEY_VARIABLE).expect("a variable that cargo sets")
}

fn endpoint(base_url: &str) -> AgentKind {
    AgentKind::OpenAi(Endpoint {
        base_url: base_url.into(),
        key_variable: Some(KEY_VARIABLE.into()),
    })
}

/// Runs one turn with an endpoint that plays these steps.
fn turn(steps: Vec<Step>) -> (TurnReport, Recorder, Seen) {
    let fake = FakeEndpoint::start(steps);
    let mut recorder = Recorder::default();
    let report = recorder.run(&spec(endpoint(&fake.base_url)), &CancelToken::new());
    assert_eq!((report.containment, report.orphans_killed), (Containment::None, 0));
    (report, recorder, fake.seen())
}

fn piece(text: &str) -> Step {
    Step::Send(
        format!(
            "data: {{\"model\":\"m-1\",\"choices\":[{{\"delta\":{{\"content\":{text:?}}}}}]}}\n\n"
        )
        .into_bytes(),
    )
}

fn finish(reason: &str) -> Step {
    Step::Send(
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n")
            .into_bytes(),
    )
}

fn send(line: &str) -> Step {
    Step::Send(line.as_bytes().to_vec())
}

#[test]
fn a_streamed_answer_is_reported_piece_by_piece_and_counted() {
    let (report, recorder, seen) = turn(stream(vec![
        send(": warming up\n\n"),
        send(
            "data: {\"model\":\"m-1\",\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\n\n",
        ),
        piece("Hel"),
        Step::Pause(30),
        piece("lo."),
        finish("stop"),
        send(
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\n",
        ),
        send("data: [DONE]\n\n"),
    ]));
    assert_eq!(text_of(&report), "Hello.");
    assert_eq!(report.ended, Ended::ByItself);
    assert_eq!(recorder.text(), "Hello.");
    assert!(recorder.is_fed);
    assert!(recorder.events.contains(&StreamEvent::Thinking { text: "Hm.".to_owned() }));
    let usage = report.output.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (Some(4), Some(5), Some(4)));
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", seen.head);
    let head = seen.head.to_ascii_lowercase();
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
    assert!(seen.head.contains(&format!("Bearer {}\r\n", key())));
    assert_eq!(
        seen.body,
        r#"{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is it?"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
}

#[test]
fn a_body_goes_out_as_it_is_and_without_a_key_nothing_is_authorized() {
    let fake = FakeEndpoint::start(stream(vec![piece("x"), finish("stop")]));
    let mut spec = spec(AgentKind::OpenAi(Endpoint {
        base_url: format!("{}/", fake.base_url).into(),
        key_variable: None,
    }));
    spec.model = None;
    let body = Some(r#"{"messages":[{"role":"user","content":"é"}]}"#);
    let request = TurnRequest {
        turn: "t",
        number: 0,
        prompt: "unread",
        mentions: Mentions::none(),
        system: None,
        body,
        memory: tertulia_agent::Memory::Fresh,
        message_start: 0,
    };
    let report = run(&spec, &request, &CancelToken::new(), &mut Recorder::default());
    assert_eq!(text_of(&report), "x");
    let seen = fake.seen();
    assert!(!seen.head.to_ascii_lowercase().contains("authorization"));
    assert!(seen.body.starts_with(r#"{"messages":[{"role":"user","content":"é"}],"stream":true"#));
}

#[test]
fn neither_done_nor_counts_are_needed_where_the_answer_says_that_it_stopped() {
    let (report, ..) = turn(stream(vec![piece("All."), finish("stop")]));
    assert_eq!(text_of(&report), "All.");
    assert_eq!(report.output.usage, None);
}

#[test]
fn done_ends_the_turn_though_the_connection_stays() {
    let (report, _, seen) = turn(stream(vec![piece("All."), send("data: [DONE]\n\n"), Step::Hang]));
    assert_eq!(text_of(&report), "All.");
    assert_eq!(report.ended, Ended::ByItself);
    assert!(seen.hung_up.is_some(), "the connection is shut down");
}

#[test]
fn an_answer_that_stopped_is_not_waited_for_without_end() {
    let steps = stream(vec![piece("All."), finish("stop"), Step::Hang]);
    let report = slow_turn(steps, |times| times.after_final = Duration::from_millis(200));
    assert_eq!(text_of(&report), "All.");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::AfterFinal));
}

#[test]
fn a_cut_answer_is_limit_and_what_came_is_kept() {
    let (report, ..) =
        turn(stream(vec![piece("Half of"), finish("length"), send("data: [DONE]\n\n")]));
    assert_eq!(error_of(&report).0, ErrorClass::Limit);
    assert_eq!(report.output.partial_text.as_deref(), Some("Half of"));
}

#[test]
fn a_filter_is_refused() {
    let (report, ..) = turn(stream(vec![finish("content_filter"), send("data: [DONE]\n\n")]));
    assert_eq!(error_of(&report).0, ErrorClass::Refused);
}

#[test]
fn a_refusal_has_the_class_of_its_status_and_words() {
    for (status, body, class) in [
        (
            "400 Bad Request",
            r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
            ErrorClass::Overflow,
        ),
        (
            "400 Bad Request",
            r#"{"object":"error","message":"maximum context length is 4096","code":400}"#,
            ErrorClass::Overflow,
        ),
        ("400 Bad Request", r#"{"error":{"message":"unknown field"}}"#, ErrorClass::Setup),
        (
            "401 Unauthorized",
            r#"{"error":{"message":"no","code":"invalid_api_key"}}"#,
            ErrorClass::Auth,
        ),
        ("403 Forbidden", "", ErrorClass::Auth),
        ("404 Not Found", "<html>nothing</html>", ErrorClass::Setup),
        ("413 Payload Too Large", "too large", ErrorClass::Overflow),
        (
            "429 Too Many Requests",
            r#"[{"error":{"code":429,"message":"slow"}}]"#,
            ErrorClass::Quota,
        ),
        ("500 Internal Server Error", r#"{"detail":"oh"}"#, ErrorClass::Network),
        ("503 Service Unavailable", "<html>busy</html>", ErrorClass::Network),
    ] {
        let (report, recorder, _) = turn(reply(status, "application/json", body));
        let (found, message) = error_of(&report);
        assert_eq!(found, class, "{status} {body}: {message}");
        assert!(message.contains(&status[..3]), "{message}");
        assert!(!message.contains("<html>"), "{message}");
        assert!(matches!(recorder.events[..], [StreamEvent::Failed(_)]), "{:?}", recorder.events);
    }
}

#[test]
fn the_report_of_a_refusal_has_the_time_when_the_limit_ends() {
    let tomorrow = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 86_400;
    let refused = |status: &str, headers: &str| {
        let head = format!("HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: 4\r\n\r\nslow");
        let (report, ..) = turn(vec![send(&head)]);
        let limit = report.output.error.unwrap().limit;
        (limit.map(|limit| limit.scope), report.limit_resets_at.map(|at| at.millis()))
    };
    let reset = format!("X-RateLimit-Reset: {tomorrow}");
    let millis = i64::try_from(tomorrow * 1000).unwrap();
    let too_many = "429 Too Many Requests";
    assert_eq!(refused(too_many, &reset), (Some(LimitScope::Minute), Some(millis)));
    assert_eq!(refused(too_many, "Retry-After: soon"), (Some(LimitScope::Minute), None));
    assert_eq!(refused("404 Not Found", &reset), (None, None));
}

#[test]
fn a_refusal_whose_body_never_ends_is_told_by_its_status() {
    let head = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 1000\r\n\r\n{\"error\":";
    let fake = FakeEndpoint::start(vec![send(head), Step::Pause(200), Step::Hang]);
    let mut spec = spec(endpoint(&fake.base_url));
    spec.timeouts.silence = Duration::from_secs(60);
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(error_of(&report).0, ErrorClass::Quota);
}

#[test]
fn the_key_is_in_no_error_and_no_event() {
    let key = key();
    let echo = format!(r#"{{"error":{{"message":"wrong key: Bearer {key}"}}}}"#);
    let (refused, ..) = turn(reply("401 Unauthorized", "application/json", &echo));
    assert_eq!(error_of(&refused), (ErrorClass::Auth, "HTTP 401: wrong key: Bearer [key]"));
    let (first, second) = key.split_at(20);
    let (streamed, recorder, _) = turn(stream(vec![
        send(&format!("data: nonsense {first}")),
        Step::Pause(50),
        send(&format!("{second}\n\n")),
        send(&format!("data: {{\"error\":\"no {key}\"}}\n\n")),
    ]));
    for received in [format!("{:?}", recorder.events), format!("{streamed:?}")] {
        assert!(!received.contains(&key), "{received}");
        let bytes = format!("{:?}", key.as_bytes());
        assert!(!received.contains(bytes.trim_matches(['[', ']'])), "{received}");
    }
    assert!(error_of(&streamed).1.contains("[key]"));
}

#[test]
fn without_its_key_an_endpoint_is_not_asked() {
    let mut recorder = Recorder::default();
    let spec = spec(AgentKind::OpenAi(Endpoint {
        base_url: "http://127.0.0.1:9".into(),
        key_variable: Some("NO_SUCH_VARIABLE_OF_TERTULIA".into()),
    }));
    let report = recorder.run(&spec, &CancelToken::new());
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Auth);
    assert!(message.contains("NO_SUCH_VARIABLE_OF_TERTULIA"), "{message}");
    assert!(!recorder.is_fed);
}

#[test]
fn an_address_that_is_none_is_setup() {
    for base_url in ["", "127.0.0.1:1", "ftp://127.0.0.1/", "http://", "http://a b/"] {
        let report = Recorder::default().run(&spec(endpoint(base_url)), &CancelToken::new());
        assert_eq!(error_of(&report).0, ErrorClass::Setup, "{base_url}");
    }
}

#[test]
fn an_endpoint_that_nobody_serves_is_network() {
    // This is the port of a client: no other test can get it, and nobody listens on it.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(other.local_addr().unwrap()).unwrap();
    let base_url = format!("http://{}", client.local_addr().unwrap());
    let report = Recorder::default().run(&spec(endpoint(&base_url)), &CancelToken::new());
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Network, "{message}");
    assert!(message.contains("127.0.0.1"), "{message}");
}

#[test]
fn a_connection_that_breaks_in_the_middle_is_network_and_what_came_is_kept() {
    let (cut, ..) = turn(stream(vec![piece("Half of")]));
    assert_eq!(error_of(&cut).0, ErrorClass::Network);
    assert_eq!(cut.output.partial_text.as_deref(), Some("Half of"));
    let (reset, ..) = turn(stream(vec![piece("Half of"), Step::Pause(200), Step::Reset]));
    let (class, message) = error_of(&reset);
    assert_eq!(class, ErrorClass::Network, "{message}");
    assert_eq!(reset.output.partial_text.as_deref(), Some("Half of"));
    let (silent, ..) = turn(vec![Step::Reset]);
    assert_eq!(error_of(&silent).0, ErrorClass::Network);
    let (garbage, ..) = turn(vec![send("\x16\x03\x01 this is no HTTP\r\n\r\n")]);
    assert_eq!(error_of(&garbage).0, ErrorClass::Network);
}

#[test]
fn a_reset_after_the_answer_stopped_takes_nothing_away() {
    let (report, ..) =
        turn(stream(vec![piece("All."), finish("stop"), Step::Pause(100), Step::Reset]));
    assert_eq!(text_of(&report), "All.");
}

#[test]
fn a_whole_completion_is_an_answer_too() {
    let body = r#"{
  "model": "m-1",
  "choices": [{"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}],
  "usage": {"prompt_tokens": 3, "completion_tokens": 2}
}"#;
    let (report, recorder, _) = turn(reply("200 OK", "application/json", body));
    assert_eq!(text_of(&report), "Whole.");
    assert_eq!(recorder.text(), "Whole.");
    assert_eq!(report.output.usage.unwrap().output, Some(2));
}

#[test]
fn a_page_instead_of_an_answer_is_setup() {
    let page = "<!DOCTYPE html>\n<html><body>Log in</body></html>\n";
    let (report, ..) = turn(reply("200 OK", "text/html", page));
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Setup);
    assert!(message.contains("a web page"), "{message}");
}

#[test]
fn an_error_in_the_stream_ends_it() {
    let (report, ..) = turn(stream(vec![
        piece("Half"),
        send("data: {\"error\":{\"message\":\"Overloaded\",\"code\":502}}\n\n"),
        Step::Hang,
    ]));
    assert_eq!(error_of(&report), (ErrorClass::Network, "Overloaded"));
    assert_eq!(report.output.partial_text.as_deref(), Some("Half"));
}

#[test]
fn a_redirect_is_not_followed() {
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let place = other.local_addr().unwrap();
        let (report, ..) = turn(vec![send(&format!(
            "HTTP/1.1 {status}\r\nlocation: http://{place}/v1/chat/completions\r\ncontent-length: 0\r\n\r\n"
        ))]);
        let (class, message) = error_of(&report);
        assert_eq!(class, ErrorClass::Setup, "{message}");
        assert!(message.contains("base_url"), "{message}");
        assert!(other.accept().is_err(), "nobody asks there");
    }
}

#[test]
fn a_compressed_answer_is_not_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1fxx";
    let (report, ..) = turn(vec![send(head)]);
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Setup);
    assert!(message.contains("gzip"), "{message}");
}

#[test]
fn a_line_without_end_is_drained_and_not_kept() {
    let megabyte = vec![b'x'; 1024 * 1024];
    let fake = FakeEndpoint::start(stream(vec![
        piece("a"),
        send("data: \""),
        Step::Repeat(megabyte, 64),
        send("\"\n\n"),
        finish("stop"),
    ]));
    let mut spec = spec(endpoint(&fake.base_url));
    spec.limits.line_bytes_max = 1024 * 1024;
    let mut recorder = Recorder::default();
    let report = recorder.run(&spec, &CancelToken::new());
    assert_eq!(error_of(&report).0, ErrorClass::Limit);
    assert_eq!(report.output.lines.oversize, 1);
    let lengths: Vec<u64> = recorder
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Oversize { length, prefix } if prefix.len() <= 256 => Some(*length),
            _ => None,
        })
        .collect();
    assert_eq!(lengths, [64 * 1024 * 1024 + 8]);
}

/// Runs a turn with one short timeout. The endpoint would wait much longer.
fn slow_turn(steps: Vec<Step>, set: impl Fn(&mut tertulia_agent::Timeouts)) -> TurnReport {
    let fake = FakeEndpoint::start(steps);
    let mut spec = spec(endpoint(&fake.base_url));
    set(&mut spec.timeouts);
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert!(fake.seen().hung_up.is_some(), "the connection is shut down");
    report
}

#[test]
fn each_time_that_is_up_ends_the_turn_and_the_connection() {
    let short = Duration::from_millis(200);
    let report = slow_turn(stream(vec![Step::Hang]), |times| times.first_byte = short);
    assert_eq!(report.ended, Ended::TimedOut(Timeout::FirstByte));
    assert_eq!(error_of(&report).0, ErrorClass::Network);

    let report = slow_turn(vec![Step::Hang], |times| times.first_byte = short);
    assert_eq!(report.ended, Ended::TimedOut(Timeout::FirstByte));

    let report = slow_turn(stream(vec![piece("Half"), Step::Hang]), |times| times.silence = short);
    assert_eq!(report.ended, Ended::TimedOut(Timeout::Silence));
    assert_eq!(report.output.partial_text.as_deref(), Some("Half"));

    let drip = (0..8).flat_map(|_| [send(": still there\n"), Step::Pause(60)]);
    let drip = drip.chain([Step::Hang]).collect();
    let report = slow_turn(stream(drip), |times| times.total = short);
    assert_eq!(report.ended, Ended::TimedOut(Timeout::Total));
}

#[test]
fn a_cancelled_turn_ends_at_once_though_the_endpoint_is_silent() {
    for steps in [vec![Step::Hang], stream(vec![Step::Hang])] {
        let fake = FakeEndpoint::start(steps);
        let cancel = CancelToken::new();
        let word = cancel.clone();
        let spec = spec(endpoint(&fake.base_url));
        let turn = std::thread::spawn(move || Recorder::default().run(&spec, &word));
        fake.await_request();
        cancel.cancel();
        assert_eq!(turn.join().unwrap().ended, Ended::Cancelled);
        // The endpoint itself would have waited much longer.
        assert!(fake.seen().hung_up.is_some(), "the connection is shut down");
    }
}

#[test]
fn a_cancelled_turn_keeps_what_came() {
    let fake = FakeEndpoint::start(stream(vec![piece("Half"), Step::Hang]));
    let cancel = CancelToken::new();
    let mut recorder = Recorder { cancel_on_text: Some(cancel.clone()), ..Recorder::default() };
    let report = recorder.run(&spec(endpoint(&fake.base_url)), &cancel);
    assert_eq!(report.ended, Ended::Cancelled);
    assert_eq!(report.output.final_text, None);
    assert_eq!(report.output.partial_text.as_deref(), Some("Half"));
}

#[test]
fn loopback_is_not_asked_through_a_proxy() {
    let proxy = ("http_proxy", "http://127.0.0.1:9");
    let key = (KEY_VARIABLE, "a key that is long enough");
    let name = "openai::loopback_is_not_asked_through_a_proxy";
    if !is_in_own_process(name, &[proxy, ("HTTP_PROXY", proxy.1), ("ALL_PROXY", proxy.1), key]) {
        return;
    }
    let (report, ..) = turn(stream(vec![piece("Direct."), finish("stop")]));
    assert_eq!(text_of(&report), "Direct.");
}

#[test]
fn more_than_is_kept_of_an_answer_ends_the_turn() {
    let fake = FakeEndpoint::start(stream(vec![piece("Hello."), Step::Hang]));
    let mut spec = spec(endpoint(&fake.base_url));
    spec.limits.text_bytes_max = 3;
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(report.ended, Ended::OverLimit);
    assert_eq!(error_of(&report).0, ErrorClass::Limit);
    assert_eq!(report.output.partial_text.as_deref(), Some("Hel"));
    assert!(fake.seen().hung_up.is_some());
}
