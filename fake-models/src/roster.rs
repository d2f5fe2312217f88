//! Reads the team from a request: the list of members in the preamble of a prompt. A model that hands over gets the
//! names only from here. Used by [`crate::Step::HandOver`]; must not contain the names of any team.

/// The way in which a model addresses the next member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `@name` in a sentence.
    Mention,
    /// `[NEXT: name]` on a line of its own.
    Marker,
}

/// The member to whom a model hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Colleague {
    /// The other member whose role has this word.
    Role(String),
    /// A person.
    Person,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member<'a> {
    name: &'a str,
    is_you: bool,
    role: &'a str,
}

/// The line above the list.
const HEAD: &str = "Members:\n";
/// The text after the name of the member that gets the prompt.
const YOU: &str = " (you)";
/// The end of a person's line.
const PERSON: &str = "a person";

/// Returns the answer of the model: a sentence that hands over to the member, with the name from the request.
pub(crate) fn hand_over(request: &str, to: &Colleague, sign: Sign) -> String {
    let members = members(request);
    if members.is_empty() {
        return "The request names no members.".to_owned();
    }
    let is_meant = |member: &&Member<'_>| match to {
        Colleague::Role(word) => member.role.contains(word.as_str()),
        Colleague::Person => member.role.trim_end_matches(')').ends_with(PERSON),
    };
    let Some(member) = members.iter().filter(|member| !member.is_you).find(is_meant) else {
        return format!("The request names no such member: {to:?}.");
    };
    let me = members.iter().find(|member| member.is_you).map_or("nobody", |member| member.name);
    match sign {
        Sign::Mention => format!("{me} is done. @{}, what do you think?", member.name),
        Sign::Marker => format!("{me} is done.\n\n[NEXT: {}]", member.name),
    }
}

/// Returns the members of the last list in a request.
fn members(request: &str) -> Vec<Member<'_>> {
    let Some((_, list)) = request.rsplit_once(HEAD) else { return Vec::new() };
    // In some prompts the list is indented.
    let lines = list.lines().map_while(|line| line.trim_start().strip_prefix("- "));
    lines.filter_map(member).collect()
}

fn member(line: &str) -> Option<Member<'_>> {
    let (name, role) = line.split_once(": ")?;
    let name = name.split_once(", called ").map_or(name, |(name, _)| name);
    let is_you = name.ends_with(YOU);
    Some(Member { name: name.strip_suffix(YOU).unwrap_or(name), is_you, role })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = "You are max.\nMembers:\n- ann, called Dr. Ann: owns it (a person)\n\
        - max (you): author: writes it\n- eva: reviewer: reads it\nMore.\n- leo: no member";

    fn role(word: &str) -> Colleague {
        Colleague::Role(word.to_owned())
    }

    #[test]
    fn a_name_comes_from_the_list_of_the_request() {
        assert_eq!(
            hand_over(REQUEST, &role("reviewer"), Sign::Mention),
            "max is done. @eva, what do you think?"
        );
        assert_eq!(
            hand_over(REQUEST, &Colleague::Person, Sign::Marker),
            "max is done.\n\n[NEXT: ann]"
        );
    }

    #[test]
    fn an_indented_list_is_read_too() {
        let request = REQUEST.replace('\n', "\n  ");
        assert_eq!(
            hand_over(&request, &role("reviewer"), Sign::Mention),
            "max is done. @eva, what do you think?"
        );
    }

    #[test]
    fn a_colleague_who_is_not_in_the_list_is_not_named() {
        for (request, to) in
            [(REQUEST, role("author")), (REQUEST, role("no member")), ("Hi", role("a"))]
        {
            let said = hand_over(request, &to, Sign::Mention);
            assert!(said.starts_with("The request names no"), "{said}");
        }
    }
}
