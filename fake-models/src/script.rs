//! Chooses the step that answers a request: by a word in the newest user text, otherwise in order. Called by the
//! server, once for every main request.

use crate::step::Step;

/// Lists of steps, and the current position in each. The last step of a list is repeated.
#[derive(Clone, Debug)]
pub struct Script {
    in_order: List,
    by_word: Vec<(String, List)>,
}

#[derive(Clone, Debug)]
struct List {
    steps: Vec<Step>,
    next: usize,
}

impl Script {
    /// Creates a script with these steps, one for every main request. Without steps, the model follows the user's
    /// text ([`Step::Say`]).
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { in_order: List::new(steps), by_word: Vec::new() }
    }

    /// Adds steps that answer if the newest user text has this word. Of several words, the one that
    /// is last in the text counts: earlier ones may be history.
    #[must_use]
    pub fn when(mut self, word: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        self.by_word.push((word.to_owned(), List::new(steps)));
        self
    }

    /// Takes the step for a request with this newest user text.
    pub(crate) fn take(&mut self, user: &str) -> Step {
        let found = self.by_word.iter_mut().filter_map(|(word, list)| {
            let place = user.rfind(word.as_str())?;
            Some((place, list))
        });
        let chosen = found.max_by_key(|(place, _)| *place).map(|(_, list)| list);
        chosen.unwrap_or(&mut self.in_order).take()
    }
}

impl List {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), next: 0 }
    }

    fn take(&mut self) -> Step {
        let step = self.steps.get(self.next).or(self.steps.last());
        let step = step.cloned().unwrap_or(Step::Say);
        self.next = self.next.saturating_add(1);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_in_order_and_the_last_one_stays() {
        let mut script = Script::new([Step::Echo, Step::Empty]);
        let taken = [script.take(""), script.take(""), script.take("")];
        assert_eq!(taken, [Step::Echo, Step::Empty, Step::Empty]);
    }

    #[test]
    fn a_word_has_steps_of_its_own() {
        let mut script = Script::new([Step::Echo]).when("limit", [Step::Status(429), Step::Empty]);
        assert_eq!(script.take("to the limit"), Step::Status(429));
        assert_eq!(script.take("hello"), Step::Echo);
        assert_eq!(script.take("to the limit"), Step::Empty);
    }

    #[test]
    fn the_word_that_stands_last_counts() {
        let mut script =
            Script::new([]).when("first", [Step::Empty]).when("second", [Step::Refusal]);
        assert_eq!(script.take("first, then second"), Step::Refusal);
        assert_eq!(script.take("second, then first"), Step::Empty);
    }

    #[test]
    fn a_script_without_steps_does_as_it_is_told() {
        assert_eq!(Script::new([]).take("say: hello"), Step::Say);
    }
}
