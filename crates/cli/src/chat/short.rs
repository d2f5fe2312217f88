//! Ids as people can read and type them: the long ones that follow from content are cut short. Commands
//! take a unique beginning of an id, so a short one can be typed back. Pure.

/// So many digits of an id are shown.
const SHOWN: usize = 8;
/// So many digits has an id that follows from content.
const WHOLE: usize = 32;

/// A sentence with its long ids cut short.
pub(crate) fn short(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("e-") {
        let (before, at) = rest.split_at(place + 2);
        shown.push_str(before);
        let digits = at.bytes().take_while(u8::is_ascii_hexdigit).count();
        let is_id = digits == WHOLE && !is_inside_a_word(before);
        shown.push_str(at.get(..if is_id { SHOWN } else { digits }).unwrap_or_default());
        rest = at.get(digits..).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
}

/// Whether a letter stands before the id's own two characters.
fn is_inside_a_word(before: &str) -> bool {
    before.chars().rev().nth(2).is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_are_cut() {
        let id = "e-f6320e2d19d89158e11d1f4b58fd28a7";
        assert_eq!(short(&format!("turn {id}: {id}")), "turn e-f6320e2d: e-f6320e2d");
        for other in ["e-mail", "e-3f", "some-f6320e2d19d89158e11d1f4b58fd28a7", "", "e-", "安e-"]
        {
            assert_eq!(short(other), other);
        }
        assert_eq!(short(&format!("{id}0")), format!("{id}0"));
    }
}
