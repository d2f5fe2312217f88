//! Properties of all texts and all files: nothing panics, errors have a position inside the text, and a written file
//! reads back the same.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use tertulia_agent::{CommandOutput, Permissions};
use tertulia_team::Limits;
use tertulia_team::agents;
use tertulia_team::file::{MemberFile, TeamFile};

use super::good;
use super::written::to_toml;

/// Pieces that make up files that are almost valid.
const PIECES: [&str; 24] = [
    "[[member]]\n",
    "[member]\n",
    "[limits]\n",
    "name = ",
    "agent = ",
    "kind = ",
    "env = ",
    "task = ",
    "command = ",
    "answers = ",
    "\"max\"\n",
    "\"claude\"\n",
    "\"human\"\n",
    "[\"a\"]\n",
    "{ A = \"b\" }\n",
    "5\n",
    "-1.5\n",
    "true\n",
    "{",
    "[",
    "\u{feff}",
    "安",
    "\r\n",
    "\u{1b}[31m",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = vec(prop::sample::select(PIECES.to_vec()), 0..30);
    prop_oneof![any::<String>(), pieces.prop_map(|pieces| pieces.concat())]
}

fn boxed(pattern: &'static str) -> impl Strategy<Value = Box<str>> {
    pattern.prop_map(String::into_boxed_str)
}

/// Generates texts that are not blank.
fn words() -> impl Strategy<Value = Box<str>> {
    any::<String>()
        .prop_map(|text| text.replace('\0', ""))
        .prop_filter("blank", |text| !text.trim().is_empty() && !text.starts_with('~'))
        .prop_map(String::into_boxed_str)
}

fn seconds() -> impl Strategy<Value = Option<u32>> {
    of(1_u32..604_800)
}

fn prompted(name: String) -> impl Strategy<Value = MemberFile> {
    let agents = [agents::CLAUDE, agents::CODEX, agents::GEMINI];
    let looks = (of(boxed("[a-zA-Z ]{0,5}[a-z]")), of(boxed("#[0-9a-f]{6}|red|cyan")));
    let texts = (of(words()), of(words()), of(boxed("[a-z0-9.]{1,9}")), of(words()));
    let sizes = (of(0_usize..100_000), of(1_usize..1 << 30), of(0.0..1e6), seconds(), seconds());
    let program = (
        vec(words(), 0..3),
        vec(any::<String>().prop_map(|text| text.replace('\0', "").into_boxed_str()), 0..3),
        btree_map(boxed("[A-Za-z_ .\"']{1,6}"), words(), 0..3),
        prop::sample::select(vec![Permissions::Read, Permissions::Edit, Permissions::Full]),
    );
    (prop::sample::select(agents.to_vec()), looks, texts, sizes, program).prop_map(
        move |(agent, looks, texts, sizes, program)| {
            let mut file = MemberFile::ai(name.as_str(), agent);
            (file.display_name, file.color) = looks;
            (file.instruction, file.instruction_file, file.model, file.cwd) = texts;
            (file.window, file.budget_bytes, file.budget_usd, file.timeout_s, file.silence_s) =
                sizes;
            (file.command, file.args, file.env, file.permissions) = program;
            file
        },
    )
}

fn team() -> impl Strategy<Value = TeamFile> {
    let others = (vec(words(), 1..4), words(), of(1_usize..1000), any::<bool>()).prop_map(
        |(answers, cwd, tokens, is_jsonl)| {
            let mut script = MemberFile::ai("script", agents::SCRIPT);
            script.answers = answers;
            let mut command = MemberFile::ai("command", agents::COMMAND);
            (command.command, command.cwd) = (vec!["x".into()], Some(cwd));
            command.output = if is_jsonl { CommandOutput::Jsonl } else { CommandOutput::Text };
            let mut open = MemberFile::ai("open", agents::OPENAI);
            (open.base_url, open.budget_tokens) = (Some("http://localhost/v1".into()), tokens);
            vec![MemberFile::human("ann"), script, command, open]
        },
    );
    let limits = (1_usize..1000, 1_u32..1000, 1_u32..1000, of(0.0..1e6)).prop_map(
        |(queue, turns, pair, budget_usd)| Limits {
            queue,
            turns,
            pair,
            budget_usd,
            ..Limits::default()
        },
    );
    let fallback = prop::sample::subsequence(vec!["eva", "script", "open"], 0..3);
    let agents = (prompted("max".to_owned()), prompted("eva".to_owned()), fallback);
    (agents, others, limits, of(words())).prop_map(
        |((mut max, eva, fallback), others, limits, task)| {
            max.fallback = fallback.into_iter().map(Box::from).collect();
            let mut team = TeamFile::new(others);
            team.members.extend([max, eva]);
            TeamFile { task, limits, default: Some("eva".into()), ..team }
        },
    )
}

proptest! {
    #[test]
    fn no_text_panics_and_every_error_has_its_place(text in text()) {
        for text in [text.clone(), format!("{{{text}")] {
            let Err(errors) = TeamFile::parse(&text, "t") else { continue };
            prop_assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                let position = error.position.unwrap();
                prop_assert!(position.line <= text.split('\n').count());
                prop_assert!(!error.to_string().contains('\u{1b}'), "{}", error);
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back(team in team()) {
        let text = to_toml(&team);
        prop_assert_eq!(good(&text), team, "{}", text);
    }
}

#[test]
fn a_large_file_of_errors_is_reported_in_short() {
    for text in
        ["[a]\n".repeat(200_000), "x".repeat(1 << 20), "\"".repeat(1 << 19), "a.".repeat(1 << 19)]
    {
        let errors = super::bad(&text);
        assert!(errors.errors.len() <= 100);
        assert!(errors.to_string().len() < 100_000);
    }
    let json = format!("{{{}\"b\":1}}", "\"a\":{},".repeat(100_000));
    assert!(TeamFile::parse(&json, "t").is_err());
    let deep = format!("{{\"team\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    assert!(TeamFile::parse(&deep, "t").is_err());
}

#[test]
fn a_file_beyond_a_mebibyte_is_not_read() {
    let error = super::bad(&"#".repeat((1 << 20) + 1)).to_string();
    assert_eq!(error, "tertulia.toml: is larger than 1024 KiB; make it shorter");
}
