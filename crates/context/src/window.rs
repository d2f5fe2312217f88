//! Which messages a member sees, and how an addressee list reads. Cost follows the window, not the
//! conversation.

use std::borrow::Cow;
use std::ops::Range;

use tertulia_session::Addressee;

/// The word for an addressee list that names nobody.
pub const EVERYBODY: &str = "all";

/// The places of the context in a conversation of this length: the last `size` messages before the
/// newest one, which is the current message.
pub(crate) fn select(messages: usize, size: usize) -> Range<usize> {
    let end = messages.saturating_sub(1);
    first_of_window(messages, size, messages.checked_sub(1)).min(end)..end
}

/// The number of the first message that goes in word for word: the newest ones, as many as the window
/// has, besides the one that is answered.
pub(crate) fn first_of_window(count: usize, window: usize, answered: Option<usize>) -> usize {
    let first = count.saturating_sub(window);
    match answered {
        Some(answered) if answered >= first => first.saturating_sub(1),
        _ => first,
    }
}

/// Returns the number of newest messages that a prompt with this window has word for word once a summary covers the
/// others: those of the window, and the one that is answered.
pub fn messages_of_window(window: usize) -> usize {
    window.saturating_add(1)
}

/// How a list of addressees reads in a prompt: names joined with `, `, or `all`.
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
    fn the_newest_message_is_never_part_of_its_own_context() {
        assert_eq!(select(0, 5), 0..0);
        assert_eq!(select(1, 5), 0..0);
        assert_eq!(select(7, 5), 1..6);
        assert_eq!(select(3, 5), 0..2);
    }

    #[test]
    fn a_window_of_nothing_is_empty_and_one_of_everything_is_whole() {
        assert_eq!(select(4, 0), 3..3);
        assert_eq!(select(4, usize::MAX), 0..3);
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
