//! Converts steps to messages of the user and answers of the model, for formats that keep a result with its call. An
//! answer has at most one text, followed by its calls, each with its result.

use std::borrow::Cow;

use super::WriteRequest;
use super::steps::{AssistantPiece, CallPiece, CallResult, Step, Steps, UserPiece};
use super::turns::{Turn, turns};

/// A message of the user, or an answer of the model.
#[derive(Debug)]
pub(super) struct Exchange<'s, 'a> {
    pub step: &'s Step<'a>,
    /// The number of earlier exchanges of this step.
    pub number: usize,
    pub content: Content<'s, 'a>,
}

#[derive(Debug)]
pub(super) enum Content<'s, 'a> {
    User(&'s [UserPiece<'a>]),
    Answer(Answer<'s, 'a>),
}

/// A text and the calls after it. At least one of them exists.
#[derive(Debug, Default)]
pub(super) struct Answer<'s, 'a> {
    pub text: Option<&'s str>,
    pub calls: Vec<(&'s CallPiece<'a>, Option<&'s CallResult<'a>>)>,
}

/// Returns the exchanges in order. A text after a call becomes a separate answer, because the result must follow its
/// call.
pub(super) fn exchanges<'s, 'a>(steps: &'s Steps<'a>) -> Vec<Exchange<'s, 'a>> {
    let mut all = Vec::with_capacity(steps.steps.len());
    for turn in turns(&steps.steps) {
        match turn {
            Turn::User(step, pieces) => {
                all.push(Exchange { step, number: 0, content: Content::User(pieces) });
            }
            Turn::Answer(turn) => {
                let results = turn.results.map_or(&[][..], |(_, results)| results);
                let answers = answers(&turn.pieces, results).into_iter().enumerate();
                all.extend(answers.map(|(number, answer)| Exchange {
                    step: turn.step,
                    number,
                    content: Content::Answer(answer),
                }));
            }
        }
    }
    all
}

/// Splits the pieces of a turn. The results must be in the order of their calls.
fn answers<'s, 'a>(
    pieces: &[&'s AssistantPiece<'a>],
    results: &'s [CallResult<'a>],
) -> Vec<Answer<'s, 'a>> {
    let mut results = results.iter();
    let mut answers = Vec::new();
    let mut answer = Answer::default();
    for piece in pieces {
        match piece {
            AssistantPiece::Text(text) => {
                if answer.text.is_some() || !answer.calls.is_empty() {
                    answers.push(std::mem::take(&mut answer));
                }
                answer.text = Some(text);
            }
            AssistantPiece::Call(call) => answer.calls.push((call, results.next())),
            AssistantPiece::Thinking { .. } => {}
        }
    }
    if answer.text.is_some() || !answer.calls.is_empty() {
        answers.push(answer);
    }
    answers
}

impl Exchange<'_, '_> {
    /// Returns the id for a record of this exchange. In a continued session, the ids differ from those that were
    /// written earlier.
    pub(super) fn record_id(&self, request: &WriteRequest<'_>, record: usize) -> String {
        let session: Cow<'_, str> = match &request.continues {
            Some(end) => format!("{}/{}", request.session_id, end.records).into(),
            None => request.session_id.into(),
        };
        self.step.record_id(&session, self.number * 100 + record)
    }
}
