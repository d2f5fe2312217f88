//! The prices of models, and the cost of an answer computed from them. Pure: `file/prices.rs` reads the tables, and the
//! driver uses them for agents that report tokens but no cost. All sums are exact decimals.

mod amount;

use std::sync::{Arc, LazyLock};

use tertulia_context::tokens::model_name;
use tertulia_session::{Usage, Usd};

pub use amount::Amount;

/// Tables of prices; the first one that knows a model decides.
#[derive(Clone, Debug)]
pub struct Prices {
    tables: Arc<[PriceTable]>,
}

/// A table of prices, as of one date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable {
    /// The date, such as `2026-10-31`.
    pub date: Box<str>,
    /// Whether it replaces all tables after it.
    pub replaces: bool,
    pub models: Vec<PricedModel>,
}

/// A model, or several models of the same price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricedModel {
    /// The name in lower case. A `*` stands for any text.
    pub pattern: Box<str>,
    pub price: Price,
}

/// The prices of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub input: Rate,
    /// For input that is read from a cache; `None` if it costs as much as other input.
    pub cached_input: Option<Rate>,
    /// For input that is written to a cache; `None` if it costs as much as other input.
    pub cache_write: Option<Rate>,
    pub output: Rate,
}

/// Millionths of a dollar per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u32);

/// The embedded table.
static BUILT_IN: LazyLock<Arc<[PriceTable]>> = LazyLock::new(|| {
    // A test reads the table, so this does not fail.
    PriceTable::parse(include_str!("prices/prices.toml"), "prices.toml").into_iter().collect()
});

impl Default for Prices {
    /// Returns the built-in prices.
    fn default() -> Self {
        Self { tables: Arc::clone(&BUILT_IN) }
    }
}

impl Prices {
    /// Adds a table that is used before the others.
    #[must_use]
    pub fn with(self, table: PriceTable) -> Self {
        let rest = self.tables.iter().filter(|_| !table.replaces).cloned().collect::<Vec<_>>();
        Self { tables: [table].into_iter().chain(rest).collect() }
    }

    /// Returns the tables, in the order in which they are used.
    pub fn tables(&self) -> &[PriceTable] {
        &self.tables
    }

    /// Finds the price of a model, and the table that has it. The case of letters and a provider before the name are
    /// ignored, and so are a date, a version or an option after it.
    pub fn find(&self, model: &str) -> Option<(&Price, &PriceTable)> {
        let name = model_name(model);
        self.tables.iter().find_map(|table| table.find(&name).map(|price| (price, table)))
    }

    /// Computes the cost of an answer whose agent reported none. Changes nothing if the model has no known price.
    pub fn complete(&self, usage: &mut Usage) {
        if usage.cost_usd.is_some() {
            return;
        }
        let Some((price, table)) = usage.model.as_deref().and_then(|model| self.find(model)) else {
            return;
        };
        usage.cost_usd = price.cost(usage);
        usage.prices_date = usage.cost_usd.is_some().then(|| table.date.clone());
    }
}

impl PriceTable {
    /// Returns the price of the most specific pattern that fits.
    fn find(&self, name: &str) -> Option<&Price> {
        let fitting = self.models.iter().filter(|model| fits(&model.pattern, name));
        fitting.max_by_key(|model| specificity(&model.pattern)).map(|model| &model.price)
    }
}

impl Price {
    /// Returns the cost of the tokens of an answer, exactly.
    pub fn cost(&self, usage: &Usage) -> Option<Usd> {
        let cached = usage.cached_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let fresh = usage.input_tokens.saturating_sub(cached).saturating_sub(written);
        let parts = [
            (fresh, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        // A product has at most 96 bits, so the sum does not overflow.
        let sum =
            parts.into_iter().map(|(tokens, Rate(rate))| u128::from(tokens) * u128::from(rate));
        Amount(sum.sum()).to_usd()
    }
}

/// Returns whether a pattern fits a name, or the name without what follows it: a date, a version or an option. Another
/// word makes it another model: `gpt-5` does not fit `gpt-5-pro`.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut ends_open = false;
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        (rest, ends_open) = (behind, part.is_empty());
    }
    ends_open || is_variant(rest)
}

/// Returns whether this text after a name means the same model: `-20251101`, `-2026-04-01`, `-latest`, `-preview`,
/// `-001`, `-v1:0`, `@20251101`, `:free`, `[1m]`; also several of them.
fn is_variant(rest: &str) -> bool {
    let rest = rest.split(['@', ':', '[']).next().unwrap_or_default();
    if rest.is_empty() {
        return true;
    }
    let Some(words) = rest.strip_prefix('-') else { return false };
    words.split('-').enumerate().all(|(index, word)| {
        let digits = word.strip_prefix('v').unwrap_or(word);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // The first number may belong to the name, as in `claude-opus-4-5`, unless it is long.
        let is_version = is_number && (index > 0 || word.len() > 2 || digits != word);
        is_version || matches!(word, "latest" | "preview" | "exp")
    })
}

/// Returns the number of written characters; a pattern without `*` comes before others.
fn specificity(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.len())
}

#[cfg(test)]
mod tests;
