//! How agents are started and which instructions they get, and the file that a new user gets.

#![expect(clippy::disallowed_methods, reason = "files are made for the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use tertulia_agent::AgentKind;
use tertulia_team::Team;
use tertulia_team::file::{FoundAgent, MemberFile, TeamFile, TrustReason, first_task, write_new};

use super::written::to_toml;
use tertulia_team::{SCRIBE, agents};

use super::good;

fn member(fields: &str) -> MemberFile {
    good(&format!("[[member]]\nname = \"max\"\n{fields}\n")).members.remove(0)
}

#[test]
fn people_and_built_in_members_are_not_started() {
    for member in TeamFile::built_in().members {
        assert!(
            member.agent_spec(Path::new("/p"), Path::new("/p")).unwrap().is_none(),
            "{}",
            member.name
        );
    }
}

#[test]
fn words_paths_and_times_reach_the_agent() {
    let fields = "agent = \"command\"\ncommand = \"./lint -a\"\nargs = [\"-b\"]\ncwd = \"src\"\ntimeout_s = 60";
    let (base, work) = (Path::new("/p"), Path::new("/w"));
    let spec = member(fields).agent_spec(base, work).unwrap().unwrap();
    assert!(matches!(spec.kind, AgentKind::Command(_)));
    assert_eq!(spec.program.as_deref(), Some("/p/./lint"));
    assert_eq!(spec.args, ["-a".into(), "-b".into()]);
    assert_eq!(spec.cwd, Path::new("/p/src"));
    assert_eq!(spec.timeouts.total, Duration::from_secs(60));
    let spec = member("agent = \"claude\"\ncommand = \"claude2\"").agent_spec(base, work);
    let spec = spec.unwrap().unwrap();
    assert_eq!((spec.program.as_deref(), &*spec.cwd), (Some("claude2"), work));
}

#[test]
fn a_member_s_resource_limits_come_before_the_team_s() {
    let team = good(
        "[limits]\nmax_processes = 50\nmax_memory_mb = 4096\n\n\
         [[member]]\nname = \"max\"\nagent = \"claude\"\nmax_processes = 7\n\n\
         [[member]]\nname = \"eva\"\nagent = \"codex\"\nmax_memory_mb = 512\n",
    );
    let limits = |name: &str| {
        let spec = team.member(name).unwrap().agent_spec(Path::new("/p"), Path::new("/p"));
        let resources = spec.unwrap().unwrap().resources;
        (resources.processes, resources.memory_bytes >> 20)
    };
    assert_eq!((limits("max"), limits("eva")), ((7, 4096), (50, 512)));
    let usual = member("agent = \"claude\"").agent_spec(Path::new("/p"), Path::new("/p"));
    let usual = usual.unwrap().unwrap().resources;
    assert_eq!(usual.processes, 1024);
    assert!(usual.memory_bytes >= 2 << 30);
    assert_eq!(TeamFile::parse(&to_toml(&team), "x").unwrap(), team);
}

#[test]
fn a_cwd_that_is_a_link_out_of_the_folder_is_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(folder.path().join("src")).unwrap();
    symlink("src", folder.path().join("inside")).unwrap();
    symlink(other.path(), folder.path().join("outside")).unwrap();
    let spec = |cwd: &str| {
        let max = member(&format!("agent = \"claude\"\ncwd = \"{cwd}\""));
        max.agent_spec(folder.path(), folder.path()).map(|spec| spec.unwrap().cwd)
    };
    for cwd in ["src", "inside", "not-there", "."] {
        assert_eq!(spec(cwd).unwrap(), folder.path().join(cwd));
    }
    fs::create_dir(other.path().join("deep")).unwrap();
    for cwd in ["outside", "./outside/deep", "src/../outside"] {
        let error = spec(cwd).unwrap_err().to_string();
        let place = format!("cwd of max: {}", folder.path().join(cwd).display());
        assert!(error.starts_with(&place) && error.contains("is a link that leads out"), "{error}");
    }
    // An absolute path may lead out of the folder; trust decides about it.
    assert_eq!(spec(&other.path().display().to_string()).unwrap(), other.path());
}

#[test]
fn both_instructions_are_joined_with_an_empty_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("max.md"), "\u{feff}\nThe file.\n").unwrap();
    let text = |fields: &str| {
        member(&format!("agent = \"claude\"\n{fields}")).instruction_text(folder.path()).unwrap()
    };
    assert_eq!(text(""), None);
    assert_eq!(text("instruction = \" A. \"").as_deref(), Some("A."));
    assert_eq!(text("instruction_file = \"max.md\"").as_deref(), Some("The file."));
    let both = text("instruction = \"A.\"\ninstruction_file = \"max.md\"");
    assert_eq!(both.as_deref(), Some("A.\n\nThe file."));
}

#[test]
fn an_instruction_file_that_cannot_be_used_is_named_with_its_member() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::NamedTempFile::new().unwrap();
    symlink(other.path(), folder.path().join("link.md")).unwrap();
    fs::write(folder.path().join("large.md"), "x".repeat((1 << 20) + 1)).unwrap();
    fs::write(folder.path().join("bytes.md"), b"\xff").unwrap();
    fs::create_dir(folder.path().join("dir.md")).unwrap();
    for (file, words) in [
        ("none.md", "cannot be read"),
        ("large.md", "is larger than 1024 KiB; make it shorter"),
        ("bytes.md", "is not UTF-8"),
        ("dir.md", "is not a file"),
        ("link.md", "is a link that leads out of the team file's folder"),
    ] {
        let max = member(&format!("agent = \"claude\"\ninstruction_file = \"{file}\""));
        let error = max.instruction_text(folder.path()).unwrap_err().to_string();
        let place = format!("instruction_file of max: {}", folder.path().join(file).display());
        assert!(error.starts_with(&place) && error.contains(words), "{error}");
    }
}

#[test]
fn a_script_is_read_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let max = member("agent = \"script\"\nscript_file = \"s.jsonl\"");
    let script = |text: &str| {
        fs::write(folder.path().join("s.jsonl"), text).unwrap();
        max.agent_spec(folder.path(), folder.path()).map(|spec| match spec.unwrap().kind {
            AgentKind::Script(lines) => {
                lines.iter().map(|l| (l.text.to_string(), l.delay.as_millis())).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        })
    };
    let lines = script("\"a\\nb\"\n\n{\"text\": \"c\", \"delayMs\": 5}\n").unwrap();
    assert_eq!(lines, [("a\nb".to_owned(), 0), ("c".to_owned(), 5)]);
    for (text, words) in [
        ("", "contains no answers"),
        ("\"a\"\nb\n", "line 2: "),
        ("{\"txt\": \"a\"}", "line 1: text"),
        ("{\"text\": \"a\", \"x\": 1}", "line 1: there is no field x"),
    ] {
        let error = script(text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_new_file_has_the_person_the_agents_and_the_scribe() {
    let agent = |agent, version: Option<&str>| FoundAgent {
        agent,
        command: Vec::new(),
        version: version.map(Box::from),
    };
    let found = [
        agent(agents::CODEX, Some("codex-cli 0.166.0\nmore \u{1b}[1m")),
        agent(agents::CLAUDE, None),
        agent(agents::CODEX, None),
    ];
    let text = write_new(&found, "ann");
    let team = good(&text);
    let expected = TeamFile {
        default: Some("codex".into()),
        ..TeamFile::new(vec![
            MemberFile::human("ann"),
            MemberFile {
                role: Some("author: designs the change and writes it".into()),
                ..MemberFile::ai("codex", agents::CODEX)
            },
            MemberFile {
                role: Some("reviewer: looks for bugs, risks and missing tests".into()),
                ..MemberFile::ai("claude", agents::CLAUDE)
            },
            MemberFile::ai("scribe", SCRIBE),
        ])
    };
    assert_eq!(team, expected);
    assert!(team.warnings.is_empty());
    assert!(text.contains("# Codex (codex-cli 0.166.0)\n") && !text.contains('\u{1b}'), "{text}");
    let reasons = tertulia_team::file::needs_trust(&team);
    let is_agent = |reason: &TrustReason| matches!(reason, TrustReason::Agent { .. });
    assert!(reasons.len() == 2 && reasons.iter().all(is_agent), "{reasons:?}");
}

#[test]
fn the_first_task_that_is_suggested_lets_the_agents_hand_over() {
    let agent = |agent| FoundAgent { agent, command: Vec::new(), version: None };
    let two = [agent(agents::CLAUDE), agent(agents::CODEX)];
    let task = first_task(&two);
    assert!(task.starts_with("@claude ") && task.contains("ask codex to review it"), "{task}");
    assert!(first_task(&two[..1]).starts_with("@claude "));
    assert!(first_task(&[]).starts_with("@scribe "));
}

#[test]
fn a_new_file_is_good_for_every_user_and_without_agents() {
    for user in ["", "ALL", "a,b", "scribe", "S-cribe", "安", "x\ny", "\"", "Ann Lee"] {
        let team = good(&write_new(&[], user));
        let expected = if ["安", "\"", "Ann Lee"].contains(&user) { user } else { "you" };
        assert_eq!(&*team.members[0].name, expected);
        assert_eq!(team.default.as_deref(), Some("scribe"));
    }
}

#[test]
fn what_is_commented_out_in_a_new_file_is_good_too() {
    let found = [FoundAgent { agent: agents::CLAUDE, command: Vec::new(), version: None }];
    for text in [write_new(&[], "ann"), write_new(&found, "ann")] {
        let is_field =
            |line: &str| line.contains(" = ") || line.contains("[limits]") || line.contains("[[");
        let lines = text.lines().map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_field(rest) => rest,
            _ => line,
        });
        // `default` precedes `[limits]`, so the file is valid with the commented-out lines too.
        let team = good(&lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(team.limits.budget_usd, Some(5.0));
        assert!(team.task.is_some());
    }
}

#[test]
fn the_default_budget_fits_into_the_window_of_the_agents_model() {
    // The window of Claude has 200,000 tokens and that of Codex 272,000. A token has at least 3 bytes.
    for (fields, bytes, tokens) in [
        ("agent = \"claude\"", 360_000, 200_000),
        ("agent = \"codex\"", 489_600, 272_000),
        ("agent = \"gemini\"", 786_432, 1_000_000),
        ("agent = \"command\"\ncommand = \"./x\"", 230_400, 128_000),
        ("agent = \"acp\"\ncommand = \"./x\"", 230_400, 128_000),
    ] {
        let file = good(&format!("[[member]]\nname = \"max\"\n{fields}\n"));
        let team = Team::from_file(&file, Path::new("/p")).unwrap();
        let budget = team.members()[0].budget_bytes;
        assert_eq!(budget, bytes, "{fields}");
        assert!(budget / 3 < tokens, "{fields}");
    }
    let fields = "agent = \"claude\"\nbudget_bytes = 900000";
    let file = good(&format!("[[member]]\nname = \"max\"\n{fields}\n"));
    let team = Team::from_file(&file, Path::new("/p")).unwrap();
    assert_eq!(team.members()[0].budget_bytes, 900_000, "what the file says counts");
}
