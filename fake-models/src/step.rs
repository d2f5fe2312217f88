//! One step of a script: the reaction of the model to a request. Also parsed from the command line.

use std::time::Duration;

use crate::roster::{Colleague, Sign};

/// A model's reaction to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Answers with these pieces of text.
    Text(Vec<String>),
    /// Answers word by word, with a pause before each word.
    Slow {
        /// The text of the answer.
        text: String,
        /// The pause.
        pause: Duration,
    },
    /// Calls the agent's shell tool with this command.
    Shell(String),
    /// Answers with this HTTP status and the vendor's error text.
    Status(u16),
    /// Answers with the vendor's error for a prompt that is larger than the model's window.
    Overflow,
    /// Answers with the vendor's error for a plan or quota that is used up.
    UsageLimit,
    /// Sends this text, then closes the connection in the middle of the stream. Sends nothing if it is empty.
    DropMidStream(String),
    /// Sends this text, then ends the stream without the final events of an answer.
    EndEarly(String),
    /// Sends this text, then nothing more, and keeps the connection open.
    Stall(String),
    /// Answers with the first line of the newest user text.
    Echo,
    /// Answers with the text after the last `say:` of the newest user text: a JSON string, or the rest of the line.
    /// Without `say:`, does the same as [`Echo`](Self::Echo).
    Say,
    /// Hands over to a member, with the name from the list of members in the request. If the request has no such
    /// list or member, the answer says so.
    HandOver {
        /// The member.
        to: Colleague,
        /// The form of the address.
        sign: Sign,
    },
    /// Succeeds with an empty answer.
    Empty,
    /// Ends like the vendor when the model or its filter refuses.
    Refusal,
}

/// A word that is not a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError(String);

impl std::fmt::Display for StepError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` is not a step; use one of {KINDS}", self.0)
    }
}

impl std::error::Error for StepError {}

const KINDS: &str = "text:…, slow:…, shell:…, status:<code>, overflow, drop:…, end:…, stall:…, echo, \
                     say, mention:<role>, marker:<role>, empty, refusal, usage-limit";

/// The pause of a slow step from the command line.
const USUAL_PAUSE: Duration = Duration::from_millis(150);

/// The default length of a piece: short enough that an answer has several.
const PIECE_CHARS: usize = 12;

impl Step {
    /// Returns a step that answers with a text in short pieces.
    pub fn text(text: &str) -> Self {
        Self::Text(pieces_of(text))
    }

    /// Returns a step that hands over to the member whose role contains this word; `person` is any person.
    pub fn hand_over(role: &str, sign: Sign) -> Self {
        let to = match role {
            "person" => Colleague::Person,
            role => Colleague::Role(role.to_owned()),
        };
        Self::HandOver { to, sign }
    }

    /// Parses a step of the command line: `text:Hello`, `status:429`, `echo`.
    pub fn parse(word: &str) -> Result<Self, StepError> {
        let (kind, rest) = word.split_once(':').unwrap_or((word, ""));
        let step = match kind {
            "text" => Self::text(rest),
            "slow" => Self::Slow { text: rest.to_owned(), pause: USUAL_PAUSE },
            "shell" => Self::Shell(rest.to_owned()),
            "status" => Self::Status(rest.parse().map_err(|_| StepError(word.to_owned()))?),
            "overflow" => Self::Overflow,
            "drop" => Self::DropMidStream(rest.to_owned()),
            "end" => Self::EndEarly(rest.to_owned()),
            "stall" => Self::Stall(rest.to_owned()),
            "echo" => Self::Echo,
            "say" => Self::Say,
            "mention" => Self::hand_over(rest, Sign::Mention),
            "marker" => Self::hand_over(rest, Sign::Marker),
            "empty" => Self::Empty,
            "refusal" => Self::Refusal,
            "usage-limit" => Self::UsageLimit,
            _ => return Err(StepError(word.to_owned())),
        };
        Ok(step)
    }
}

/// Returns a text in pieces of a few characters each.
pub(crate) fn pieces_of(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut characters = text.chars().peekable();
    while characters.peek().is_some() {
        pieces.push(characters.by_ref().take(PIECE_CHARS).collect());
    }
    pieces
}

/// Splits a text into words, each with the space after it.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

/// Returns the answer that a user text requests.
pub(crate) fn said_in(user: &str) -> String {
    let Some((_, order)) = user.rsplit_once("say:") else {
        return first_line(user);
    };
    let mut values = serde_json::Deserializer::from_str(order).into_iter::<String>();
    match values.next() {
        Some(Ok(text)) => text,
        _ => first_line(order),
    }
}

/// Returns the first line that is not blank.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_from_its_word() {
        assert_eq!(Step::parse("status:429"), Ok(Step::Status(429)));
        assert_eq!(Step::parse("drop:half a"), Ok(Step::DropMidStream("half a".into())));
        assert_eq!(Step::parse("shell:echo a:b"), Ok(Step::Shell("echo a:b".into())));
        assert_eq!(Step::parse("echo"), Ok(Step::Echo));
        let to = Colleague::Role("reviewer".into());
        let step = Step::HandOver { to, sign: Sign::Mention };
        assert_eq!(Step::parse("mention:reviewer"), Ok(step));
        let step = Step::HandOver { to: Colleague::Person, sign: Sign::Marker };
        assert_eq!(Step::parse("marker:person"), Ok(step));
    }

    #[test]
    fn a_word_that_is_no_step_is_named_with_those_that_are() {
        let message = Step::parse("statsu:429").unwrap_err().to_string();
        assert!(message.starts_with("`statsu:429` is not a step"), "{message}");
        assert!(message.contains("status:<code>"), "{message}");
        assert!(Step::parse("status:many").is_err());
    }

    #[test]
    fn pieces_and_words_make_the_text_again() {
        let text = "fn main() {\n    println!(\"漢字 🙂\");\n}\n";
        assert_eq!(pieces_of(text).concat(), text);
        assert_eq!(words_of(text).concat(), text);
        assert!(pieces_of(text).len() > 2);
        assert!(pieces_of("").is_empty());
    }

    #[test]
    fn the_last_order_to_say_something_counts() {
        assert_eq!(said_in("say: one\nand then say: two \nnot this"), "two");
    }

    #[test]
    fn what_is_to_be_said_may_be_a_json_string() {
        assert_eq!(said_in("say:\"a\\n[NEXT: bob]\" and more"), "a\n[NEXT: bob]");
    }

    #[test]
    fn without_an_order_the_first_line_comes_back() {
        assert_eq!(said_in("\n  hello \nworld"), "hello");
        assert_eq!(said_in(""), "");
    }
}
