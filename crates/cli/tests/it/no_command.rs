//! Tests `tertulia` without a command, the help of the whole program, and the options of all commands.

use crate::pty::Pty;
use crate::workspace::Workspace;

const SCRIBE: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
                      [[member]]\nname = \"scribe\"\nagent = \"scribe\"\n";

#[test]
fn alone_on_a_terminal_it_opens_the_chat() {
    let workspace = Workspace::new(SCRIBE);
    let mut pty = Pty::start(&workspace, &[], &[]);
    pty.until("the chat's line", |screen| screen.trim_end().ends_with("\n>"));
    pty.types("/quit\r");
    let shown = pty.ends();
    assert_eq!(shown.code, 0, "{}", shown.screen);
    assert!(!shown.screen.contains("[y/N]"), "{}", shown.screen);
}

#[test]
fn alone_without_a_team_file_it_offers_to_create_one_and_opens_the_chat() {
    for (answer, is_created) in [("y\r", true), ("n\r", false)] {
        let workspace = Workspace::empty();
        let mut pty = Pty::start(&workspace, &[], &[]);
        pty.until("the question", |screen| screen.trim_end().ends_with("[y/N]"));
        pty.types(answer);
        pty.until("the chat's line", |screen| screen.trim_end().ends_with("\n>"));
        assert_eq!(workspace.path("tertulia.toml").exists(), is_created);
        pty.types("/quit\r");
        assert_eq!(pty.ends().code, 0);
    }
}

#[test]
fn alone_without_a_terminal_it_prints_its_help() {
    let workspace = Workspace::new(SCRIBE);
    let alone = workspace.exits(0, &[]);
    assert_eq!(alone.stderr, "");
    assert_eq!(alone.stdout, workspace.exits(0, &["--help"]).stdout);
    assert_eq!(alone.stdout, workspace.exits(0, &["-h"]).stdout);
}

#[test]
fn the_help_lists_commands_by_task_with_the_daily_ones_first_and_examples() {
    let workspace = Workspace::empty();
    let help = workspace.exits(0, &["--help"]).stdout;
    assert!(help.starts_with("Run several coding agents in one shared conversation\n"), "{help}");
    let places: Vec<usize> = [
        "Work with your team:",
        "  chat         Chat with your team of agents\n",
        "  run          Send one message and run agents until they are done or need you\n",
        "Look back:",
        "  why          Explain why an agent was (or wasn't) asked\n",
        "For scripts and other programs:",
        "  assemble",
        "--color <WHEN>",
        "Examples:\n  tertulia init",
    ]
    .iter()
    .map(|text| help.find(text).unwrap_or_else(|| panic!("{text} is not in {help}")))
    .collect();
    assert!(places.is_sorted(), "{places:?}\n{help}");
}

#[test]
fn quiet_leaves_out_notes_of_every_command_and_no_result() {
    let workspace = Workspace::empty();
    assert_ne!(workspace.exits(0, &["init"]).stderr, "");
    for arguments in [["--quiet", "init", "--force"], ["init", "--force", "-q"]] {
        assert_eq!(workspace.exits(0, &arguments).stderr, "");
    }
    let output = workspace.exits(0, &["--quiet", "run", "@scribe We decided to ship."]);
    assert!(output.stdout.starts_with("scribe:\n") && output.stderr.is_empty(), "{output:?}");
    assert_ne!(workspace.exits(2, &["--quiet", "run", "hi", "--team", "none.toml"]).stderr, "");
}

#[test]
fn colours_follow_the_option_then_the_variables() {
    let workspace = Workspace::empty();
    let has_colours = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = workspace.command(arguments);
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!has_colours(&["doctor"], &[]));
    assert!(has_colours(&["doctor", "--color", "always"], &[]));
    assert!(has_colours(&["--color=always", "doctor"], &[("NO_COLOR", "1")]));
    assert!(has_colours(&["doctor"], &[("FORCE_COLOR", "1")]));
    assert!(has_colours(&["doctor"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&["doctor"], &[("FORCE_COLOR", "0")]));
    assert!(!has_colours(&["doctor"], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]));
    assert!(!has_colours(&["doctor", "--color", "never"], &[("FORCE_COLOR", "1")]));
    assert!(has_colours(&["--help"], &[("FORCE_COLOR", "1")]));
}
