//! Finding the installed agents of a machine.

use tertulia_agent::{AuthState, MemorySupport, agents, probe};

use crate::fake_agent::{executable, is_in_own_process};

/// Returns a folder with scripts that play installed agents.
fn programs(scripts: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in scripts {
        let path = folder.path().join(name);
        executable(&path, script);
    }
    folder
}

#[test]
fn an_installed_agent_says_its_version_and_whether_it_is_signed_in() {
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)'\n";
    let folder = programs(&[("claude", script)]);
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let test = "probes::an_installed_agent_says_its_version_and_whether_it_is_signed_in";
    let home = folder.path().to_str().unwrap();
    let key = ("ANTHROPIC_API_KEY", "invented");
    if !is_in_own_process(test, &[("PATH", &path), ("HOME", home), key]) {
        return;
    }
    let found = probe(agents::CLAUDE, None).unwrap();
    assert!(found.path.as_ref().unwrap().ends_with("claude"));
    assert_eq!(found.version.as_deref(), Some("2.1.325"));
    assert_eq!(found.sign_in, AuthState::Yes("ANTHROPIC_API_KEY is set".into()));
    assert_eq!(found.advice, None);
    assert_eq!(found.memory, MemorySupport::Kept);

    let missing = probe(agents::CODEX, None).unwrap();
    assert_eq!((missing.path, missing.version), (None, None));
    assert!(matches!(missing.sign_in, AuthState::No(_)));
    assert!(missing.advice.unwrap().contains("npm install -g @openai/codex"));
}

#[test]
fn a_program_that_hangs_or_floods_has_no_version() {
    let output_limit =
        programs(&[("bot", "#!/bin/sh\nexec yes\n"), ("mute", "#!/bin/sh\nexec >&-; exit 1\n")]);
    for name in ["bot", "mute"] {
        let path = output_limit.path().join(name);
        let found = probe(agents::GEMINI, path.to_str()).unwrap();
        assert_eq!(found.path, Some(path));
        assert_eq!(found.version, None);
        assert!(found.advice.unwrap().contains("--version"));
    }
}
