//! Tests with documents of small sessions.

mod hash;
mod hostile;

use std::fmt::Write as _;

use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryKind, Image, ImageSource, Message, NewEntry, Part, PartKind, Parts, Role, Speaker,
    SpeakerType, TeamTask, Timestamp, ToolCall, ToolResult, TurnActivity, TurnEvent,
};

use super::{About, Document, Language, Survey, When};
use hash::{base64, sha256};

const WHEN: When<'_> = When { local: "2026-01-31 12:00", iso: "2026-01-31T12:00:00.000Z" };

fn written(language: Language, title: &str, kinds: Vec<EntryKind>, is_full: bool) -> String {
    let mut number = 0;
    let mut entry = |kind| {
        number += 1;
        NewEntry::new(kind).with_id(format!("m{number}").into())
    };
    let entries: Vec<Entry> = kinds.into_iter().map(&mut entry).collect();
    let mut survey = Survey::default();
    for entry in &entries {
        survey.add(entry, &Timestamp::from_millis(1_769_860_800_000));
    }
    let (created, ended) = (WHEN.local.to_owned(), Some("2026-01-31 12:30".to_owned()));
    let about = About { title, session: "talk", created, ended, survey, is_full };
    let mut document = Document::new(language, about);
    let mut text = document.begin();
    for entry in &entries {
        text.push_str(&document.entry(entry, WHEN));
    }
    text.push_str(&document.end());
    text
}

fn said(name: &str, kind: SpeakerType, parts: Vec<PartKind>) -> EntryKind {
    let role = if kind == SpeakerType::Ai { Role::Assistant } else { Role::User };
    let parts: Parts = parts.into_iter().map(Part::new).collect();
    let speaker = Some(Speaker::new(name, name, kind).into());
    EntryKind::Message(Message { speaker, ..Message::with_role(role, parts) })
}

fn text(text: &str) -> PartKind {
    PartKind::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &Json) -> PartKind {
    PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: name.into(),
        arguments: arguments.clone(),
        raw_args_text: None,
    }))
}

fn result(id: &str, is_error: bool, content: &str) -> EntryKind {
    let content = Json::text(content);
    let result = ToolResult { tool_call_id: id.into(), is_error, content };
    let part = Part::new(PartKind::ToolResult(Box::new(result)));
    EntryKind::Message(Message::with_role(Role::Tool, Parts::from([part])))
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Returns a conversation of two people with an agent that changes a file.
fn talk() -> Vec<EntryKind> {
    let change = r#"{"file_path":"a.rs","old_string":"a\nb","new_string":"a\nc"}"#;
    vec![
        EntryKind::TeamTask(TeamTask::set("Ship it")),
        said("ann", SpeakerType::Human, vec![text("Fix `a.rs`, please.")]),
        said(
            "max",
            SpeakerType::Ai,
            vec![
                PartKind::Thinking("A typo.".to_owned()),
                text("I change it:"),
                call("1", "Edit", &json(change)),
                call("2", "Bash", &json(r#"{"command":"cargo test","timeout":60}"#)),
            ],
        ),
        result("1", false, "done"),
        result("2", true, "1 failed ```"),
        said("max", SpeakerType::Ai, vec![text("# Almost\n\n- one\n- two")]),
        said("bob", SpeakerType::Human, vec![text("Thanks <3")]),
    ]
}

#[test]
fn a_talk_as_markdown() {
    let expected = include_str!("tests/snapshots/talk.md");
    assert_eq!(written(Language::Markdown, "Talk #1", talk(), false), expected);
}

#[test]
fn a_talk_as_html() {
    let page = written(Language::Html, "Talk <1>", talk(), false);
    let (_, body) = page.split_once("<main").unwrap();
    let (body, _) = body.split_once("</main>").unwrap();
    let expected = include_str!("tests/snapshots/talk.html");
    assert_eq!(body, expected);
    assert!(page.contains("<title>Talk &lt;1&gt;</title>"));
    assert!(page.contains("12:30 · 4 messages, 2 tool calls</p>"));
}

#[test]
fn what_an_agent_of_the_team_did_is_below_its_name() {
    let event = |activity| EntryKind::TurnEvent(TurnEvent::new("m1".into(), "max", activity));
    let (id, name) = ("1".into(), "Read".into());
    let started = TurnActivity::ToolStarted { id, name, input: json(r#"{"path":"a"}"#) };
    let output = Some("text".into());
    let finished =
        TurnActivity::ToolFinished { id: "1".into(), name: None, output, is_error: false };
    let kinds = vec![
        said("ann", SpeakerType::Human, vec![text("Read a.")]),
        event(started),
        event(finished),
        said("max", SpeakerType::Ai, vec![text("It says text.")]),
    ];
    let document = written(Language::Markdown, "t", kinds, false);
    assert_eq!(document.matches("## max").count(), 1, "{document}");
    assert!(document.contains("<summary><b>Read</b> <code>a</code></summary>"), "{document}");
}

#[test]
fn an_agent_with_the_name_of_a_person_gets_a_heading_of_its_own() {
    let said = |kind| said("ann", kind, vec![text("Yes.")]);
    let kinds = vec![said(SpeakerType::Human), said(SpeakerType::Ai), said(SpeakerType::Ai)];
    let document = written(Language::Markdown, "t", kinds, false);
    assert_eq!(document.matches("## ann").count(), 2, "{document}");
}

#[test]
fn a_long_output_is_shortened_unless_everything_is_wanted() {
    let long: String = (1..=500).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "line {line}");
        text
    });
    let kinds = || {
        let call = call("1", "Bash", &json(r#"{"command":"seq"}"#));
        vec![said("max", SpeakerType::Ai, vec![call]), result("1", false, &long)]
    };
    for language in [Language::Markdown, Language::Html] {
        let short = written(language, "t", kinds(), false);
        assert!(short.contains("450 lines") && !short.contains("line 250"), "{short}");
        assert!(short.contains("line 1\n") && short.contains("line 500"), "{short}");
        let full = written(language, "t", kinds(), true);
        assert!(full.contains("line 250") && !full.contains("left out"), "{full}");
    }
}

#[test]
fn a_picture_is_in_the_page_and_one_elsewhere_is_not_loaded() {
    let picture = |mime_type: &str, source| {
        PartKind::Image(Box::new(Image { mime_type: mime_type.into(), source }))
    };
    let parts = vec![
        picture("image/png", ImageSource::Data("AAAA".into())),
        picture("image/svg+xml", ImageSource::Data("BBBB".into())),
        picture("image/png", ImageSource::Data("\" onerror=x".into())),
        picture("image/png", ImageSource::Url("https://a/b.png".into())),
    ];
    let page = written(Language::Html, "t", vec![said("ann", SpeakerType::Human, parts)], false);
    assert_eq!(page.matches("<img ").count(), 1, "{page}");
    assert!(page.contains("src=\"data:image/png;base64,AAAA\""), "{page}");
    assert!(page.contains("[picture: https://a/b.png]"), "{page}");
}

#[test]
fn the_policy_allows_this_style_and_this_script_and_nothing_else() {
    let page = written(Language::Html, "t", Vec::new(), false);
    let between = |start: &str, end: &str| {
        let (_, rest) = page.split_once(start).unwrap();
        rest.split_once(end).unwrap().0
    };
    let hash = |text: &str| format!("'sha256-{}'", base64(&sha256(text.as_bytes())));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(between("<style>", "</style>")),
        hash(between("<script>", "</script>")),
    );
    assert_eq!(between("Content-Security-Policy\" content=\"", "\">"), policy);
    for outside in ["src=\"http", "@import", "url(", "style=\"", "onclick", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
}
