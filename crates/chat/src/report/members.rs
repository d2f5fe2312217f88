//! `/members`: who sits at the table, what answers for them, what they may do and where. From the team
//! file, which has the words for it.

use tertulia_team::agents::AgentDefinition;
use tertulia_team::file::{MemberFile, TeamFile, TrustReason};
use tertulia_team::{LIBRARIAN, SCRIBE, Team, TeamMember};

use super::plain;
use crate::style::Line;
use crate::terminal::excerpt;

/// How much of a command, a path or an address is shown.
const SHOWN_COLUMNS: usize = 60;

pub(crate) fn members(team: &Team, file: &TeamFile) -> Vec<Line> {
    team.members().iter().map(|one| plain(&row(one, file.member(&one.member.name)))).collect()
}

fn row(one: &TeamMember, file: Option<&MemberFile>) -> String {
    let mut row = format!("@{}", one.member.name);
    if let Some(shown) = one.member.display_name.as_deref() {
        row.push_str(&format!(" \"{shown}\""));
    }
    row.push_str("  ");
    row.push_str(&what(one, file));
    if one.member.is_default {
        row.push_str("; answers what addresses nobody");
    }
    row
}

fn what(one: &TeamMember, file: Option<&MemberFile>) -> String {
    let Some((file, agent)) = file.and_then(|file| Some((file, file.agent?))) else {
        return "a person".to_owned();
    };
    if agent == SCRIBE {
        return "summarises the conversation".to_owned();
    }
    if agent == LIBRARIAN {
        return "searches past sessions".to_owned();
    }
    let command =
        (!file.command.is_empty()).then(|| format!("`{}`", shown(&file.command.join(" "))));
    let path = file.script_file.as_deref().or(file.base_url.as_deref()).map(shown);
    let mut parts = vec![match command.or(path) {
        Some(more) => format!("{agent} {more}"),
        None => agent.to_string(),
    }];
    parts.extend(file.model.as_deref().map(|model| format!("model {}", shown(model))));
    parts.push(format!("window {}", one.window));
    parts.extend(may(file, agent));
    parts.extend(file.cwd.as_deref().map(|cwd| format!("works in {}", shown(cwd))));
    parts.join(", ")
}

/// What an agent may do, where that is held in check.
fn may(file: &MemberFile, agent: &AgentDefinition) -> Option<String> {
    let is_held = agent.takes("permissions");
    let (member, permissions) = ("it".into(), file.permissions);
    is_held.then(|| TrustReason::Permissions { member, permissions }.to_string())
}

fn shown(text: &str) -> String {
    excerpt(text, SHOWN_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_member_is_told_as_what_it_is() {
        let text = r#"
default = "max"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "claude"
model = "opus"
permissions = "edit"
cwd = "src"
[[member]]
name = "eva"
display_name = "Eva"
agent = "script"
answers = ["Yes."]
[[member]]
name = "tests"
agent = "command"
command = ["sh", "run.sh"]
window = 1
[[member]]
name = "fake"
agent = "acp"
command = ["my-agent"]
[[member]]
name = "near"
agent = "openai"
base_url = "http://127.0.0.1:8080/v1"
model = "small"
[[member]]
name = "scribe"
agent = "scribe"
"#;
        let file = TeamFile::parse(text, "tertulia.toml").unwrap();
        let team = Team::from_file(&file, std::path::Path::new(".")).unwrap();
        let rows: Vec<String> = members(&team, &file).iter().map(Line::text).collect();
        assert_eq!(
            rows,
            [
                "@ann  a person",
                "@max  claude, model opus, window 20, it may edit files, works in src; answers what \
                 addresses nobody",
                "@eva \"Eva\"  script, window 20",
                "@tests  command `sh run.sh`, window 1",
                "@fake  acp `my-agent`, window 20, it may read files",
                "@near  openai http://127.0.0.1:8080/v1, model small, window 20",
                "@scribe  summarises the conversation",
            ]
        );
    }
}
