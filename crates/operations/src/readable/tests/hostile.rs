//! Tests with documents of sessions in which every text tries to become markup.

use proptest::prelude::*;
use tertulia_session::json::Json;
use tertulia_session::{
    EntryKind, Image, ImageSource, PartKind, SpeakerType, TeamTask, TurnActivity, TurnEvent,
};

use super::{call, json, result, said, text, written};
use crate::readable::{Language, prose};

/// Texts of an attacker.
const HOSTILE: [&str; 25] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></head><body onload=alert(1)>",
    "</details></article></main><h1>ann</h1>",
    "<!-- ",
    "--> <b>x</b>",
    "]]><x>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1) \"x\")",
    "<javascript:alert(1)>",
    "![a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a]: javascript:alert(1)\n\n[a]",
    "```\n</code></pre><script>alert(1)</script>",
    "~~~~ html\n<iframe src=//a>",
    "````js\" onclick=\"alert(1)\nx\n````",
    "&lt;script&gt;&#60;script&#62;",
    "## ann\n\nI agree.",
    "ann\n===\n\n***\n\n> quote\nlazy",
    "- a\n\n      code\n\n\t<b>",
    "| a |\n|---|\n| <script> |",
    "&#27;[31m &#0; &#x85;",
    "\u{202e}right to left\u{0}\u{1b}[31m\u{7f}\u{85}",
];

/// Returns a session that contains this text in every position.
fn session_of(hostile: &str) -> Vec<EntryKind> {
    let arguments =
        format!("{{{0}:{0},\"command\":{0},\"path\":{0}}}", Json::text(hostile).as_str());
    let arguments = json(&arguments);
    let picture = |source| PartKind::Image(Box::new(Image { mime_type: hostile.into(), source }));
    let failed = TurnActivity::Failed {
        class: hostile.into(),
        message: hostile.into(),
        cure: hostile.into(),
    };
    vec![
        EntryKind::TeamTask(TeamTask::set(hostile)),
        said(hostile, SpeakerType::Human, vec![text(hostile)]),
        said(
            "max",
            SpeakerType::Ai,
            vec![
                PartKind::Thinking(hostile.to_owned()),
                text(hostile),
                picture(ImageSource::Data(hostile.into())),
                picture(ImageSource::Url(hostile.into())),
                call(hostile, hostile, &arguments),
            ],
        ),
        result(hostile, true, hostile),
        said("max", SpeakerType::Ai, vec![call("2", "Bash", &arguments)]),
        EntryKind::TurnEvent(TurnEvent::new("m1".into(), hostile, failed)),
        said("ann", SpeakerType::Human, vec![text("the end")]),
    ]
}

/// Returns the tags and attributes of a page, without the values of attributes.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        let mut shown = String::new();
        for (number, piece) in tag.split('"').enumerate() {
            shown.push_str(if number % 2 == 0 { piece } else { "\"" });
        }
        tags.push(shown);
        rest = after;
    }
    tags
}

fn allowed_tags() -> Vec<String> {
    let plain = [
        "p",
        "em",
        "strong",
        "del",
        "code",
        "ul",
        "ol",
        "li",
        "blockquote",
        "h3",
        "h4",
        "h5",
        "h6",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "b",
        "details",
        "summary",
        "article",
        "div",
        "pre",
        "span",
        "time",
        "a",
        "h2",
        "main",
    ];
    let mut allowed: Vec<String> = plain.iter().map(|name| (*name).to_owned()).collect();
    allowed.extend(plain.iter().map(|name| format!("/{name}")));
    let with_attributes = [
        "br",
        "hr",
        "p class=\"",
        "p class=\" dir=\"",
        "div class=\" dir=\"",
        "div class=\" tabindex=\"",
        "pre tabindex=\"",
        "pre class=\" tabindex=\"",
        "span class=\"",
        "details class=\"",
        "article class=\" id=\" aria-labelledby=\"",
        "article class=\"",
        "h2 id=\"",
        "a href=\" title=\"",
        "a rel=\" href=\"",
        "time datetime=\"",
        "ol start=\"",
        "th class=\"",
        "td class=\"",
        "img alt=\" loading=\" src=\"",
    ];
    // The text of an attribute is between two quotes, and only one of them is kept.
    allowed
        .extend(with_attributes.iter().map(|tag| tag.replace('"', "\"\"").replace("\"\"", "\"")));
    allowed
}

#[track_caller]
fn check_page(title: &str, hostile: &str) {
    let page = written(Language::Html, title, session_of(hostile), false);
    let (head, body) = page.split_once("<main id=\"talk\" tabindex=\"-1\">").unwrap();
    let (body, tail) = body.rsplit_once("</main>").unwrap();
    let allowed = allowed_tags();
    for tag in tags(body) {
        assert!(allowed.contains(&tag), "{hostile:?} became <{tag}>");
    }
    for address in body.split("href=\"").skip(1) {
        let is_safe = ["#m", "http://", "https://", "mailto:"];
        let lower = address.get(..12).unwrap_or(address).to_lowercase();
        assert!(is_safe.iter().any(|start| lower.starts_with(start)), "{hostile:?}: {address:.20}");
    }
    // The page after the messages is always the same, and the page before them has the same tags as for a harmless
    // text.
    assert_eq!(
        tail,
        written(Language::Html, "t", Vec::new(), false).rsplit_once("</main>").unwrap().1
    );
    let usual = written(Language::Html, "t", session_of("x"), false);
    assert_eq!(tags(head), tags(usual.split_once("<main id").unwrap().0), "{hostile:?}");
    let odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    assert!(!page.contains(odd), "{hostile:?}");
    assert!(body.ends_with("<p>the end</p>\n</div>\n</article>\n"));
}

#[track_caller]
fn check_markdown(title: &str, hostile: &str) {
    let document = written(Language::Markdown, title, session_of(hostile), false);
    let mut headings = Vec::new();
    let parser = pulldown_cmark::Parser::new_ext(&document, prose::options());
    let (mut details, mut heading) = (0_i64, None);
    for event in parser {
        use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
        match event {
            Event::Start(Tag::Heading { level, .. }) if level <= HeadingLevel::H3 => {
                assert_eq!(details, 0, "{hostile:?} opened a block");
                heading = Some(String::new());
            }
            Event::Text(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::End(TagEnd::Heading(_)) => headings.extend(heading.take()),
            Event::Html(html) => {
                details += html.matches("<details>").count() as i64;
                details -= html.matches("</details>").count() as i64;
                let known = ["<details>", "</details>", "<summary>"];
                assert!(known.iter().any(|tag| html.starts_with(tag)), "{hostile:?}: {html}");
            }
            Event::InlineHtml(html) => {
                assert!(matches!(&*html, "<sub>" | "</sub>"), "{hostile:?}: {html}");
            }
            _ => {}
        }
    }
    assert_eq!(headings.len(), 5, "{hostile:?}: {headings:?}\n{document}");
    assert!(headings.last().is_some_and(|last| last == "ann"), "{hostile:?}: {headings:?}");
    assert!(document.ends_with("\n## ann\n\n<sub>2026-01-31 12:00 · m7</sub>\n\nthe end\n"));
}

#[test]
fn nothing_that_is_said_becomes_markup() {
    for hostile in HOSTILE {
        check_page(hostile, hostile);
        check_markdown(hostile, hostile);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_mixture_becomes_markup(pieces in proptest::collection::vec(0..HOSTILE.len() * 2, 1..6)) {
        let separators = [" ", "\n", "\n\n", ""];
        let mut hostile = String::new();
        for piece in pieces {
            hostile.push_str(HOSTILE[piece % HOSTILE.len()]);
            hostile.push_str(separators[piece % separators.len()]);
        }
        check_page(&hostile, &hostile);
        check_markdown(&hostile, &hostile);
    }
}
