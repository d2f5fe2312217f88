//! What a person means who types while an agent waits to be allowed something: an answer, a try at one, or
//! words for the table. Pure.

use tertulia_team::{PermissionAnswer, PermissionRequest};

use super::asking::answer;

/// What was meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    Answer(PermissionAnswer),
    /// An answer, but it is not clear which one.
    Unclear,
    /// Something else.
    Else,
}

/// What is meant by a line. The number of a choice, yes or no: a yes only where a single choice allows. A
/// name counts only for a choice that does not allow: the agent gives the names, and one that is called
/// `stop` must not be a yes.
pub(crate) fn meant(request: &PermissionRequest, typed: &str) -> Meant {
    let typed = typed.trim();
    if let Some(answer) = answer(request, typed) {
        return Meant::Answer(answer);
    }
    let is = |word: &str| typed.eq_ignore_ascii_case(word);
    let choices = || request.choices.iter().enumerate();
    // Before the names: what the agent calls its choices must not turn a no into a yes.
    if is("n") || is("no") {
        return answer(request, "0").map_or(Meant::Unclear, Meant::Answer);
    }
    let fitting: Vec<usize> = if is("y") || is("yes") || is("ok") {
        choices().filter(|(_, choice)| choice.allows).map(|(place, _)| place).collect()
    } else {
        let named = choices().filter(|(_, choice)| is(&choice.name));
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            return unknown(typed);
        }
        if named.iter().any(|(_, choice)| choice.allows) {
            return Meant::Unclear;
        }
        named.into_iter().map(|(place, _)| place).collect()
    };
    let only = match fitting.as_slice() {
        [place] => answer(request, &(place + 1).to_string()),
        _ => None,
    };
    only.map_or(Meant::Unclear, Meant::Answer)
}

/// A number is meant as an answer, whatever it is.
fn unknown(typed: &str) -> Meant {
    let is_number = !typed.is_empty() && typed.chars().all(|c| c.is_ascii_digit() || c == '-');
    if is_number { Meant::Unclear } else { Meant::Else }
}

#[cfg(test)]
mod tests {
    use tertulia_team::PermissionChoice;

    use super::*;

    fn request(choices: &[(&str, bool)]) -> PermissionRequest {
        let choice = |(name, allows): &(&str, bool)| PermissionChoice {
            id: name.to_lowercase().into(),
            name: (*name).into(),
            allows: *allows,
            is_lasting: false,
        };
        let choices = choices.iter().map(choice).collect();
        PermissionRequest { title: "rm".into(), tool: None, input: None, choices }
    }

    #[test]
    fn a_number_a_name_and_a_plain_yes_or_no_are_answers() {
        let chosen = |id: &str| Meant::Answer(PermissionAnswer::Choose(id.into()));
        let one = request(&[("Allow", true), ("Reject", false)]);
        for (typed, expected) in [
            ("1", chosen("allow")),
            (" allow ", Meant::Unclear),
            ("Reject", chosen("reject")),
            ("yes", chosen("allow")),
            ("n", Meant::Answer(PermissionAnswer::Deny)),
            ("0", Meant::Answer(PermissionAnswer::Deny)),
            ("3", Meant::Unclear),
            ("-1", Meant::Unclear),
            ("", Meant::Else),
            ("yes, but tell me why", Meant::Else),
        ] {
            assert_eq!(meant(&one, typed), expected, "{typed}");
        }
        let twisted = request(&[("No", true), ("Yes", false), ("0", true)]);
        assert_eq!(meant(&twisted, "no"), Meant::Answer(PermissionAnswer::Deny));
        assert_eq!(meant(&twisted, "0"), Meant::Answer(PermissionAnswer::Deny));
        assert_eq!(meant(&twisted, "yes"), Meant::Unclear);
        let twins = request(&[("Allow", false), ("Allow", true)]);
        assert_eq!(meant(&twins, "allow"), Meant::Unclear);
        let several = request(&[("Always", true), ("Once", true)]);
        assert_eq!(meant(&several, "yes"), Meant::Unclear, "nobody is allowed more than was meant");
        assert_eq!(meant(&request(&[]), "yes"), Meant::Unclear);
    }
}
