//! Reads the content of files from tool results.

use super::changes::NUMBER_MAX;

/// Returns whether the result shows that a failed call may have made its change.
pub(super) fn states_interruption(result: &str) -> bool {
    let start: String = result.chars().take(300).collect::<String>().to_lowercase();
    ["interrupt", "abort", "cancel", "timed out", "timeout"].iter().any(|word| start.contains(word))
}

/// Returns whether a result that is not marked as an error states that nothing was done.
pub(super) fn states_error(result: &str) -> bool {
    let start = result.trim_start();
    [
        "<tool_use_error>",
        "Error",
        "error:",
        "Failed",
        "Could not",
        "File does not exist",
        "String to replace",
        "No match",
        "Invalid",
        "Cannot",
        "Unable",
        "Permission",
        "The user",
        "Tool execution",
        "[Request interrupted",
        "apply_patch verification failed",
        "No changes",
    ]
    .iter()
    .any(|words| start.starts_with(words))
}

/// Returns the lines that a read shows and the number of the first one. Returns `None` if it is not certain that the
/// result shows lines.
pub(super) fn shown_lines(result: &str, first: Option<usize>) -> Option<(usize, Vec<&str>)> {
    let is_numbered = result.split('\n').next().and_then(numbered).is_some();
    if is_numbered || result.starts_with("<file>") {
        return numbered_lines(result);
    }
    let (first, text) = match part_of(result) {
        Some(part) => part,
        None => (first?, output(result)?),
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    // Notes of the tool are at the end, in brackets.
    let text = match text.rsplit_once("\n\n") {
        Some((text, note)) if note.starts_with(['[', '(', '<']) => text,
        _ => text,
    };
    let starts = ["<", "{\"output\":", "cat: ", "sed: ", "[Line "];
    if text.is_empty() || starts.iter().any(|start| text.starts_with(start)) || is_counted(text) {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').take_while(|line| !is_cut(line)).collect();
    (!lines.is_empty() && (1..=NUMBER_MAX).contains(&first)).then_some((first, lines))
}

/// Returns the first line number and the content if a tool states which part of the file it shows:
/// `Status: Showing lines 11-20 of 30 total lines.`
fn part_of(result: &str) -> Option<(usize, &str)> {
    let (head, text) = match result.starts_with("IMPORTANT: The file content has been truncated") {
        true => result.split_once("--- FILE CONTENT (truncated) ---\n")?,
        false if result.starts_with("Showing lines ") => result.split_once("\n\n---\n\n")?,
        false => return None,
    };
    let (_, numbers) = head.split_once("Showing lines ")?;
    Some((numbers.split('-').next()?.parse().ok()?, text))
}

/// Returns the output of a command without the tool's own remarks.
fn output(result: &str) -> Option<&str> {
    let starts = ["Exit code:", "Chunk ID:", "Wall time:", "Process exited", "IMPORTANT: The file"];
    let text = match starts.iter().any(|start| result.starts_with(start)) {
        true => result.split_once("\nOutput:\n")?.1,
        false => result,
    };
    match text.starts_with("Total output lines:") {
        true => text.split_once("\n\n").map(|(_, text)| text),
        false => Some(text),
    }
}

/// Returns whether this line marks an omission.
fn is_cut(line: &str) -> bool {
    let has_mark = line.contains('…') || line.trim_start().starts_with(['[', '(', '<', '.', '-']);
    has_mark && ["truncated", "omitted"].iter().any(|word| line.contains(word))
}

/// Returns whether the lines have numbers in an unknown format.
fn is_counted(text: &str) -> bool {
    let number = |line: &str| -> Option<usize> {
        let line = line.trim_start();
        let line = line.strip_prefix('L').unwrap_or(line);
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = line.split_at_checked(digits)?;
        let is_apart = rest.trim_start_matches(' ').starts_with([':', '|', '\t', '→', '│']);
        number.parse().ok().filter(|_| is_apart)
    };
    let mut lines = text.split('\n');
    match (lines.next().and_then(number), lines.next()) {
        (Some(first), Some(next)) => number(next) == first.checked_add(1),
        (first, _) => first.is_some(),
    }
}

/// Returns numbered lines without their numbers, as far as the numbers are consecutive.
pub(super) fn numbered_lines(result: &str) -> Option<(usize, Vec<&str>)> {
    let mut lines = result.split('\n').map(numbered).skip_while(Option::is_none).take(1_000_000);
    let (first, text) = lines.next()??;
    let mut texts = vec![text];
    for (number, text) in lines.map_while(|line| line) {
        if number != first + texts.len() {
            break;
        }
        texts.push(text);
    }
    Some((first, texts))
}

/// Parses a line with a number: `   12→text`, `00012| text` or, as `cat -n` writes it, with a tab after the number.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let bare = line.trim_start_matches(' ');
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = bare.split_at_checked(digits)?;
    let is_column = line.len() - rest.len() == 6;
    let tabbed = || rest.strip_prefix('\t').filter(|_| is_column);
    let text = rest.strip_prefix('→').or_else(|| rest.strip_prefix("| ")).or_else(tabbed)?;
    Some((number.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))?, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_end_where_the_numbers_end() {
        let some = Some((9, vec!["a", "", " b"]));
        for result in [
            "     9→a\n    10→\n    11→ b\n\n<system-reminder>x</system-reminder>",
            "     9\ta\n    10\t\n    11\t b\n",
            "<file>\n00009| a\n00010| \n00011|  b\n\n(End of file)\n</file>",
        ] {
            assert_eq!(shown_lines(result, Some(1)), some, "{result}");
        }
    }

    #[test]
    fn bare_lines_end_before_notes_and_before_what_was_left_out() {
        let some = Some((3, vec!["a", "b"]));
        for result in [
            "a\nb\n",
            "a\nb\n\n[5 more lines in file. Use offset=5 to continue.]",
            "a\nb\nc…12 tokens truncated…d\ne",
            "Exit code: 0\nWall time: 0.1 seconds\nOutput:\na\nb\n",
        ] {
            assert_eq!(shown_lines(result, Some(3)), some, "{result}");
        }
    }

    #[test]
    fn a_result_that_tells_its_part_is_believed() {
        let result = "IMPORTANT: The file content has been truncated.\nStatus: Showing lines 3-4 of 9 total lines.\n\n--- FILE CONTENT (truncated) ---\na\nb";
        assert_eq!(shown_lines(result, None), Some((3, vec!["a", "b"])));
        assert_eq!(shown_lines("a\nb", None), None);
    }

    #[test]
    fn what_may_be_no_line_of_a_file_is_not_one() {
        for result in
            ["", "<error>", "cat: a: No such file", "L1: a\nL2: b", "1: a\n2: b", "1\ta\n2\tb"]
        {
            assert_eq!(shown_lines(result, Some(1)), None, "{result}");
        }
    }

    #[test]
    fn huge_numbers_are_no_lines() {
        for number in ["18446744073709551615", "99999999999999999999999", "0"] {
            assert_eq!(numbered_lines(&format!("{number}→a")), None);
        }
        assert_eq!(shown_lines("a", Some(usize::MAX)), None);
    }

    #[test]
    fn errors_are_told() {
        assert!(states_error("<tool_use_error>x") && states_error(" Error: x"));
        assert!(!states_error("The file has been updated."));
        assert!(states_interruption("Tool execution aborted"));
    }
}
