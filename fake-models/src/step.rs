//! One step of a script: what the model does when it is asked. Also read from the command line.

use std::time::Duration;

use crate::roster::{Colleague, Sign};

/// A model's reaction to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Says this, in these pieces.
    Text(Vec<String>),
    /// Says this word by word, with a pause before each.
    Slow {
        /// The text of the answer.
        text: String,
        /// The pause.
        pause: Duration,
    },
    /// Calls the agent's shell tool with this command.
    Shell(String),
    /// Refuses with this HTTP status and the vendor's words for it.
    Status(u16),
    /// Refuses as the vendor does when a prompt is larger than the model's window.
    Overflow,
    /// Refuses as the vendor does when the plan or quota is used up.
    UsageLimit,
    /// Says this, then hangs up in the middle of the stream. Says nothing at all where it is empty.
    DropMidStream(String),
    /// Says this, then ends the stream without the events that close an answer.
    EndEarly(String),
    /// Says this, then nothing more, and keeps the connection.
    Stall(String),
    /// Says the first line of the newest user text.
    Echo,
    /// Answers with the text after the last `say:` of the newest user text: a JSON string, or else the rest
    /// of the line. Where there is none, it is an [`Echo`](Self::Echo).
    Say,
    /// Hands over to a member, by the name that the list of members in the request gives. Says so where
    /// the request has no such list or member.
    HandOver {
        /// The member.
        to: Colleague,
        /// The form of the address.
        sign: Sign,
    },
    /// Ends well without a word.
    Empty,
    /// Ends as the vendor does when the model or its guard declines.
    Refusal,
}

/// A word that is no step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError(String);

impl std::fmt::Display for StepError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` is no step; a step is one of {KINDS}", self.0)
    }
}

impl std::error::Error for StepError {}

const KINDS: &str = "text:…, slow:…, shell:…, status:<code>, overflow, drop:…, end:…, stall:…, echo, \
                     say, mention:<role>, marker:<role>, empty, refusal, usage-limit";

/// The pause of a slow step that is named on the command line.
const USUAL_PAUSE: Duration = Duration::from_millis(150);

/// Pieces are this long where nobody chose them: short enough that an answer has several.
const PIECE_CHARS: usize = 12;

impl Step {
    /// Says a text in short pieces.
    pub fn text(text: &str) -> Self {
        Self::Text(pieces_of(text))
    }

    /// Hands over to the member whose role has this word; `person` is any person.
    pub fn hand_over(role: &str, sign: Sign) -> Self {
        let to = match role {
            "person" => Colleague::Person,
            role => Colleague::Role(role.to_owned()),
        };
        Self::HandOver { to, sign }
    }

    /// Reads a step as the program takes it: `text:Hello`, `status:429`, `echo`.
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

/// Returns a text in its words, each with the space after it.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

/// Returns the answer that a user text asks for.
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

/// The first line that has something on it.
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
        assert!(message.starts_with("`statsu:429` is no step"), "{message}");
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
