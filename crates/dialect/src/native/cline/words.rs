//! Extracts the user's words from a text that Cline sent. Removes the tags around them, the notices before them, and
//! the details of the environment after them.

use std::borrow::Cow;

const NOTICE: &str = "mode_notice";
/// Tags around the user's words.
const TAGS: [&str; 6] =
    ["user_input", "user_command", "task", "user_message", "feedback", "answer"];

/// Returns the user's words in a text; `None` if there are none.
pub(super) fn spoken(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let mut inner = without_notices(without_details(&text));
    for tag in TAGS {
        if let Some(found) = within(inner, tag) {
            inner = without_notices(found.trim_matches('\n'));
        }
    }
    if inner.len() == text.len() {
        return Some(text);
    }
    (!inner.trim().is_empty()).then(|| Cow::Owned(inner.to_owned()))
}

/// Returns whether Cline wrote a text itself, such as the result of a tool that was called in the text of an answer.
pub(super) fn is_automatic(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let is_result = line.starts_with('[') && line.contains("] Result:");
    is_result || line.starts_with("[ERROR]") || line.starts_with("[TASK RESUMPTION]")
}

/// Returns the folder in the details of the environment.
pub(super) fn folder(text: &str) -> Option<&str> {
    let details = text.rsplit_once("<environment_details>")?.1;
    let heading = details.lines().find_map(|line| {
        let line = line.strip_prefix("# Current Work")?;
        let is_folder = ["ing Directory (", "space Directory ("];
        is_folder.iter().find_map(|start| line.strip_prefix(start))
    })?;
    heading.strip_suffix(") Files").filter(|folder| !folder.is_empty())
}

fn without_details(text: &str) -> &str {
    let before = text.trim_end().strip_suffix("</environment_details>");
    let start = before.and_then(|before| before.rfind("<environment_details>"));
    start.and_then(|start| text.get(..start)).map_or(text, str::trim_end)
}

/// Removes the notices at the start of a text.
fn without_notices(text: &str) -> &str {
    let mut rest = text;
    while let Some(after) = after_element(rest, NOTICE) {
        rest = after.trim_start();
    }
    rest
}

/// Returns the text after the element at the start of a text.
fn after_element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let inner = text.trim_start().strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    let end = inner.find(&format!("</{name}>"))?;
    inner.get(end + name.len() + 3..)
}

/// Removes the tag around a text: `<name …>text</name>`.
fn within<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.trim().strip_prefix('<')?.strip_prefix(name)?;
    if !rest.starts_with(['>', ' ']) {
        return None;
    }
    let (_, inner) = rest.split_once('>')?;
    inner.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(spoken(Cow::Borrowed(text)).as_deref(), expected, "{text}");
    }

    #[test]
    fn what_cline_adds_is_not_said_by_the_user() {
        check("<task>\nFix it\n</task>", Some("Fix it"));
        check("<user_input mode=\"act\">go on</user_input>", Some("go on"));
        check(
            "<user_input mode=\"plan\"><mode_notice>now plan</mode_notice>\nhow?</user_input>",
            Some("how?"),
        );
        check("<environment_details>\n# Time\n</environment_details>", None);
        check("<task>a</task>\n\n<environment_details>b</environment_details>\n", Some("a"));
        check("<user_command slash=\"team\">start</user_command>", Some("start"));
    }

    #[test]
    fn tags_within_a_sentence_stay() {
        for text in ["use <task> here", "<tasks>a</tasks>", "a</environment_details>", "", "<task>"]
        {
            check(text, Some(text));
        }
    }

    #[test]
    fn the_folder_is_in_the_details() {
        let text = "x<environment_details>\n# Current Working Directory (/src/app) Files\na.rs\n";
        assert_eq!(folder(text), Some("/src/app"));
        assert_eq!(folder("# Current Working Directory (/src/app) Files"), None);
    }
}
