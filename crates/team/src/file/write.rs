//! Writes a team file as TOML: fields that are as usual are left out. Called by `to_toml` and by `init`.

use std::collections::BTreeMap;
use std::fmt::Display;

use toml::Value;

use super::agent::{OUTPUTS, PERMISSIONS, SCOPES, word_of};
use super::{MemberFile, PreambleFile, ResourcesFile, TeamFile};
use crate::table::Limits;

/// The whole file.
pub(super) fn team(team: &TeamFile) -> String {
    let mut page = Page(String::new());
    page.text("task", team.task.as_deref());
    page.text("default", team.default.as_deref());
    limits(team, &mut page);
    for file in &team.members {
        if !page.0.is_empty() {
            page.0.push('\n');
        }
        page.0.push_str(&member(file));
    }
    page.0
}

fn limits(team: &TeamFile, page: &mut Page) {
    let limits = &team.limits;
    let usual = Limits::default();
    let mut own = Page(String::new());
    own.unless(limits.queue == usual.queue, "queue", limits.queue);
    own.unless(limits.branch == usual.branch, "branch", limits.branch);
    own.unless(limits.local == usual.local, "local", limits.local);
    own.unless(limits.turns == usual.turns, "turns", limits.turns);
    own.unless(limits.pair == usual.pair, "pair", limits.pair);
    own.float("budget_usd", limits.budget_usd);
    own.resources(&team.resources);
    if !own.0.is_empty() {
        let blank = if page.0.is_empty() { "" } else { "\n" };
        page.0.push_str(&format!("{blank}[limits]\n{}", own.0));
    }
}

/// One member, with its header.
pub(super) fn member(file: &MemberFile) -> String {
    let mut page = Page("[[member]]\n".to_owned());
    page.text("name", Some(&file.name));
    page.text("display_name", file.display_name.as_deref());
    page.text("role", file.role.as_deref());
    match file.agent {
        None => page.text("kind", Some(&file.kind.to_string())),
        Some(agent) => page.text("agent", Some(agent.word)),
    }
    page.text("model", file.model.as_deref());
    page.text("instruction", file.instruction.as_deref());
    page.text("instruction_file", file.instruction_file.as_deref());
    match &file.preamble {
        PreambleFile::BuiltIn => {}
        PreambleFile::Off => page.line("preamble", false),
        PreambleFile::File(path) => page.text("preamble", Some(path)),
    }
    if file.permissions != Default::default() {
        page.text("permissions", Some(word_of(PERMISSIONS, &file.permissions)));
    }
    page.number("window", file.window);
    page.number("budget_bytes", file.budget_bytes);
    page.number("budget_tokens", file.budget_tokens);
    page.float("budget_usd", file.budget_usd);
    page.number("timeout_s", file.timeout_s);
    page.number("first_byte_s", file.first_byte_s);
    page.number("silence_s", file.silence_s);
    page.resources(&file.resources);
    page.texts("command", &file.command);
    page.texts("args", &file.args);
    page.table("env", &file.env);
    page.text("cwd", file.cwd.as_deref());
    if file.output != Default::default() {
        page.text("output", Some(word_of(OUTPUTS, &file.output)));
    }
    page.text("base_url", file.base_url.as_deref());
    page.text("key_variable", file.key_variable.as_deref());
    page.texts("answers", &file.answers);
    page.text("script_file", file.script_file.as_deref());
    if file.scope != Default::default() {
        page.text("scope", Some(word_of(SCOPES, &file.scope)));
    }
    page.text("color", file.color.as_deref());
    page.0
}

struct Page(String);

impl Page {
    fn line(&mut self, name: &str, value: impl Display) {
        self.0.push_str(&format!("{name} = {value}\n"));
    }

    fn unless(&mut self, is_usual: bool, name: &str, value: impl Display) {
        if !is_usual {
            self.line(name, value);
        }
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.line(name, Value::from(text));
        }
    }

    fn number(&mut self, name: &str, number: Option<impl Display>) {
        if let Some(number) = number {
            self.line(name, number);
        }
    }

    fn resources(&mut self, resources: &ResourcesFile) {
        self.number("max_processes", resources.max_processes);
        self.number("max_memory_mb", resources.max_memory_mb);
    }

    fn float(&mut self, name: &str, number: Option<f64>) {
        if let Some(number) = number {
            self.line(name, Value::from(number));
        }
    }

    fn texts(&mut self, name: &str, texts: &[Box<str>]) {
        if !texts.is_empty() {
            let texts: Vec<Value> = texts.iter().map(|text| Value::from(&**text)).collect();
            self.line(name, Value::Array(texts));
        }
    }

    fn table(&mut self, name: &str, table: &BTreeMap<Box<str>, Box<str>>) {
        if !table.is_empty() {
            let fields = table.iter().map(|(key, text)| (key.to_string(), Value::from(&**text)));
            self.line(name, Value::Table(fields.collect()));
        }
    }
}
