//! The messages that a member sees, and the format of a list of addressees. The cost depends on the window, not on the
//! conversation.

use std::borrow::Cow;

use tertulia_session::Addressee;

/// The word for a list of addressees that is empty.
pub const EVERYBODY: &str = "all";

/// Returns the number of the first message that is included word for word. The window has as many messages as it may
/// have, besides the answered one.
pub(crate) fn first_of_window(count: usize, window: usize, answered: Option<usize>) -> usize {
    let first = count.saturating_sub(window);
    match answered {
        Some(answered) if answered >= first => first.saturating_sub(1),
        _ => first,
    }
}

/// Returns how many of the newest messages a prompt contains word for word if a summary covers the others: the
/// window and the answered message.
pub fn messages_of_window(window: usize) -> usize {
    window.saturating_add(1)
}

/// Returns the text for a list of addressees in a prompt: names joined with `, `, or `all`.
pub fn format_addressees(addressees: Option<&[Addressee]>) -> Cow<'_, str> {
    match addressees {
        None | Some([]) => Cow::Borrowed(EVERYBODY),
        Some([one]) => Cow::Borrowed(&one.identifier),
        Some(several) => {
            let names: Vec<&str> = several.iter().map(|one| &*one.identifier).collect();
            Cow::Owned(names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answered_message_is_not_counted_in_its_window() {
        let newest = |count: usize, window| first_of_window(count, window, count.checked_sub(1));
        assert_eq!([newest(0, 5), newest(1, 5), newest(3, 5), newest(7, 5)], [0, 0, 0, 1]);
        assert_eq!([newest(4, 0), newest(4, usize::MAX)], [4, 0]);
        assert_eq!([first_of_window(7, 5, Some(0)), first_of_window(7, 5, None)], [2, 2]);
    }

    #[test]
    fn addressees_read_as_a_list_or_as_all() {
        let named = |names: &[&str]| -> Vec<Addressee> {
            names.iter().map(|name| Addressee::named(*name)).collect()
        };
        assert_eq!(format_addressees(None), "all");
        assert_eq!(format_addressees(Some(&[])), "all");
        assert_eq!(format_addressees(Some(&named(&["max"]))), "max");
        assert_eq!(format_addressees(Some(&named(&["max", "sarah"]))), "max, sarah");
        assert_eq!(format_addressees(Some(&named(&["a", "", "b"]))), "a, , b");
    }
}
