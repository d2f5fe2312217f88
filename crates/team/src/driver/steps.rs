//! How the pieces of a prompt are made from the log, step by step, before they become a recipe. Called when a
//! prompt is put together. Pure.

use std::ops::Range;

use tertulia_context::view::{Piece, Pieces};
use tertulia_context::{AssemblerInput, Body, Prompt, PromptPiece, indented, indents};

use super::recipe::{Recipe, Step};

/// Steps, with the bytes that each makes.
pub(super) type Steps = Vec<(Step, usize)>;

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) place: usize,
    /// The steps, without indents; `None` where they are not known.
    pub(super) steps: Option<Steps>,
}

/// The steps that make these pieces of a view.
pub(super) fn steps_of(pieces: &Pieces) -> Steps {
    let step = |piece: &Piece| match piece {
        Piece::Words(words) => Step::Words(words.clone()),
        Piece::Said { index, range } => Step::said(*index, range.clone()),
    };
    pieces.iter().map(|(piece, bytes)| (step(piece), *bytes)).collect()
}

/// How the prompt is made, and the bytes of each step. `None` where a text has no known source.
pub(super) fn recipe_of(
    prompt: &Prompt<'_>,
    input: &AssemblerInput<'_>,
    sources: &[Source],
    current: Option<&Steps>,
    task_place: Option<usize>,
) -> Option<(Recipe, Vec<usize>)> {
    let mut steps: Option<Steps> = Some(Vec::new());
    let mut fixed = String::new();
    let mut add = |source: Option<Steps>| match (&mut steps, source) {
        (Some(steps), Some(source)) => steps.extend(source),
        (steps, _) => *steps = None,
    };
    let words = |text: &str| vec![(Step::Words(text.into()), text.len())];
    prompt.for_each_piece(|piece| {
        if let PromptPiece::Fixed(text) = piece {
            fixed.push_str(text);
            return;
        }
        if !fixed.is_empty() {
            add(Some(words(&std::mem::take(&mut fixed))));
        }
        match piece {
            PromptPiece::Fixed(_) => {}
            PromptPiece::Id { index, text } => {
                let source = sources.get(index);
                add(source.map(|source| vec![(Step::Id(source.place), text.len())]));
            }
            // The two halves of a system text may be empty.
            PromptPiece::System(body) if body.is_empty() => {}
            PromptPiece::System(body) => add(Some(words(&text_of(body)))),
            PromptPiece::TeamTask(body) => {
                let start = input.team_task.as_deref().and_then(|task| task.find(body.text));
                let range = start.map(|start| start..start + body.text.len());
                let said = task_place.zip(range).map(|(place, range)| Step::said(place, range));
                add(said.map(|said| written(&[(said, body.text.len())], body)));
            }
            PromptPiece::Context { index, body } => {
                let steps = sources.get(index).and_then(|source| source.steps.as_deref());
                add(steps.map(|steps| written(steps, body)));
            }
            PromptPiece::Message(body) => {
                let start = input.current_message.find(body.text).unwrap_or_default();
                let range = start..start + body.text.len();
                add(current.map(|steps| written(&part(steps, range), body)));
            }
        }
    });
    let (steps, lengths) = steps?.into_iter().unzip();
    Some((Recipe(steps), lengths))
}

/// What a body looks like in a prompt.
fn text_of(body: Body<'_>) -> String {
    match body.indent {
        Some(start) => indented(body.text, start).into_owned(),
        None => body.text.to_owned(),
    }
}

/// The steps that make the text of a body, as they are in a prompt: with the indents that the body has there.
pub(super) fn written(steps: &[(Step, usize)], body: Body<'_>) -> Steps {
    let Some(start) = body.indent else {
        return steps.iter().map(|(step, bytes)| (step.clone().plain(), *bytes)).collect();
    };
    let mut places = indents(body.text, start).peekable();
    let mut end = 0;
    let with_indents = |(step, bytes): &(Step, usize)| {
        end += bytes;
        let mut from = end - bytes;
        let mut text = String::new();
        let mut length = *bytes;
        while let Some(at) = places.next_if(|at| *at < end) {
            text.push_str(body.text.get(from..at).unwrap_or_default());
            text.push_str(tertulia_context::INDENT);
            length += tertulia_context::INDENT.len();
            from = at;
        }
        match step {
            Step::Words(_) => {
                text.push_str(body.text.get(from..end).unwrap_or_default());
                (Step::Words(text.into()), length)
            }
            other => (other.clone(), length),
        }
    };
    steps.iter().map(with_indents).collect()
}

fn part(steps: &[(Step, usize)], range: Range<usize>) -> Steps {
    let mut recipe = Recipe::default();
    recipe.part(steps, range, &[]);
    let length = |step: &Step| match step {
        Step::Words(words) => words.len(),
        Step::Said(said) => said.range.as_ref().map_or(0, |range| range.len()),
        Step::Id(_) | Step::Apart => 0,
    };
    let lengths: Vec<usize> = recipe.0.iter().map(length).collect();
    recipe.0.into_iter().zip(lengths).collect()
}
