//! Groups steps for agents that need the results of calls directly after one answer. Merges the answers from the
//! first call up to its results.

use super::steps::{AssistantPiece, CallResult, Step, StepContent, UserPiece};

/// A turn of the user or the model.
#[derive(Debug)]
pub(super) enum Turn<'s, 'a> {
    User(&'s Step<'a>, &'s [UserPiece<'a>]),
    Answer(Answer<'s, 'a>),
}

/// An answer, with the results of its calls.
#[derive(Debug)]
pub(super) struct Answer<'s, 'a> {
    /// The first step of the answer.
    pub step: &'s Step<'a>,
    pub pieces: Vec<&'s AssistantPiece<'a>>,
    /// The step of the results, if there are calls.
    pub results: Option<(&'s Step<'a>, &'s [CallResult<'a>])>,
}

/// Returns the turns of these steps, in order.
pub(super) fn turns<'s, 'a>(steps: &'s [Step<'a>]) -> Vec<Turn<'s, 'a>> {
    let mut turns: Vec<Turn<'s, 'a>> = Vec::with_capacity(steps.len());
    for step in steps {
        let open = match turns.last_mut() {
            Some(Turn::Answer(answer)) if answer.is_open() => Some(answer),
            _ => None,
        };
        match (&step.content, open) {
            (StepContent::User(pieces), _) => turns.push(Turn::User(step, pieces)),
            (StepContent::Assistant(pieces), Some(answer)) => answer.pieces.extend(pieces),
            (StepContent::Assistant(pieces), None) => {
                let pieces = pieces.iter().collect();
                turns.push(Turn::Answer(Answer { step, pieces, results: None }));
            }
            (StepContent::Results(results), Some(answer)) => {
                answer.results = Some((step, results));
            }
            // A call precedes every result, so this does not happen.
            (StepContent::Results(_), None) => {}
        }
    }
    turns
}

impl Answer<'_, '_> {
    /// Returns whether it has calls.
    pub(super) fn calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, AssistantPiece::Call(_)))
    }

    /// Returns whether its calls wait for their results.
    fn is_open(&self) -> bool {
        self.results.is_none() && self.calls()
    }
}
