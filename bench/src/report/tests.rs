//! Tests the content and the format of the report.

use super::*;

fn ratio(name: &str, value: f64) -> Figure {
    Figure::new(name, value, Unit::Times)
}

fn themes() -> Vec<Theme> {
    let memory = Theme {
        title: "memory",
        figures: vec![
            Figure::new("stored", 391.7, Unit::BytesPerMessage)
                .at_most(450.0)
                .of("430 B in memory"),
            Figure::new("stored and routed", 482.0, Unit::BytesPerMessage),
        ],
    };
    let time = Theme {
        title: "time",
        figures: vec![ratio("über", 18.456).at_most(18.0).of("2 ms against 0.1 ms")],
    };
    vec![memory, time]
}

#[test]
fn a_figure_at_its_limit_keeps_it_and_one_above_does_not() {
    assert_eq!(ratio("a", 1.3).at_most(1.3).verdict(), Verdict::Ok);
    assert_eq!(ratio("a", 1.31).at_most(1.3).verdict(), Verdict::Over);
    assert_eq!(ratio("a", 1.31).verdict(), Verdict::Informs);
}

#[test]
fn a_figure_that_is_no_number_keeps_no_limit() {
    assert_eq!(ratio("a", f64::NAN).at_most(1.3).verdict(), Verdict::Over);
}

#[test]
fn a_figure_may_have_to_be_at_least_its_limit() {
    assert_eq!(ratio("a", 85.0).at_least(85.0).verdict(), Verdict::Ok);
    assert_eq!(ratio("a", 84.9).at_least(85.0).verdict(), Verdict::Under);
    assert_eq!(ratio("a", f64::NAN).at_least(0.0).verdict(), Verdict::Under);
}

#[test]
fn a_measured_limit_is_shown_with_two_digits() {
    let share = Figure::new("found", 51.234, Unit::Percent).at_least(200.0 / 3.0);
    assert_eq!(share.cells()[1..4], ["51.2 %", "≥ 66.67", "UNDER"]);
}

#[test]
fn two_times_make_a_ratio_with_both_beside_it() {
    let figure = Figure::ratio("a", &Pair { base_ns: 500.0, other_ns: 1_000.0 }, 1.3);
    assert_eq!((figure.value, figure.verdict()), (2.0, Verdict::Over));
    assert_eq!(figure.detail, "1.00 µs against 500 ns");
}

#[test]
fn columns_are_aligned_over_all_themes() {
    let expected = "\
memory
  stored             392 B/message  ≤ 450  ok    430 B in memory
  stored and routed  482 B/message

time
  über                     18.46 ×  ≤ 18   OVER  2 ms against 0.1 ms

1 of 2 limits are BROKEN.
";
    assert_eq!(table(&themes()), expected);
}

#[test]
fn figures_without_a_limit_are_never_over() {
    let mut themes = themes();
    assert!(!all_hold(&themes));
    themes.truncate(1);
    assert!(all_hold(&themes));
    assert!(table(&themes).ends_with("\nAll 1 limits hold.\n"));
}

#[test]
fn every_figure_is_one_line_of_json() {
    let text = json_lines(&themes());
    assert_eq!(text.lines().count(), 3);
    let over: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(over["theme"], "time");
    assert_eq!(over["value"], 18.456);
    assert_eq!(over["limit"], 18.0);
    assert_eq!(over["ok"], false);
}

#[test]
fn counts_have_their_thousands_apart() {
    for (count, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_048_577, "1,048,577")] {
        assert_eq!(grouped(count), text);
    }
}

#[test]
fn times_are_told_in_the_unit_that_reads_best() {
    assert_eq!(duration(612.4), "612 ns");
    assert_eq!(duration(1_234.0), "1.23 µs");
    assert_eq!(duration(12_345_678.0), "12.35 ms");
}
