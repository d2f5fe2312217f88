//! The preamble of every prompt: who the agent is, who else is in the team, how to hand over and how to ask a person.
//! It depends only on the team, so it is the same for every turn and remains in prompt caches. Pure; the driver puts
//! it before the instruction of the member.

use std::borrow::Cow;
use std::fmt::Write as _;

use tertulia_context::{truncate_to_bytes, written_name, written_words};

use crate::built_in::{LIBRARIAN, SCRIBE};
use crate::team::{Responder, Team, TeamMember};

/// The text about the team in the prompt of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preamble {
    #[default]
    BuiltIn,
    Off,
    Text(String),
}

impl Team {
    /// Returns the system text of a member: the preamble, then its instruction. `None` if both are empty.
    pub fn system_text(&self, member: &TeamMember) -> Option<String> {
        let preamble = match &member.preamble {
            Preamble::BuiltIn => built_in(self, member),
            Preamble::Off => String::new(),
            Preamble::Text(text) => text.trim().to_owned(),
        };
        let instruction = member.instruction.as_deref().unwrap_or_default().trim();
        let texts: Vec<&str> =
            [&*preamble, instruction].into_iter().filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

/// Tells the agent how to distinguish text of the program from text of members.
const MARGIN: &str =
    "Only lines at the left margin come from the program; indented lines come from members.\n";

/// Maximum size of the built-in text for a team of up to four members.
const BYTES_MAX: usize = 1024;
const MEMBERS: usize = 4;
/// Number of bytes that each further member may add.
const MEMBER_BYTES: usize = 128;
/// Size limits for roles and display names, in bytes; the first one that makes the text short enough is used.
const WORDS_BYTES: [usize; 6] = [usize::MAX, 80, 56, 36, 20, 0];

/// Writes the built-in text. Shortens long roles until it fits; names are never cut.
fn built_in(team: &Team, member: &TeamMember) -> String {
    let more = team.members().len().saturating_sub(MEMBERS);
    let bytes_max = BYTES_MAX + more * MEMBER_BYTES;
    let mut text = String::new();
    for words_bytes in WORDS_BYTES {
        text = written(team, member, words_bytes);
        if text.len() <= bytes_max {
            break;
        }
    }
    text
}

fn written(team: &Team, member: &TeamMember, words_bytes: usize) -> String {
    let name = written_name(&member.member.name);
    let mut text = format!("You are {name}, a member of a team that shares one conversation.\n");
    text.push_str("Members:\n");
    for one in team.members() {
        let you = if one.member.name == member.member.name { " (you)" } else { "" };
        let shown = one.member.display_name.as_deref().filter(|shown| *shown != &*one.member.name);
        let shown = shown.map(|shown| cut(shown, words_bytes)).filter(|shown| !shown.is_empty());
        let shown = shown.map(|shown| format!(", called {}", written_name(&shown)));
        let (shown, listed) = (shown.unwrap_or_default(), written_name(&one.member.name));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {listed}{you}{shown}: {}", about(one, words_bytes));
    }
    text.push_str("Your final reply is added to the conversation, and every member can read it.\n");
    text.push_str(MARGIN);
    let others = || team.members().iter().filter(|one| one.member.name != member.member.name);
    // Gemini CLI reads `@name` in a prompt as a file, so its agents get only the marker.
    let by_marker = matches!(&member.responder, Responder::Agent(spec)
        if spec.kind.definition().takes_mentions_for_files());
    if let Some(agent) = others().find(|one| matches!(one.responder, Responder::Agent(_))) {
        let name = &agent.member.name;
        text.push_str(&match by_marker {
            false => format!(
                "To hand over, address a member in your final reply: \"@{name}, please check \
                 this.\" or, on a line of its own, [NEXT: {name}]. That member answers next.\n"
            ),
            true => format!(
                "To hand over, end your final reply with a line of its own: [NEXT: {name}]. That \
                 member answers next.\n"
            ),
        });
    }
    if let Some(person) = others().find(|one| one.is_person()) {
        let name = &person.member.name;
        text.push_str(&match by_marker {
            false => format!(
                "To ask a person, address them in your final reply: \"@{name}, which one?\"\n"
            ),
            true => {
                format!("To ask a person, write the question and then the line [NEXT: {name}].\n")
            }
        });
    }
    text.push_str(
        "Handing over is optional: if you address nobody, your reply completes the request. \
         Names in code, quotes and tool output address nobody.",
    );
    text
}

fn cut(text: &str, bytes: usize) -> Cow<'_, str> {
    match truncate_to_bytes(text, bytes).trim_end() {
        beginning if text.len() > bytes && !beginning.is_empty() => {
            Cow::Owned(format!("{beginning}…"))
        }
        beginning => Cow::Borrowed(beginning),
    }
}

fn about(member: &TeamMember, words_bytes: usize) -> String {
    let kind = match &member.responder {
        Responder::Person => "a person",
        Responder::Scribe => SCRIBE.title,
        Responder::Librarian => LIBRARIAN.title,
        Responder::Agent(spec) => spec.kind.definition().title,
    };
    let role = member.role.as_deref().map(|role| cut(role, words_bytes));
    match (role.filter(|role| !role.is_empty()), &member.responder) {
        (Some(role), Responder::Person) => format!("{} ({kind})", written_words(&role)),
        (Some(role), _) => written_words(&role).into_owned(),
        (None, _) => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tertulia_agent::{AgentKind, AgentSpec, Permissions, Timeouts};

    use super::*;
    use crate::Limits;

    fn member(name: &str, role: &str) -> TeamMember {
        let spec = AgentSpec {
            kind: AgentKind::Script(Vec::new()),
            program: None,
            args: Vec::new(),
            env: Default::default(),
            model: None,
            cwd: std::path::PathBuf::new(),
            permissions: Permissions::Read,
            timeouts: Timeouts::default(),
            limits: tertulia_dialect::stream::Limits::default(),
            resources: tertulia_agent::ResourceLimits::default(),
        };
        TeamMember { role: Some(role.into()), ..TeamMember::agent(name, spec) }
    }

    fn four() -> Team {
        let ann = TeamMember {
            role: Some("owns the product and decides".into()),
            ..TeamMember::person("ann")
        };
        let members = vec![
            ann,
            member("max", "author: designs the change and writes the code"),
            member("eva", "reviewer: looks for bugs and missing tests"),
            TeamMember::new(crate::Member::ai("scribe"), Responder::Scribe),
        ];
        Team::new(members, Limits::default(), None).unwrap()
    }

    #[test]
    fn the_preamble_names_the_member_the_team_and_how_to_hand_over() {
        let team = four();
        let text = team.system_text(team.member("max").unwrap()).unwrap();
        assert_eq!(
            text,
            "You are max, a member of a team that shares one conversation.\n\
             Members:\n\
             - ann: owns the product and decides (a person)\n\
             - max (you): author: designs the change and writes the code\n\
             - eva: reviewer: looks for bugs and missing tests\n\
             - scribe: writes a summary of this conversation\n\
             Your final reply is added to the conversation, and every member can read it.\n\
             Only lines at the left margin come from the program; indented lines come from members.\n\
             To hand over, address a member in your final reply: \"@eva, please check this.\" or, \
             on a line of its own, [NEXT: eva]. That member answers next.\n\
             To ask a person, address them in your final reply: \"@ann, which one?\"\n\
             Handing over is optional: if you address nobody, your reply completes the request. \
             Names in code, quotes and tool output address nobody."
        );
    }

    #[test]
    fn the_preamble_of_a_team_of_four_has_at_most_a_kibibyte() {
        let team = four();
        for member in team.members() {
            let bytes = team.system_text(member).unwrap().len();
            assert!(bytes <= 1024, "{}: {bytes} bytes", member.member.name);
        }
    }

    #[test]
    fn the_instruction_follows_the_preamble() {
        let team = four();
        let max = TeamMember {
            instruction: Some("Write Rust.".into()),
            ..team.member("max").unwrap().clone()
        };
        let text = team.system_text(&max).unwrap();
        assert!(text.starts_with("You are max,"), "{text}");
        assert!(text.ends_with("\n\nWrite Rust."), "{text}");
    }

    #[test]
    fn a_preamble_can_be_switched_off_or_replaced() {
        let team = four();
        let max = |preamble| TeamMember { preamble, ..team.member("max").unwrap().clone() };
        assert_eq!(team.system_text(&max(Preamble::Off)), None);
        let own = max(Preamble::Text(" You are alone.\n".into()));
        assert_eq!(team.system_text(&own).as_deref(), Some("You are alone."));
    }
}
