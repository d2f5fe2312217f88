//! The environment of an agent, built from a list of allowed variables: those that every program needs, those that
//! the agent documents for its keys and folders, and those that the team file adds. The agent gets no other variable
//! of our environment, such as the password of a store or the key of another service.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::agents::{AGENTS, AgentDefinition, Cli};

/// Variables that every program may see. The names are complete, so that a variable with a similar
/// name, such as `LC_SECRET`, is not passed on.
const COMMON: &str = "PATH HOME USER LOGNAME SHELL TERM TZ TMPDIR LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE \
    LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME LC_ADDRESS LC_IDENTIFICATION LC_MEASUREMENT LC_NAME LC_PAPER \
    LC_TELEPHONE XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR \
    XDG_STATE_HOME SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY \
    http_proxy https_proxy all_proxy no_proxy";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    pub(crate) fn for_agent(
        agent: Option<&AgentDefinition>,
        added: &BTreeMap<Box<str>, Box<str>>,
    ) -> Self {
        let mut environment = Self::chosen(std::env::vars_os(), agent);
        for (name, value) in added {
            environment.set(&**name, &**value);
        }
        environment
    }

    fn chosen(
        ours: impl IntoIterator<Item = (OsString, OsString)>,
        agent: Option<&AgentDefinition>,
    ) -> Self {
        // With one of these variables, an agent would consider itself part of another agent and wait for it.
        let is_nested = |name: &str| {
            let clis = AGENTS.iter().filter_map(|agent| agent.cli.as_ref());
            clis.flat_map(|cli| cli.nested_variables).any(|pattern| fits(name, pattern))
        };
        let cli = agent.and_then(|agent| agent.cli.as_ref());
        let own = |cli: &Cli, name: &str| {
            let mut patterns = cli.variables.iter().chain(cli.sign_in.variables);
            patterns.any(|pattern| fits(name, pattern))
        };
        let is_allowed = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                let is_common = COMMON.split(' ').any(|common| common == name);
                (is_common || cli.is_some_and(|cli| own(cli, name))) && !is_nested(name)
            })
        };
        Self(ours.into_iter().filter(|(name, _)| is_allowed(name)).collect())
    }

    /// Sets a variable. Skips an invalid name, because the system would refuse the whole environment.
    pub(crate) fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        let (name, value) = (name.as_ref(), value.as_ref());
        let bytes = name.as_encoded_bytes();
        let is_name = !bytes.is_empty() && !bytes.contains(&b'=') && !bytes.contains(&0);
        if is_name && !value.as_encoded_bytes().contains(&0) {
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Returns the value of a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }
}

fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents;

    fn names(ours: &[&str], agent: &AgentDefinition) -> String {
        let ours = ours.iter().map(|name| (OsString::from(name), OsString::from("x")));
        let chosen = Environment::chosen(ours, Some(agent));
        chosen.iter().map(|(name, _)| name.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    const OURS: [&str; 16] = [
        "PATH",
        "HOME",
        "LC_ALL",
        "XDG_CONFIG_HOME",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "TERTULIA_STORE",
        "LD_PRELOAD",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDECODE",
        "CODEX_HOME",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "GEMINI_API_KEY",
        "https_proxy",
    ];

    #[test]
    fn each_agent_sees_its_own_keys_and_no_other() {
        let common = "HOME LC_ALL PATH XDG_CONFIG_HOME https_proxy";
        assert_eq!(names(&OURS, agents::COMMAND), common);
        assert_eq!(
            names(&OURS, agents::CLAUDE),
            "ANTHROPIC_API_KEY CLAUDE_CONFIG_DIR HOME LC_ALL PATH XDG_CONFIG_HOME https_proxy"
        );
        assert_eq!(
            names(&OURS, agents::CODEX),
            "CODEX_HOME HOME LC_ALL PATH XDG_CONFIG_HOME https_proxy"
        );
        assert_eq!(
            names(&OURS, agents::GEMINI),
            "GEMINI_API_KEY HOME LC_ALL PATH XDG_CONFIG_HOME https_proxy"
        );
    }

    #[test]
    fn agents_of_many_models_see_the_keys_that_they_are_signed_in_with() {
        let ours = [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_SESSION_ID",
            "GH_HOST",
            "GH_TOKEN",
            "OPENAI_API_KEY",
            "OPENCODE_API_KEY",
            "OPENCODE_PID",
            "PI_CONFIG",
            "PI_SESSION_ID",
        ];
        let opencode = "ANTHROPIC_API_KEY OPENAI_API_KEY OPENCODE_API_KEY";
        assert_eq!(names(&ours, agents::OPENCODE), opencode);
        assert_eq!(names(&ours, agents::COPILOT), "COPILOT_GITHUB_TOKEN GH_HOST GH_TOKEN");
        assert_eq!(names(&ours, agents::PI), "ANTHROPIC_API_KEY OPENAI_API_KEY PI_CONFIG");
    }

    #[test]
    fn a_variable_that_only_looks_like_a_common_one_is_not_handed_on() {
        let ours = ["LC_SECRET", "LC_CTYPE", "XDG_TOKEN", "XDG_RUNTIME_DIR", "LANGUAGE_KEY"];
        assert_eq!(names(&ours, agents::COMMAND), "LC_CTYPE XDG_RUNTIME_DIR");
    }

    #[test]
    fn a_variable_that_cannot_be_one_is_left_out() {
        let mut environment = Environment::default();
        for (name, value) in [("", "x"), ("A=B", "x"), ("A", "x\0y"), ("B", "")] {
            environment.set(name, value);
        }
        assert_eq!(environment.iter().count(), 1);
        assert_eq!(environment.get("B"), None);
    }
}
