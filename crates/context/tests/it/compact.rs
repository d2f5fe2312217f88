//! Tests summaries through the public interface: the texts for two small sessions, and promises about any session.
//! Sessions are in a small notation: `u text`, `a text`, `s text`, `+tool {json}` for a call, `=text` for its result
//! and `!text` for a failed one.

use std::sync::Arc;

use proptest::prelude::*;
use tertulia_context::compact::{
    Compactor, Covered, EXTRACTIVE, Refusal, Summarize, SummaryFailure, SummaryTask, extract,
    has_points, request_text,
};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::json::Json;
use tertulia_session::{EntryId, Message, Part, PartKind, Role, ToolCall, ToolResult};

type Session = Vec<(EntryId, Message)>;

fn message(place: usize, line: &str) -> Message {
    let call_id = |place: usize| format!("call-{place}").into_boxed_str();
    let of = |role, kind| Message::with_role(role, [Part::new(kind)].into_iter().collect());
    let text = |role, text: &str| of(role, PartKind::Text(text.to_owned()));
    let result = |text: &str, is_error| {
        let (tool_call_id, content) = (call_id(place.saturating_sub(1)), Json::text(text));
        of(
            Role::Tool,
            PartKind::ToolResult(Box::new(ToolResult { tool_call_id, is_error, content })),
        )
    };
    match line.split_at_checked(1) {
        Some(("u", rest)) => text(Role::User, rest.trim_start()),
        Some(("a", rest)) => text(Role::Assistant, rest.trim_start()),
        Some(("s", rest)) => text(Role::System, rest.trim_start()),
        Some(("=", rest)) => result(rest, false),
        Some(("!", rest)) => result(rest, true),
        Some(("+", rest)) => {
            let (tool, json) = rest.split_once(' ').unwrap_or((rest, "{}"));
            of(
                Role::Assistant,
                PartKind::ToolCall(Box::new(ToolCall {
                    tool_call_id: call_id(place),
                    tool_name: tool.into(),
                    arguments: Json::parse(json).unwrap_or_else(|_| Json::text(json)),
                    raw_args_text: None,
                })),
            )
        }
        _ => text(Role::User, line),
    }
}

fn session(from: usize, lines: &[impl AsRef<str>]) -> Session {
    let messages = lines.iter().enumerate();
    messages
        .map(|(at, line)| (EntryId::from(format!("e{}", from + at)), message(at, line.as_ref())))
        .collect()
}

fn covered(session: &Session) -> Vec<Covered<'_>> {
    session.iter().map(|(entry, message)| Covered { entry, message }).collect()
}

fn summary(session: &Session, previous: Option<&str>, max_tokens: u64) -> String {
    let covered = covered(session);
    extract(&SummaryTask { previous, covered: &covered, max_tokens, tokenizer: &Tokenizer::O200k })
}

#[test]
fn the_summary_of_a_review_has_its_findings_and_its_verdict() {
    let review = [
        "u Add a division to calc.py, and let the reviewer look at it.",
        "a I added `div` to calc.py.\n\n calc.py | 3 +++\n tests/test_calc.py | 12 ++++++------\n \
         2 files changed, 9 insertions(+), 6 deletions(-)",
        "a Finding 1: `div` raises ZeroDivisionError and nobody handles it.\n\
         Finding 2: the test compares floats with ==.",
        "a Both are handled now; see calc.py and test_calc.py.\n calc.py | 5 +++--",
        "a Finding 3: the docstring of `div` is about `mul`.",
        "a The docstring is right now.",
        "a Approved.",
    ];
    let session = session(0, &review);
    for max_tokens in [400, 2000] {
        let summary = summary(&session, None, max_tokens);
        for wanted in ["Finding 1: ", "Finding 2: ", "Finding 3: ", "- [e6] Approved."] {
            assert!(summary.contains(wanted), "{wanted} is not in:\n{summary}");
        }
        for counted in ["+++", "insertions(+)"] {
            assert!(!summary.contains(counted), "{counted} is in:\n{summary}");
        }
    }
}

#[test]
fn requests_alone_hold_no_points() {
    for (lines, has) in [
        (vec!["u hello"], false),
        (vec!["u @scribe what did we decide?"], false),
        (vec!["u hello", "u what now?"], false),
        (vec!["u We decided to use PostgreSQL."], true),
        (vec!["u hello", "a The port is 48213."], true),
    ] {
        assert_eq!(has_points(&covered(&session(0, &lines))), has, "{lines:?}");
    }
}

const ENGLISH: [&str; 14] = [
    "u Fix the login timeout in src/auth/session.rs. You must never change the public API.",
    "a Let me look at `refresh_token` first.",
    r#"+read {"path":"src/auth/session.rs","limit":40}"#,
    "=1 pub fn refresh_token() {}",
    "a We decided to use a monotonic clock instead of SystemTime.",
    r#"+edit {"file_path":"src/auth/session.rs","old_string":"a","new_string":"b"}"#,
    "=done",
    r#"+bash {"command":"cargo test -p auth"}"#,
    "!Exit code 101\nerror[E0499]: cannot borrow `self.pool` as mutable\n",
    r#"+bash {"command":"cargo test -p auth --release"}"#,
    "=test result: ok. 34 passed",
    "u Also raise MAX_RETRIES to 500, please.",
    "a Fixed the timeout; the root cause was a stale TTL in RedisPool.",
    "a Next step: write docs/login.md. Shall I push to feature/login?",
];

#[test]
fn the_summary_of_an_english_session_has_its_goal_rules_actions_and_names() {
    insta::assert_snapshot!(summary(&session(0, &ENGLISH), None, 400), @r"
    ## Goal
    - [e0] Fix the login timeout in src/auth/session.rs. You must never change the public API.
    ## Requests
    - [e11] Also raise MAX_RETRIES to 500, please.
    ## Decisions
    - [e4] We decided to use a monotonic clock instead of SystemTime.
    ## Done
    - [e12] Fixed the timeout; the root cause was a stale TTL in RedisPool.
    ## Files changed
    - src/auth/session.rs
    ## Commands run
    - cargo test -p auth → failed
    - cargo test -p auth --release
    ## Errors
    - error[E0499]: cannot borrow `self.pool` as mutable
    ## Open
    - [e13] Next step: write docs/login.md.
    - [e13] Shall I push to feature/login?
    ## Names
    refresh_token
    ");
}

const CHINESE: [&str; 9] = [
    "u 请给注册页面加上邮箱验证。密码必须至少8位，不要修改数据库结构。",
    "a 我先看一下src/pages/register.tsx。",
    r#"+write {"path":"src/pages/register.tsx","content":"x"}"#,
    "=好",
    "a 我们决定采用validateEmail函数，不再用正则。",
    r#"+shell {"cmd":"npm test"}"#,
    "!Error: ENOENT: no such file config.json",
    "u 错误码要返回422。",
    "a 接下来还需要补充单元测试。",
];

#[test]
fn a_chinese_session_is_summarised_without_spaces_between_words() {
    insta::assert_snapshot!(summary(&session(0, &CHINESE), None, 400), @r"
    ## Goal
    - [e0] 请给注册页面加上邮箱验证。密码必须至少8位，不要修改数据库结构。
    ## Requests
    - [e7] 错误码要返回422。
    ## Decisions
    - [e4] 我们决定采用validateEmail函数，不再用正则。
    ## Files changed
    - src/pages/register.tsx
    ## Commands run
    - npm test → failed
    ## Errors
    - Error: ENOENT: no such file config.json
    ## Open
    - [e8] 接下来还需要补充单元测试。
    ");
}

/// The messages of a meeting of people: explicit decisions, comparisons, quotations, numbers.
const MEETING: [&str; 7] = [
    "u Make the import faster.",
    "a The files grew: 412,000 lines instead of 309,000. We killed it at 200 places since 02:10.",
    "u Decision: we sort first. `E-2041` stays as it is.",
    "a Told them: 「不受影響，會比以前更早完成。」 They are content.",
    "u Yes, do that. To be settled on Friday: the size of a batch.",
    "a One thing is still open: nobody has measured it on the real disks.",
    "a First the sort. Then the batches of 500.",
];

#[test]
fn the_summary_of_a_meeting_has_decisions_and_open_points_in_order() {
    insta::assert_snapshot!(summary(&session(0, &MEETING), None, 400), @r"
    ## Goal
    - [e0] Make the import faster.
    ## Requests
    - [e4] Yes, do that. To be settled on Friday: the size of a batch.
    ## Decisions
    - [e2] Decision: we sort first. `E-2041` stays as it is.
    ## Open
    - [e4] To be settled on Friday: the size of a batch.
    - [e5] One thing is still open: nobody has measured it on the real disks.
    ## Names
    412,000 309,000
    ## Notes
    - [e1] The files grew: 412,000 lines instead of 309,000.
    - [e1] We killed it at 200 places since 02:10.
    - [e3] Told them: 「不受影響，會比以前更早完成。」
    - [e3] They are content.
    - [e6] First the sort.
    - [e6] Then the batches of 500.
    ");
}

#[test]
fn fifty_rounds_keep_the_goal_and_the_rules_word_for_word_and_do_not_grow() {
    let mut text = summary(&session(0, &ENGLISH), None, 600);
    for round in 1..=50 {
        let lines = [
            format!("u Now do part {round} in src/part_{round}.rs."),
            format!(r#"+edit {{"path":"src/part_{round}.rs","content":"fn part_{round}() {{}}"}}"#),
            "=written".to_owned(),
            format!("a Added part_{round} with {round}00 lines; next step: part {}.", round + 1),
        ];
        let covered_now = session(round * 10, &lines);
        let covered = covered(&covered_now);
        let task = SummaryTask {
            previous: Some(&text),
            covered: &covered,
            max_tokens: 600,
            tokenizer: &Tokenizer::O200k,
        };
        let next = Compactor::default().summarize(&task, 10_000).unwrap();
        assert!(next.tokens <= 600);
        text = next.text.into();
        let goal = "## Goal\n- [e0] Fix the login timeout in src/auth/session.rs. You must never \
                    change the public API.\n";
        assert!(text.starts_with(goal), "round {round}:\n{text}");
        assert!(text.contains("Also raise MAX_RETRIES to 500") || round > 3, "{text}");
        assert!(text.contains(&format!("src/part_{round}.rs")), "round {round}:\n{text}");
    }
    assert!(text.contains("src/part_40.rs"), "older work is forgotten too soon:\n{text}");
}

#[test]
fn rules_stay_word_for_word_when_the_cap_is_short() {
    let first = session(0, &["u Build a shop.", "u Never use cookies. Always log to stderr."]);
    let mut text = summary(&first, None, 200);
    for round in 1..=50 {
        let lines = [format!("u Page {round}: add it."), "a Added it.".to_owned()];
        text = summary(&session(round * 10, &lines), Some(&text), 200);
        for rule in ["Never use cookies.", "Always log to stderr."] {
            assert!(text.contains(rule), "round {round}:\n{text}");
        }
    }
}

#[test]
fn a_file_written_again_is_listed_once() {
    let edit = [r#"+edit {"path":"a.rs","content":"x"}"#, "=ok"];
    let text = summary(&session(0, &edit), None, 300);
    let text = summary(&session(10, &edit), Some(&text), 300);
    assert_eq!(text.matches("a.rs").count(), 1, "{text}");
}

#[test]
fn a_command_that_ran_twice_is_listed_with_its_last_result() {
    let failed = [r#"+bash {"command":"cargo test"}"#, "!Exit code 1\nerror: no such file"];
    let passed = [r#"+bash {"command":"cargo test\n# again"}"#, "=ok. 34 passed"];
    let text = summary(&session(0, &failed), None, 300);
    assert!(text.contains("- cargo test → failed\n"), "{text}");
    let text = summary(&session(10, &passed), Some(&text), 300);
    assert!(text.contains("## Commands run\n- cargo test\n"), "{text}");
    assert_eq!(text.matches("cargo test").count(), 1, "{text}");
}

#[test]
fn commands_that_only_look_give_way_to_those_that_act() {
    let mut lines =
        vec![r#"+bash {"command":"cargo build --release"}"#.to_owned(), "=ok".to_owned()];
    for number in 0..40 {
        lines.push(format!(r#"+bash {{"command":"grep -n name_{number} src/file_{number}.rs"}}"#));
        lines.push("=found".to_owned());
    }
    let text = summary(&session(0, &lines), None, 300);
    assert!(text.contains("- cargo build --release\n"), "{text}");
    assert!(!text.contains("grep -n name_0 "), "{text}");
}

#[test]
fn what_an_earlier_version_listed_as_done_goes_among_files_and_commands() {
    let old = "## Goal\n- [e1] ship it\n## Done\n- [e2] wrote src/a.rs\n- [e3] ran make check → ok: fine\n- [e4] Fixed it.\n";
    let text = summary(&session(10, &["u go on", "a It is 5 o'clock."]), Some(old), 300);
    for part in ["## Files changed\n- [e2] src/a.rs\n", "- [e3] make check", "- [e4] Fixed it.\n"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("wrote src/a.rs"), "{text}");
}

#[test]
fn a_free_summary_of_a_model_is_carried_on() {
    let free = "We are building a login page for the shop.\n\n**Constraints:**\n- Never store \
                passwords in plain text.\n\n**Next steps:**\n- Wire up `verify_email` in auth.go";
    let covered_now = session(0, &["u go on", "a Added tests to auth_test.go."]);
    let text = summary(&covered_now, Some(free), 300);
    for part in ["login page for the shop", "Never store passwords in plain text.", "verify_email"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn a_done_point_of_a_list_is_no_longer_open() {
    let list = |status: &str| {
        format!(r#"+todo {{"todos":[{{"content":"write the docs","status":"{status}"}}]}}"#)
    };
    let text = summary(&session(0, &[list("pending")]), None, 300);
    assert!(text.contains("## Open\n- [e0] write the docs"), "{text}");
    let text = summary(&session(5, &[list("completed")]), Some(&text), 300);
    assert!(!text.contains("## Open"), "{text}");
}

#[derive(Debug)]
struct Author(Result<&'static str, &'static str>);

impl Summarize for Author {
    fn author(&self) -> &'static str {
        "model-x"
    }

    fn summarize(&self, _: &SummaryTask<'_>) -> Result<String, SummaryFailure> {
        self.0.map(str::to_owned).map_err(|reason| SummaryFailure { reason: reason.into() })
    }
}

#[test]
fn a_text_that_the_gate_refuses_is_replaced_and_the_reason_kept() {
    let session = session(0, &ENGLISH);
    let covered = covered(&session);
    let task = SummaryTask {
        previous: Some("see old_name"),
        covered: &covered,
        max_tokens: 300,
        tokenizer: &Tokenizer::O200k,
    };
    let by = |answer| Compactor::Custom(Arc::new(Author(answer))).summarize(&task, 5000).unwrap();

    let taken = by(Ok("All is well with old_name."));
    assert_eq!((&*taken.author, &*taken.strategy), ("model-x", "custom"));
    assert_eq!(taken.refused, None);

    let failure = SummaryFailure { reason: "no network".into() };
    let not_carried = Refusal::NotCarried { carried: 0, known: 1, what: "names" };
    for (answer, refusal) in [
        (Ok(" \n"), Refusal::Blank),
        (Ok("All is well."), not_carried),
        (Err("no network"), Refusal::NotWritten(failure)),
    ] {
        let replaced = by(answer);
        assert_eq!((&*replaced.author, &*replaced.strategy), (EXTRACTIVE, EXTRACTIVE));
        assert_eq!(replaced.refused, Some(refusal));
    }
}

#[test]
fn without_room_even_the_extractive_one_is_refused() {
    let session = session(0, &ENGLISH);
    let covered = covered(&session);
    let task = |max_tokens| SummaryTask {
        previous: None,
        covered: &covered,
        max_tokens,
        tokenizer: &Tokenizer::O200k,
    };
    assert_eq!(Compactor::Extractive.summarize(&task(3), 500), Err(Refusal::Blank));
    let refusal = Compactor::Extractive.summarize(&task(300), 20).unwrap_err();
    assert!(matches!(refusal, Refusal::NotSmaller { covered_tokens: 20, .. }), "{refusal}");
}

#[test]
fn a_request_to_a_model_is_bounded_and_names_what_it_leaves_out() {
    let mut lines: Vec<String> = ENGLISH.iter().map(|line| (*line).to_owned()).collect();
    lines.extend((0..100).map(|at| format!("={}", format!("line {at}\n").repeat(500))));
    let session = session(0, &lines);
    let covered = covered(&session);
    let task = SummaryTask {
        previous: Some("see old_name"),
        covered: &covered,
        max_tokens: 300,
        tokenizer: &Tokenizer::O200k,
    };
    let text = request_text(&task, 1_000_000);
    for part in
        ["At most 300 tokens", "see old_name", "[e5] assistant:\ncalls edit: file_path=src/"]
    {
        assert!(text.contains(part), "{part}");
    }
    let text = request_text(&task, 8_000);
    assert!(text.len() <= 8_000);
    assert!(text.contains("Fix the login timeout") && text.contains("messages left out"), "{text}");
}

#[test]
fn hostile_texts_are_summarised_in_one_go() {
    for piece in
        ["a", "a_b ", "must. ", "`", "[", "中", "。", "\n", "- [x] ", "## Goal\n", "a/", "TODO "]
    {
        let long = piece.repeat(400_000 / piece.len());
        let lines =
            [format!("u {long}"), format!("a {long}"), format!("={long}"), format!("!{long}")];
        let text = summary(&session(0, &lines), Some(&long), 500);
        assert!(Tokenizer::O200k.count(&text).tokens <= 500, "{piece}");
    }
}

fn any_line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,8}",
        "[a-z]{1,4}_[a-z]{1,4}",
        "src/[a-z]{1,5}\\.rs",
        "must|never|TODO|decided|fixed|`x`",
        "必须|决定|接下来|注册页面",
        "[!-~]{1,6}",
        "\\. [A-Z]",
        "\n## Goal\n|\n## Names\n|\n- ",
    ];
    let text = prop::collection::vec(word, 1..20).prop_map(|words| words.join(" "));
    (prop_oneof!["u ", "a ", "s ", "=", "!"], text.clone(), text).prop_map(|(kind, text, more)| {
        match more.len() % 4 {
            0 => format!(
                "+t {{\"path\":{},\"content\":\"x\",\"cmd\":{}}}",
                Json::text(&text).as_str(),
                Json::text(&more).as_str()
            ),
            _ => format!("{kind}{text}"),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_summary_is_over_its_cap_and_the_same_task_has_the_same_text(
        lines in prop::collection::vec(any_line(), 0..12),
        previous in prop::option::of(any_line()),
        cap in 0_u64..400,
    ) {
        let session = session(0, &lines);
        let text = summary(&session, previous.as_deref(), cap);
        prop_assert!(Tokenizer::O200k.count(&text).tokens <= cap);
        prop_assert_eq!(summary(&session, previous.as_deref(), cap), text);
    }

    #[test]
    fn the_extractive_summary_passes_its_own_gate(
        lines in prop::collection::vec(any_line(), 1..12),
        previous in any_line(),
    ) {
        let session = session(0, &lines);
        let covered = covered(&session);
        let task = SummaryTask { previous: Some(&previous), covered: &covered, max_tokens: 2000, tokenizer: &Tokenizer::O200k };
        if let Err(refusal) = Compactor::Extractive.summarize(&task, 1_000_000) {
            prop_assert_eq!(refusal, Refusal::Blank);
        }
    }

    #[test]
    fn a_summary_has_no_words_from_elsewhere(
        lines in prop::collection::vec("u [a-z ]{1,30}", 1..6),
        cap in 50_u64..300,
    ) {
        let session = session(0, &lines);
        let text = summary(&session, None, cap);
        for line in text.lines().filter(|line| !line.starts_with("## ")) {
            let said = line.split_once("] ").map_or(line, |(_, said)| said);
            let head = said.trim_end_matches('…').trim();
            let found = lines.iter().any(|line| {
                line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ").contains(head)
            });
            prop_assert!(found, "{line}");
        }
    }
}
