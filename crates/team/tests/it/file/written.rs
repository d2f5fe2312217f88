//! Writes a team as TOML without fields that have their default value, so that tests can check that every field is
//! read.

use std::fmt::Display;

use toml::Value;

use tertulia_agent::{CommandOutput, Permissions};
use tertulia_session::MemoryMode;
use tertulia_team::Limits;
use tertulia_team::file::{LibrarianScope, MemberFile, PreambleFile, ResourcesFile, TeamFile};

/// Returns the TOML text of a team.
pub(super) fn to_toml(team: &TeamFile) -> String {
    let mut page = Page(String::new());
    page.text("task", team.task.as_deref());
    page.text("default", team.default.as_deref());
    let limits = limits(team);
    for part in limits.into_iter().chain(team.members.iter().map(member)) {
        if !page.0.is_empty() {
            page.0.push('\n');
        }
        page.0.push_str(&part);
    }
    page.0
}

fn limits(team: &TeamFile) -> Option<String> {
    let (limits, usual) = (&team.limits, Limits::default());
    let mut page = Page(String::new());
    page.unless(limits.queue == usual.queue, "queue", limits.queue);
    page.unless(limits.branch == usual.branch, "branch", limits.branch);
    page.unless(limits.local == usual.local, "local", limits.local);
    page.unless(limits.turns == usual.turns, "turns", limits.turns);
    page.unless(limits.pair == usual.pair, "pair", limits.pair);
    page.field("budget_usd", limits.budget_usd.map(Value::from));
    page.resources(&team.resources);
    page.field("idle_agents", team.idle.agents);
    page.field("idle_minutes", team.idle.minutes);
    (!page.0.is_empty()).then(|| format!("[limits]\n{}", page.0))
}

fn member(file: &MemberFile) -> String {
    let mut page = Page("[[member]]\n".to_owned());
    page.text("name", Some(&file.name));
    page.text("display_name", file.display_name.as_deref());
    page.text("role", file.role.as_deref());
    match file.agent {
        None => page.text("kind", Some("human")),
        Some(agent) => page.text("agent", Some(agent.word)),
    }
    page.text("model", file.model.as_deref());
    page.text("instruction", file.instruction.as_deref());
    page.text("instruction_file", file.instruction_file.as_deref());
    match &file.preamble {
        PreambleFile::BuiltIn => {}
        PreambleFile::Off => page.field("preamble", Some(false)),
        PreambleFile::File(path) => page.text("preamble", Some(path)),
    }
    page.text(
        "permissions",
        match file.permissions {
            Permissions::Read => None,
            Permissions::Edit => Some("edit"),
            Permissions::Full => Some("full"),
        },
    );
    page.field("window", file.window);
    page.field("budget_bytes", file.budget_bytes);
    page.field("budget_tokens", file.budget_tokens);
    page.field("budget_usd", file.budget_usd.map(Value::from));
    page.texts("fallback", &file.fallback);
    page.field("timeout_s", file.timeout_s);
    page.field("first_byte_s", file.first_byte_s);
    page.field("silence_s", file.silence_s);
    page.resources(&file.resources);
    page.texts("command", &file.command);
    page.texts("args", &file.args);
    let variables = file.env.iter().map(|(name, text)| (name.to_string(), Value::from(&**text)));
    page.unless(file.env.is_empty(), "env", Value::Table(variables.collect()));
    page.text("cwd", file.cwd.as_deref());
    page.text("output", (file.output == CommandOutput::Jsonl).then_some("jsonl"));
    page.text("base_url", file.base_url.as_deref());
    page.text("key_variable", file.key_variable.as_deref());
    page.texts("answers", &file.answers);
    page.text("script_file", file.script_file.as_deref());
    page.text("scope", (file.scope == LibrarianScope::All).then_some("all"));
    page.text("memory", file.memory.map(MemoryMode::as_str));
    page.text("color", file.color.as_deref());
    page.0
}

struct Page(String);

impl Page {
    fn field(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.0.push_str(&format!("{name} = {value}\n"));
        }
    }

    fn unless(&mut self, is_usual: bool, name: &str, value: impl Display) {
        self.field(name, (!is_usual).then_some(value));
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        self.field(name, text.map(Value::from));
    }

    fn texts(&mut self, name: &str, texts: &[Box<str>]) {
        let list = texts.iter().map(|text| &**text).collect::<Vec<_>>();
        self.unless(texts.is_empty(), name, Value::from(list));
    }

    fn resources(&mut self, resources: &ResourcesFile) {
        self.field("max_processes", resources.max_processes);
        self.field("max_memory_mb", resources.max_memory_mb);
    }
}
