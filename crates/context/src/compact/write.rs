//! The chosen lines as one text, counted as a whole: the last word on the cap. Called by
//! [`super::choose`].

use super::SummaryTask;
use super::sections::Section;

/// A line that is in.
pub(super) struct Chosen {
    /// The line with its break; a name with the blank before it.
    pub(super) text: String,
    pub(super) cost: u64,
    /// Where it stands in its section.
    pub(super) place: (usize, usize, usize),
}

/// What is chosen, by section. In each, what was taken last is wanted least.
pub(super) type Sections = [Vec<Chosen>; Section::ALL.len()];

/// Writes the text. Where it is over the cap although its lines were not, the least wanted ones go.
pub(super) fn write(mut chosen: Sections, task: &SummaryTask<'_>) -> String {
    // Doubled each time, so that even a tokenizer that counts oddly is asked a few times only.
    let mut more = 0;
    loop {
        let text = text(&chosen);
        let tokens = task.tokenizer.count(&text).tokens;
        if tokens <= task.max_tokens {
            return text;
        }
        more = more * 2 + 1;
        let mut over = (tokens - task.max_tokens).max(more);
        while over > 0 {
            let Some(dropped) = least_wanted(&mut chosen) else { break };
            over = over.saturating_sub(dropped.cost.max(1));
        }
    }
}

fn least_wanted(chosen: &mut Sections) -> Option<Chosen> {
    Section::BY_WEIGHT.iter().rev().find_map(|section| chosen[*section as usize].pop())
}

fn text(chosen: &Sections) -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let list = &chosen[section as usize];
        if list.is_empty() {
            continue;
        }
        text.push_str(section.heading());
        let mut lines: Vec<&Chosen> = list.iter().collect();
        lines.sort_by_key(|line| line.place);
        let from = text.len();
        text.extend(lines.iter().map(|line| line.text.as_str()));
        if section == Section::Names {
            text.remove(from);
            text.push('\n');
        }
    }
    text
}
