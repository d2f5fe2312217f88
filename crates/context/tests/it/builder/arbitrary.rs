//! Random logs in the notation, random configurations, and random events between two builds: the input of the
//! property tests.

use proptest::prelude::*;
use tertulia_context::builder::{ContextBuilder, ContextConfig, Strategy as Way};
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_session::json::Json;

use super::notation::json;

/// A session with its events: lines that somebody appends, and builds.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) setting: Setting,
    pub(super) steps: Vec<Step>,
    pub(super) is_legacy: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Appends these lines to the log.
    Append(Vec<String>),
    /// Builds a context with these new messages and appends the entries that it returns.
    Build { input: Vec<String>, overflow_hint: bool },
}

/// A configuration, and the input that all builds share.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) config: ContextConfig,
    pub(super) has_compactor: bool,
    pub(super) is_claude: bool,
    pub(super) system_prompt: Option<&'static str>,
    pub(super) hints: Option<Json>,
}

impl Setting {
    pub(super) fn builder(&self) -> ContextBuilder {
        let tokenizer = if self.is_claude { Tokenizer::Claude } else { Tokenizer::Bytes };
        let builder = ContextBuilder::new(self.config.clone())
            .unwrap()
            .with_counter(MessageCounter::new(tokenizer));
        match self.has_compactor {
            true => builder,
            false => builder.without_compactor(),
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let size = prop_oneof![Just(""), Just("*60"), Just("*300"), Just("*900")];
    size.prop_map(|size| format!("q$q{size}"))
}

/// Returns a turn of a usual conversation.
fn sound_turn() -> impl Strategy<Value = Vec<String>> {
    let ask = word().prop_map(|word| vec![format!("u {word}")]);
    let answer = word().prop_map(|word| vec![format!("a {word}")]);
    let call = (word(), word()).prop_map(|(said, size)| {
        let size = size.trim_start_matches("q$q").to_owned();
        vec![format!("a ~{said} +1"), format!("t =1{size}")]
    });
    let parallel = word().prop_map(|word| {
        let size = word.trim_start_matches("q$q");
        vec!["a +1 +2".to_owned(), format!("t =1{size}"), format!("t =2{size}")]
    });
    let pinned = word().prop_map(|word| vec![format!("!u {word}")]);
    let pinned_call = Just(vec!["a +1".to_owned(), "!t =1*300".to_owned()]);
    prop_oneof![4 => ask, 4 => answer, 4 => call, 2 => parallel, 1 => pinned, 1 => pinned_call]
}

/// Returns a result that comes late, alone or together with text, in a message of any role.
fn late_result() -> impl Strategy<Value = Vec<String>> {
    let caller = prop::sample::select(vec!["a +1", "!a +1", "a q$q +1 +2"]);
    let between = prop_oneof![Just(Vec::new()), sound_turn()];
    let result = prop::sample::select(vec![
        "t =1", "t =1*300", "!t =1", "a =1 img", "a =1 q$q", "u =1", "u =1 q$q", "s =1",
    ]);
    (caller, between, result).prop_map(|(caller, between, result)| {
        let ids = |line: String| line.replace("+1", "+5").replace("=1", "=5");
        let lines = [vec![caller.to_owned()], between.into_iter().map(ids).collect()];
        let mut lines = lines.concat();
        lines.push(result.to_owned());
        lines
    })
}

/// Returns any line that a program could have written.
fn odd_line() -> impl Strategy<Value = Vec<String>> {
    let part = prop::sample::select(vec![
        "q$q", "_", "~q$q", "+1", "+2", "=1", "=2", "#1", "=3*500", "img", "odd", "q$q*200",
    ]);
    let parts = prop::collection::vec(part, 0..4);
    let role = prop::sample::select(vec!["s", "u", "a", "t", "!a", "!t", "!u"]);
    let message = (role, parts).prop_map(|(role, parts)| format!("{role} {}", parts.join(" ")));
    let reported = (100..3_000_u64).prop_map(|tokens| format!("a q$q usage={tokens}"));
    let usage = (100..3_000_u64).prop_map(|tokens| format!("usage m {tokens}"));
    let entry = prop::sample::select(vec![
        "prompt be p$p",
        "init {\"cwd\":\"/a\"}",
        "odd",
        "task t",
        "branch b$b*80",
    ]);
    let entry = entry.prop_map(str::to_owned);
    prop_oneof![6 => message, 1 => reported, 1 => usage, 2 => entry].prop_map(|line| vec![line])
}

/// Returns a line that changes more than the end of the log: a branch, a redaction, an old cut. Its numbers count
/// from the end. They are replaced by real numbers when the line is appended.
fn turning() -> impl Strategy<Value = Vec<String>> {
    let branch = (1..6_usize).prop_map(|back| format!("BACK {back}"));
    let redaction = (0..12_usize).prop_map(|back| format!("REDACT {back}"));
    let old = (0..9_usize, any::<bool>(), any::<bool>()).prop_map(|(back, kept, drop)| {
        let word = if drop { "DROP" } else { "SUM" };
        format!("{word} {back} {}", if kept { "kept" } else { "-" })
    });
    let elide = (0..9_usize).prop_map(|back| format!("ELIDE {back}"));
    prop_oneof![1 => branch, 3 => redaction, 1 => old, 1 => elide].prop_map(|line| vec![line])
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let some = prop_oneof![8 => sound_turn(), 3 => odd_line(), 1 => late_result(), 1 => turning()];
    prop::collection::vec(some, 1..5).prop_map(|turns| turns.concat())
}

fn step() -> impl Strategy<Value = Step> {
    let input = prop_oneof![
        3 => Just(Vec::new()),
        2 => word().prop_map(|word| vec![format!("u {word}")]),
        1 => sound_turn().prop_map(|turn| turn.iter().map(|line| line.replace('!', "")).collect()),
    ];
    let build = (input, prop::bool::weighted(0.15))
        .prop_map(|(input, overflow_hint)| Step::Build { input, overflow_hint });
    prop_oneof![3 => lines().prop_map(Step::Append), 4 => build]
}

fn ways() -> impl Strategy<Value = Vec<Way>> {
    let all = vec![Way::Elide, Way::Summarize, Way::Drop];
    prop_oneof![3 => Just(all.clone()), 2 => prop::sample::subsequence(all, 1..=3)]
}

pub(super) fn setting() -> impl Strategy<Value = Setting> {
    let config = (
        prop_oneof![1 => 30..200_u64, 4 => 200..1_200_u64, 1 => 1_200..20_000_u64],
        prop::option::weighted(0.2, 1..20_u64),
        (0..3_u64, 0..4_u64),
        prop::sample::select(vec![1, 300, 600, 600, 600, 900, 1_000]),
        ways(),
        prop::option::weighted(0.2, 1..200_u64),
        prop::sample::select(vec![1, 20, 100]),
        (prop::bool::weighted(0.9), prop::sample::select(vec![0, 500, 1_000])),
    );
    let rest = (
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.1),
        prop::option::of(Just("Be brief.")),
        prop::option::weighted(0.3, Just(r#"{"time":"noon","step":3}"#)),
    );
    (config, rest).prop_map(|(config, (has_compactor, is_claude, system_prompt, hints))| {
        let (max, messages, (reserve, recall), target, strategies, cap, min, flags) = config;
        let mut config = ContextConfig::new(max);
        config.max_history_messages = messages;
        config.reserve_tokens = max * reserve / 20;
        config.recall_tokens = Some(max * recall / 10);
        config.target_permille = target;
        config.strategies = strategies;
        config.summary_tokens = cap;
        config.elide_min_tokens = min;
        (config.enable_compaction, config.protect_permille) = flags;
        let hints = hints.map(json);
        Setting { config, has_compactor, is_claude, system_prompt, hints }
    })
}

pub(super) fn story() -> impl Strategy<Value = Story> {
    let steps = prop::collection::vec(step(), 2..14);
    (setting(), steps, prop::bool::weighted(0.1)).prop_map(|(setting, steps, is_legacy)| Story {
        setting,
        steps,
        is_legacy,
    })
}
