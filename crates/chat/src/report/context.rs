//! `/context`: what a member would get now, by sizes, as `tertulia context --member` shows it. People get
//! no prompt.

use tertulia_operations::names::own_newest_message;
use tertulia_session::EntryId;
use tertulia_team::{Answers, Driver, TeamMember, TurnPrompt};

use super::plain;
use crate::refusal::Refusal;
use crate::style::{Line, Look};
use crate::terminal::{counted, grouped};

/// What a member would get now; without a name, the one that answers what addresses nobody.
pub(crate) fn context(driver: &mut Driver, given: &str) -> Vec<Line> {
    let member = match meant(driver, given) {
        Ok(member) => member,
        Err(why) => return Line::all_of(&why.to_string(), Look::Alarm),
    };
    let name = member.member.name.clone();
    if member.is_person() {
        return vec![plain(&format!("{name} is a person and gets no prompt"))];
    }
    let (window, budget, house) = (member.window, member.budget_bytes, of_house(member));
    let own = own_newest_message(driver.entries(), &name).map(|entry| entry.id.clone());
    let Some(prompt) = driver.prompt_for(&name) else {
        return vec![plain("nothing was said yet")];
    };
    let mut lines: Vec<Line> = house.iter().map(|text| plain(text)).collect();
    lines.extend(context_lines(&name, window, budget, own.as_ref(), &prompt));
    lines
}

fn meant<'d>(driver: &'d Driver, given: &str) -> Result<&'d TeamMember, Refusal> {
    let team = driver.team();
    if !given.is_empty() {
        return Ok(team.named(given)?);
    }
    let members = team.members();
    let default = members.iter().find(|one| one.member.is_default);
    let found = default.or_else(|| members.iter().find(|one| !one.is_person()));
    found.ok_or(Refusal::OnlyPeople)
}

fn context_lines(
    name: &str,
    window: usize,
    budget: u64,
    own: Option<&EntryId>,
    prompt: &TurnPrompt,
) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(own) = own {
        lines.push(plain(&format!(
            "the latest message ({own}) is {name}'s own; if asked to continue,"
        )));
    }
    let system = prompt.system.as_deref().map_or(0, str::len) as u64;
    let bytes = prompt.text.len() as u64;
    lines.push(plain(&format!(
        "{name} would get {} of {} bytes ({})",
        grouped(bytes + system),
        grouped(budget),
        prompt.status.as_str(),
    )));
    if system > 0 {
        lines.push(plain(&format!("  system text  {}", counted(system, "byte", "bytes"))));
    }
    lines.push(plain(&format!("  prompt       {}", counted(bytes, "byte", "bytes"))));
    lines
        .push(plain(&format!("  word for word  {}", word_for_word(window, own.is_some(), prompt))));
    lines.push(match prompt.covered as u64 {
        0 => plain("  summary      none"),
        covered => {
            let messages = counted(covered, "earlier message", "earlier messages");
            plain(&format!("  summary      of {messages}"))
        }
    });
    let recalled: Vec<&str> = prompt.recalled.iter().map(EntryId::as_str).collect();
    lines.push(match recalled.as_slice() {
        [] => plain("  recalled     nothing"),
        ids => plain(&format!("  recalled     from {}", ids.join(", "))),
    });
    lines
}

fn word_for_word(window: usize, is_own: bool, prompt: &TurnPrompt) -> String {
    let newest = if is_own { "its own newest message" } else { "the message to answer" };
    let before = match prompt.kept {
        0 => "nothing before it".to_owned(),
        kept => format!("{kept} before it"),
    };
    let dropped = match prompt.dropped {
        0 => String::new(),
        dropped => format!("; {dropped} did not fit"),
    };
    format!("{newest} and {before}, of a window of {window}{dropped}")
}

/// What a house member answers from; `None` for everybody else.
pub fn of_house(member: &TeamMember) -> Option<String> {
    let name = &member.member.name;
    let does = match &member.answers {
        Answers::Scribe => "reads the whole log",
        Answers::Librarian => "searches past sessions",
        Answers::Person | Answers::Agent(_) => return None,
    };
    Some(format!("{name} is built in and {does}; showing what a regular agent would receive"))
}
