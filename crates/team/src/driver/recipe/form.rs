//! A recipe as JSON: steps, and references to earlier steps. docs/session-record.md describes it.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Value, json};
use tertulia_session::json::Json;

use super::{Recipe, RecipeError, Said, Step};

/// First element of a list. Lists that begin with 0 or 1 have no indents; no released version wrote them.
const ALONE: u64 = 2;
const WITH_EARLIER: u64 = 3;
/// Maximum number of steps of a recipe. Without a limit, a short list that copies itself could produce any number of
/// steps.
const STEPS_MAX: usize = 65_536;
/// Number of positions that are tried to find the longest sequence of steps.
const TRIES: usize = 64;

/// `Moved` copies steps for another entry: it replaces every range and every id.
enum Item {
    Step(Step),
    Copy { from: usize, count: usize },
    Moved { from: usize, count: usize, said: Said },
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(Step::Words(words)) => write!(out, "{}", Value::from(&**words)),
            Self::Step(Step::Apart) => out.write_str("/"),
            Self::Step(Step::Id(index)) => write!(out, "#{index}"),
            Self::Step(Step::Said(said)) => {
                write_stretch(out, said)?;
                out.write_str(if said.is_indented { "" } else { "p" })?;
                out.write_str(if said.is_escaped { "j" } else { "" })
            }
            Self::Copy { from, count } => write!(out, "{from}+{count}"),
            Self::Moved { from, count, said } => {
                write!(out, "{from}+{count}@")?;
                write_stretch(out, said)
            }
        }
    }
}

fn write_stretch(out: &mut fmt::Formatter<'_>, said: &Said) -> fmt::Result {
    match &said.range {
        Some(range) if range.start == 0 => write!(out, "{}:{}", said.index, range.end),
        Some(range) => write!(out, "{}:{}-{}", said.index, range.start, range.end),
        None => write!(out, "{}", said.index),
    }
}

impl Item {
    fn parse(text: &str) -> Option<Self> {
        if text == "/" {
            return Some(Self::Step(Step::Apart));
        }
        if let Some(index) = text.strip_prefix('#') {
            return Some(Self::Step(Step::Id(index.parse().ok()?)));
        }
        let Some((from, rest)) = text.split_once('+') else {
            return Some(Self::Step(Step::Said(said(text)?)));
        };
        let from = from.parse().ok()?;
        match rest.split_once('@') {
            None => Some(Self::Copy { from, count: rest.parse().ok()? }),
            Some((count, entry)) => {
                Some(Self::Moved { from, count: count.parse().ok()?, said: said(entry)? })
            }
        }
    }

    fn unfold(&self, earlier: &[&Step], steps: &[Step]) -> Result<Vec<Step>, RecipeError> {
        let &(Self::Copy { from, count } | Self::Moved { from, count, .. }) = self else {
            let Self::Step(step) = self else { return Ok(Vec::new()) };
            return Ok(vec![step.clone()]);
        };
        if count > STEPS_MAX - steps.len().min(STEPS_MAX) {
            return Err(RecipeError("it has too many steps"));
        }
        let end = from.checked_add(count).ok_or(RecipeError("a number is too large"))?;
        let step_at = |index: usize| match index.checked_sub(earlier.len()) {
            None => earlier.get(index).copied(),
            Some(index) => steps.get(index),
        };
        let copy = |step: &Step| match self {
            Self::Moved { said, .. } => moved(step, said),
            _ => step.clone(),
        };
        let copied: Option<Vec<Step>> = (from..end).map(|index| step_at(index).map(copy)).collect();
        copied.ok_or(RecipeError("it refers to a step that does not exist"))
    }
}

fn said(text: &str) -> Option<Said> {
    let (text, is_escaped) = text.strip_suffix('j').map_or((text, false), |text| (text, true));
    let (text, is_indented) = text.strip_suffix('p').map_or((text, true), |text| (text, false));
    let (index, range) = match text.split_once(':') {
        None => (text, None),
        Some((index, range)) => {
            let (start, end) = range.split_once('-').unwrap_or(("0", range));
            (index, Some(start.parse().ok()?..end.parse().ok()?))
        }
    };
    Some(Said { index: index.parse().ok()?, range, is_indented, is_escaped })
}

/// Returns the same step for another entry.
fn moved(step: &Step, said: &Said) -> Step {
    match step {
        Step::Said(step) => {
            Step::Said(Said { index: said.index, range: said.range.clone(), ..step.clone() })
        }
        Step::Id(_) => Step::Id(said.index),
        step => step.clone(),
    }
}

/// Returns what a step has in common with the same step for another entry.
fn shape_of(step: &Step) -> Step {
    moved(step, &Said { index: 0, range: None, is_indented: false, is_escaped: false })
}

#[derive(Default)]
struct Earlier<'s> {
    steps: Vec<&'s Step>,
    same: HashMap<&'s Step, Vec<usize>>,
    alike: HashMap<Step, Vec<usize>>,
}

impl<'s> Earlier<'s> {
    fn add(&mut self, step: &'s Step) {
        let same = self.same.entry(step).or_default();
        let alike = self.alike.entry(shape_of(step)).or_default();
        for indexes in [same, alike] {
            if indexes.len() < TRIES {
                indexes.push(self.steps.len());
            }
        }
        self.steps.push(step);
    }

    /// Returns the reference to a prefix of these steps that saves most, and the length of the prefix.
    fn find(&self, wanted: &[Step]) -> Option<(Item, usize)> {
        let saved = |(item, count): &(Item, usize)| {
            let steps = wanted.iter().take(*count);
            let spelled = steps.map(|step| 1 + Item::Step(step.clone()).to_string().len());
            spelled.sum::<usize>().saturating_sub(1 + item.to_string().len())
        };
        // `max_by_key` takes the last of equal ones.
        let found = [self.moved(wanted), self.copy(wanted)].into_iter().flatten();
        found.max_by_key(saved).filter(|found| saved(found) > 0)
    }

    fn copy(&self, wanted: &[Step]) -> Option<(Item, usize)> {
        let indexes = self.same.get(wanted.first()?)?;
        let (from, count) = self.longest(indexes, wanted, |step, wanted| step == wanted)?;
        Some((Item::Copy { from, count }, count))
    }

    /// Same as `moved` for steps about a single entry. The earlier steps may be about another entry.
    fn moved(&self, wanted: &[Step]) -> Option<(Item, usize)> {
        let indexes = self.alike.get(&shape_of(wanted.first()?))?;
        let said = wanted.iter().take(TRIES).find_map(|step| match step {
            Step::Said(said) => Some(said),
            _ => None,
        })?;
        let is_same = |step: &Step, wanted: &Step| moved(step, said) == *wanted;
        let (from, count) = self.longest(indexes, wanted, is_same)?;
        Some((Item::Moved { from, count, said: said.clone() }, count))
    }

    fn longest(
        &self,
        indexes: &[usize],
        wanted: &[Step],
        is_same: impl Fn(&Step, &Step) -> bool,
    ) -> Option<(usize, usize)> {
        let count = |from: usize| {
            let steps = self.steps.get(from..).unwrap_or_default();
            steps.iter().zip(wanted).take_while(|(step, wanted)| is_same(step, wanted)).count()
        };
        // The first of equally long ones, because it has the shortest number.
        indexes.iter().rev().map(|index| (*index, count(*index))).max_by_key(|(_, count)| *count)
    }
}

impl Recipe {
    /// Writes the recipe as JSON, with references to earlier steps. Without earlier steps it refers to none.
    pub(in crate::driver) fn to_json(&self, earlier: Option<&[&Step]>) -> Option<Json> {
        if self.0.len() > STEPS_MAX {
            return None;
        }
        let form = if earlier.is_some() { WITH_EARLIER } else { ALONE };
        let mut known = Earlier::default();
        earlier.unwrap_or_default().iter().for_each(|step| known.add(step));
        let mut list = vec![Value::from(form)];
        let mut line = String::new();
        let mut wanted = self.0.as_slice();
        while let Some(first) = wanted.first() {
            let (item, count) = known.find(wanted).unwrap_or((Item::Step(first.clone()), 1));
            let (done, rest) = wanted.split_at_checked(count)?;
            if let Item::Step(Step::Words(words)) = &item {
                list.extend(end_line(&mut line));
                list.push(Value::from(&**words));
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(&item.to_string());
            }
            done.iter().for_each(|step| known.add(step));
            wanted = rest;
        }
        list.extend(end_line(&mut line));
        Json::parse(&Value::from(list).to_string()).ok()
    }

    pub(in crate::driver) fn read(json: &Json, earlier: &[&Step]) -> Result<Self, RecipeError> {
        let list: Vec<Value> =
            serde_json::from_str(json.as_str()).map_err(|_| RecipeError("it is not a list"))?;
        let (form, parts) = list.split_first().ok_or(RecipeError("it is empty"))?;
        let earlier = match form.as_u64() {
            Some(ALONE) => &[],
            Some(WITH_EARLIER) => earlier,
            Some(0 | 1) => {
                return Err(RecipeError("an unreleased version wrote it in another format"));
            }
            _ => return Err(RecipeError("a newer version wrote it; update Tertulia")),
        };
        let unknown = || RecipeError("it has an unknown step");
        let mut steps = Vec::new();
        for part in parts {
            match part {
                Value::String(words) => steps.push(Step::Words(words.as_str().into())),
                Value::Array(line) => {
                    let [Value::String(line)] = line.as_slice() else { return Err(unknown()) };
                    for item in line.split(' ') {
                        let item = Item::parse(item).ok_or_else(unknown)?;
                        let these = item.unfold(earlier, &steps)?;
                        steps.extend(these);
                    }
                }
                _ => return Err(unknown()),
            }
        }
        Ok(Self(steps))
    }

    pub(in crate::driver) fn is_alone(json: &Json) -> bool {
        json.as_str().starts_with("[2")
    }
}

fn end_line(line: &mut String) -> Option<Value> {
    (!line.is_empty()).then(|| json!([std::mem::take(line)]))
}
