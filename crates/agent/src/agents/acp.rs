//! Runs agents that support the Agent Client Protocol on their pipes. `dialect` writes and parses the messages. The
//! protocol has no field for a system text, so the system text precedes the prompt. The turn ends with the response
//! to the prompt. The agent has to exit when its stdin closes; otherwise it is killed.

use tertulia_dialect::stream::{
    AcpSession, AgentClient, AgentPrompt, ErrorClass, LoadedSession, TurnError,
};

use super::{AgentDefinition, GENERIC, PROGRAM_FIELDS, PROMPT_FIELDS, ProjectSettings, SystemText};
use crate::process::environment::Environment;
use crate::process::escape::PromptSyntax;
use crate::process::{CommandLine, LiveAgent, StartError, program};
use crate::{AgentSpec, Ended, Job, Listener, NativeHead, TurnReport, clock};

/// Any agent that supports the Agent Client Protocol.
pub const ACP: &AgentDefinition = &AgentDefinition {
    word: "acp",
    title: "an agent",
    fields: &[PROMPT_FIELDS, PROGRAM_FIELDS, &["permissions"]],
    required: &[(
        "command",
        "has no command; write, for example, command = [\"gemini\", \"--acp\"]",
    )],
    // Settings of agents that support the protocol and have no definition of their own.
    settings: ProjectSettings {
        folders: &[".amp", ".cursor", ".goose", ".qwen"],
        files: &[".crush.json", "crush.json"],
        skipped: &[],
    },
    prompt_syntax: PromptSyntax::Acp,
    system_text: SystemText::Instructions,
    ..GENERIC
};

pub(crate) fn run(job: Job<'_>, listener: &mut dyn Listener) -> TurnReport {
    match start(job, None) {
        Ok(mut agent) => {
            let message = crate::sent_prompt(job.spec, job.request);
            let prompt = AgentPrompt { message: &message, ..AgentPrompt::default() };
            let stop = agent.turn(&prompt, job, listener);
            agent.end(stop, job, listener)
        }
        Err(error) => clock::not_started(error, Ended::ByItself),
    }
}

/// Starts an agent that opens a new session, or loads the one of a head.
pub(crate) fn start(job: Job<'_>, head: Option<&NativeHead>) -> Result<LiveAgent, TurnError> {
    let spec = job.spec;
    let Some(name) = spec.program.as_deref() else {
        let message = "no program is named; set `command` to a program that supports ACP";
        return Err(TurnError::new(ErrorClass::Setup, message));
    };
    let command = command(name, spec)?;
    let cwd = command.cwd.to_string_lossy().into_owned();
    let loaded = head.map(|head| LoadedSession {
        session: &head.session,
        history: &head.hash,
        cost_usd: head.totals.cost_usd,
    });
    let session = AcpSession { cwd: &cwd, model: spec.model.as_deref(), loaded };
    let client = AgentClient::acp(&session, spec.limits);
    Ok(LiveAgent::start(command, client, job)?)
}

pub(crate) fn command(name: &str, spec: &AgentSpec) -> Result<CommandLine, StartError> {
    let environment = Environment::for_agent(AgentDefinition::for_adapter(name), &spec.env);
    let program = program::resolve(name, &environment, &spec.cwd)?;
    Ok(CommandLine::new(program, environment, spec))
}

#[cfg(test)]
mod tests {
    use crate::{AgentKind, AgentSpec, Mentions, TurnRequest};

    /// Returns the prompt that an agent with this command line gets.
    fn text(words: &[&str], system: Option<&str>, prompt: &str) -> String {
        let (program, args) = words.split_first().unwrap();
        let spec = AgentSpec {
            program: Some((*program).into()),
            args: args.iter().map(|word| (*word).into()).collect(),
            ..AgentSpec::new(AgentKind::Acp, "/")
        };
        let request = TurnRequest {
            turn: "t",
            number: 0,
            prompt,
            mentions: Mentions::none(),
            system,
            body: None,
            memory: crate::Memory::Fresh,
            message_start: 0,
        };
        crate::sent_prompt(&spec, &request)
    }

    #[test]
    fn the_prompt_begins_with_the_system_text() {
        let whole = "<instructions>\nBe.\n</instructions>\n\nHello";
        assert_eq!(text(&["bot"], Some("Be.\n"), "Hello"), whole);
        assert_eq!(text(&["bot"], None, "Hello"), "Hello");
        assert_eq!(text(&["bot"], Some(" "), "Hello"), "Hello");
    }

    #[test]
    fn a_prompt_is_no_command_of_the_agent() {
        let gemini = ["gemini", "--acp"];
        assert_eq!(text(&gemini, None, " /memory show"), r" \/memory show");
        assert_eq!(text(&gemini, None, "$memory show"), r"\$memory show");
        assert_eq!(text(&["claude-agent-acp"], None, "/compact"), r"\/compact");
        assert!(text(&gemini, Some("Be."), "/help").ends_with("\n/help"), "it begins elsewhere");
    }

    #[test]
    fn an_at_sign_is_escaped_only_for_adapters_of_claude() {
        for name in ["claude-code-acp", "/opt/bin/claude-agent-acp", "./claude-acp"] {
            assert_eq!(text(&[name], None, "see @(a)/b"), r"see \@(a)/b", "{name}");
        }
        let started = ["npx", "-y", "@zed-industries/claude-code-acp@1"];
        assert_eq!(
            text(&started, Some("Read @a."), "@b"),
            text(&["claude-acp"], Some("Read @a."), "@b")
        );
        for name in ["gemini", "codex-acp", "/opt/claude/bin/bot"] {
            assert_eq!(text(&[name, "--acp"], None, "see @(a)/b"), "see @(a)/b", "{name}");
        }
    }
}
