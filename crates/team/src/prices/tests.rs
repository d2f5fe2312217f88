//! Tests of prices: which model has which price, and what an answer costs.

use proptest::prelude::*;

use super::*;

fn built_in(model: &str) -> Option<String> {
    let prices = Prices::default();
    let (price, table) = prices.find(model)?;
    let Price { input: Rate(input), output: Rate(output), .. } = *price;
    let dollars = |rate: u32| f64::from(rate) / 1e6;
    Some(format!("{} {} of {}", dollars(input), dollars(output), table.date))
}

/// Returns an answer with this many fresh, cached, written and output tokens.
fn usage([fresh, cached, written, output]: [u64; 4]) -> Usage {
    Usage {
        member: "max".into(),
        input_tokens: fresh + cached + written,
        cached_tokens: Some(cached),
        cache_write_tokens: Some(written),
        output_tokens: output,
        ..Usage::default()
    }
}

fn table(text: &str) -> PriceTable {
    PriceTable::parse(text, "prices.toml").unwrap()
}

const OWN: &str = r#"
date = "2027-01-02"
[vendor.local.models]
"gpt-5" = { input = 1, output = 2 }
"llama-*" = { input = 0, output = 0 }
"llama-3.3*" = { input = 0.5, cached_input = 0.000001, output = 1 }
"#;

#[test]
fn the_built_in_table_has_no_errors_and_names_its_sources() {
    let text = include_str!("prices.toml");
    let table = table(text);
    assert_eq!(&*table.date, "2026-10-31");
    assert!(table.models.len() > 50, "{}", table.models.len());
    let vendors = text.matches(".models]").count();
    assert_eq!(text.matches("source = \"https://").count(), vendors);
    for PricedModel { pattern, price } in &table.models {
        assert!(price.cached_input <= Some(price.input), "{pattern}");
        assert!(price.cache_write.is_none_or(|write| write > price.input), "{pattern}");
        assert!(price.output > price.input, "{pattern}");
    }
}

#[test]
fn a_model_is_found_in_the_spellings_of_its_vendors() {
    for (model, expected) in [
        ("claude-opus-4-5", Some("5 25 of 2026-10-31")),
        ("claude-opus-4-5-20251101", Some("5 25 of 2026-10-31")),
        ("Claude-Opus-4-5[1m]", Some("5 25 of 2026-10-31")),
        ("claude-opus-4-5@20251101", Some("5 25 of 2026-10-31")),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", Some("5 25 of 2026-10-31")),
        ("openrouter/anthropic/claude-opus-4-5:beta", Some("5 25 of 2026-10-31")),
        ("claude-opus-4-1-20250805", Some("15 75 of 2026-10-31")),
        ("claude-opus-4-20250514", Some("15 75 of 2026-10-31")),
        ("gpt-5.2-2025-12-11", Some("1.75 14 of 2026-10-31")),
        ("gpt-5.1-codex-max", Some("1.25 10 of 2026-10-31")),
        ("gpt-5-mini", Some("0.25 2 of 2026-10-31")),
        ("gemini-3.1-pro-preview", Some("2 12 of 2026-10-31")),
        ("gemini-2.5-pro-preview-05-06", Some("1.25 10 of 2026-10-31")),
        ("models/gemini-2.5-flash-001", Some("0.3 2.5 of 2026-10-31")),
    ] {
        assert_eq!(built_in(model).as_deref(), expected, "{model}");
    }
}

#[test]
fn a_model_without_a_known_price_is_not_taken_for_a_similar_one() {
    for model in [
        "",
        "gpt",
        "gpt-5-pro",
        "gpt-5.9",
        "gpt-50",
        "claude-opus-4-10",
        "claude-opus-4-5-fast",
        "claude",
        "gemini-2.5-flash-image",
        "gpt-oss:20b",
        "o3-deep-research",
        "m1",
    ] {
        assert_eq!(built_in(model), None, "{model}");
    }
}

#[test]
fn the_most_specific_pattern_of_the_first_table_decides() {
    let prices = Prices::default().with(table(OWN));
    let find = |model| prices.find(model).map(|(price, table)| (price.input.0, &*table.date));
    assert_eq!(find("gpt-5"), Some((1_000_000, "2027-01-02")));
    assert_eq!(find("gpt-5-mini"), Some((250_000, "2026-10-31")));
    assert_eq!(find("llama-4-scout"), Some((0, "2027-01-02")));
    assert_eq!(find("llama-3.3-70b"), Some((500_000, "2027-01-02")));
}

#[test]
fn a_table_that_replaces_the_others_is_the_only_one() {
    let prices = Prices::default().with(table(&format!("replace = true\n{OWN}")));
    assert!(prices.find("gpt-5").is_some());
    assert!(prices.find("gpt-5-mini").is_none());
    assert_eq!(prices.tables().len(), 1);
}

#[test]
fn an_answer_costs_what_its_parts_cost() {
    let prices = Prices::default();
    for (model, tokens, expected) in [
        // As Claude Code reported it for these tokens.
        ("claude-opus-5-5", [11_599, 0, 0, 17], "0.046736"),
        ("claude-opus-5-5", [40_192, 0, 0, 68], "0.162128"),
        ("claude-opus-4-5", [1_000, 10_000, 2_000, 100], "0.025"),
        ("gpt-5", [1_000_000, 0, 0, 0], "1.25"),
        // Without a price for writing, that input costs as much as other input.
        ("gpt-5", [0, 0, 1_000_000, 0], "1.25"),
        ("gpt-5-nano", [0, 1, 0, 0], "0.000000005"),
        ("gpt-5", [0, 0, 0, 0], "0"),
    ] {
        let (price, _) = prices.find(model).unwrap();
        let cost = price.cost(&usage(tokens)).unwrap();
        assert_eq!(serde_json::to_string(&cost).unwrap(), expected, "{model} {tokens:?}");
    }
}

#[test]
fn an_unknown_cost_stays_unknown_and_a_reported_one_stays_reported() {
    let prices = Prices::default();
    let complete = |model: Option<&str>, reported: Option<f64>| {
        let mut usage = usage([1_000, 0, 0, 0]);
        usage.model = model.map(Into::into);
        usage.cost_usd = reported.and_then(Usd::new);
        prices.complete(&mut usage);
        (usage.cost_usd.map(|cost| cost.amount()), usage.prices_date)
    };
    assert_eq!(complete(Some("gpt-5"), None), (Some(0.00125), Some("2026-10-31".into())));
    assert_eq!(complete(Some("gpt-5"), Some(0.5)), (Some(0.5), None));
    assert_eq!(complete(Some("m1"), None), (None, None));
    assert_eq!(complete(None, None), (None, None));
}

#[test]
fn a_broken_table_is_reported_with_its_lines() {
    for (text, expected) in [
        ("", ": has no date; add the day of the prices, such as date = \"2026-10-31\""),
        ("date = \"soon\"", "1:8: date: must be a date such as \"2026-10-31\"; got \"soon\""),
        ("date = 2026-10-31\nsince = 1", "2:1: since: there is no such field"),
        (
            "date = 2026-10-31\n[vendor.a.models]\n\"m\" = { input = 1 }",
            "3:1: vendor.a.models.m: has no output; add its price per million tokens",
        ),
        (
            "date = 2026-10-31\n[vendor.a.models]\n\"m\" = { input = -1, output = \"2\" }",
            "3:17: vendor.a.models.m.input: must be a price in dollars per million tokens",
        ),
        (
            "date = 2026-10-31\n[vendor.a.models]\n\"m\" = { input = 0.0000001, output = 2 }",
            "3:17: vendor.a.models.m.input: must be a price in dollars per million tokens",
        ),
        ("date = 2026-10-31\nvendor = 3", "2:10: vendor: must be a table; got a whole number"),
        ("date = ", "1:8: "),
    ] {
        let error = PriceTable::parse(text, "p.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

proptest! {
    #[test]
    fn the_cost_of_a_sum_is_the_sum_of_the_costs(
        a in prop::array::uniform4(0_u64..1_000_000_000),
        b in prop::array::uniform4(0_u64..1_000_000_000),
        rates in prop::array::uniform4(0_u32..=u32::MAX),
    ) {
        let [input, cached, written, output] = rates.map(Rate);
        let price =
            Price { input, cached_input: Some(cached), cache_write: Some(written), output };
        let sum = std::array::from_fn(|index| a[index] + b[index]);
        let exact = |tokens| {
            let cost = serde_json::to_string(&price.cost(&usage(tokens)).unwrap()).unwrap();
            let (whole, part) = cost.split_once('.').unwrap_or((&cost, ""));
            format!("{whole}{part:0<12}").parse::<u128>().unwrap()
        };
        prop_assert_eq!(exact(a) + exact(b), exact(sum));
    }

    #[test]
    fn no_number_of_tokens_is_too_large(tokens in any::<u64>(), rate in any::<u32>()) {
        let price = Price { input: Rate(rate), output: Rate(rate), ..Price::default() };
        let usage = Usage { input_tokens: tokens, output_tokens: tokens, ..Usage::default() };
        prop_assert!(price.cost(&usage).is_some());
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,60}", name in "\\PC{0,30}") {
        let _ = PriceTable::parse(&text, "p.toml");
        let _ = Prices::default().find(&name);
    }
}
