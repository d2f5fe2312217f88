//! An index that is kept between builds saves time and changes nothing: whatever it has read before, a build with it
//! gives the same result as a build without it.

use proptest::prelude::*;
use tertulia_context::SpokenBy;
use tertulia_context::builder::{ContextBuildInput, ContextConfig, ContextIndex};
use tertulia_context::view::{Labels, Perspective, Stripping};
use tertulia_session::{Entry, EntryId, Message};

use super::arbitrary::{Setting, Step, Story, setting, story};
use super::notation::{append, log, message};
use super::world::{Checked, add};

/// The differences between one build and the one before it.
#[derive(Clone, Copy, Debug)]
struct Pick {
    /// The number of the configuration.
    setting: usize,
    /// The number of the log.
    log: usize,
    explain: bool,
    is_member: bool,
    /// The number of the message that is answered, counted from the end.
    answers: Option<usize>,
    /// The number of newest entries that are left out, as if the log had been read earlier.
    left_out: usize,
}

fn pick() -> impl Strategy<Value = Pick> {
    let other = (prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    let answers = prop::option::weighted(0.1, 0..12_usize);
    let left_out = prop_oneof![9 => Just(0), 1 => 1..6_usize];
    (0..3_usize, prop::bool::weighted(0.2), other, answers, left_out).prop_map(
        |(setting, log, (explain, is_member), answers, left_out)| {
            let log = usize::from(log);
            Pick { setting, log, explain, is_member, answers, left_out }
        },
    )
}

/// Builds once with the index and once without.
fn check(
    index: &mut ContextIndex,
    setting: &Setting,
    pick: Pick,
    log: &[Entry],
    (messages, overflow_hint): (&[Message], bool),
) -> Result<Vec<Entry>, TestCaseError> {
    let perspective = Perspective {
        member: "m",
        strip: Stripping::Ranges(|text| std::iter::once(0..text.len()).collect()),
        labels: Labels::SpokenBy(&|_| SpokenBy::Member),
        is_partial: |_| false,
    };
    let given = &log[..log.len() - pick.left_out.min(log.len())];
    let answers = pick.answers.and_then(|back| given.iter().rev().nth(back));
    let input = ContextBuildInput {
        system_prompt: setting.system_prompt,
        session_entries: given,
        input_messages: messages,
        runtime_hints: setting.hints.as_ref(),
        overflow_hint,
        explain: pick.explain,
        perspective: pick.is_member.then_some(&perspective),
        answers: answers.map(|entry| &entry.id),
        ..ContextBuildInput::default()
    };
    let builder = setting.builder();
    let cold = builder.build_context(&input);
    for _ in 0..2 {
        prop_assert_eq!(&builder.build_with(index, &input), &cold);
    }
    let whole = pick.left_out == 0 && !pick.is_member;
    Ok(cold.ok().filter(|_| whole).map(|built| built.entries_to_append).unwrap_or_default())
}

/// Checks two logs that grow line by line and are built from with one index, alternating between configurations.
fn one_index_for_all(stories: &[Story; 2], settings: &[Setting; 3], picks: &[Pick]) -> Checked {
    let mut index = ContextIndex::new();
    let mut logs = [log(&["u one"]), log(&["u two"])];
    logs[1][0].id = EntryId::from("another");
    let mut picks = picks.iter().copied().cycle();
    let mut next = || picks.next().unwrap();
    let mut steps = stories.each_ref().map(|story| story.steps.iter());
    loop {
        let mut pick = next();
        let Some(step) = steps[pick.log].next() else { break };
        let log = &mut logs[pick.log];
        match step {
            Step::Append(lines) => {
                for line in lines {
                    add(log, line, false);
                    check(&mut index, &settings[pick.setting], pick, log, (&[], false))?;
                    pick = Pick { log: pick.log, ..next() };
                }
            }
            Step::Build { input, overflow_hint } => {
                let place = log.len().to_string();
                let messages: Vec<Message> =
                    input.iter().map(|line| message(&line.replace('$', &place))).collect();
                let given = (&*messages, *overflow_hint);
                let new = check(&mut index, &settings[pick.setting], pick, log, given)?;
                log.extend(new);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_index_has_seen_it_changes_nothing(
        stories in [story(), story()],
        settings in [setting(), setting(), setting()],
        picks in prop::collection::vec(pick(), 1..40),
    ) {
        one_index_for_all(&stories, &settings, &picks)?;
    }

    #[test]
    fn a_log_that_grows_line_by_line_is_built_as_if_it_were_new(
        story in story(),
        setting in setting(),
    ) {
        let pick = Pick {
            setting: 0, log: 0, explain: false, is_member: false, answers: None, left_out: 0,
        };
        let settings = [setting.clone(), setting.clone(), setting];
        one_index_for_all(&[story.clone(), story], &settings, &[pick])?;
    }
}

/// Builds after every line, with one index and without. Returns how many messages were counted in total.
fn grown(lines: &[&str]) -> u64 {
    let setting = Setting {
        config: ContextConfig::new(100_000),
        has_compactor: false,
        is_claude: false,
        system_prompt: None,
        hints: None,
    };
    let (builder, mut index, mut log) = (setting.builder(), ContextIndex::new(), Vec::new());
    for line in lines {
        append(&mut log, line);
        let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
        let warm = builder.build_with(&mut index, &input);
        assert_eq!(warm, builder.build_context(&input), "{line}");
    }
    index.counted()
}

#[test]
fn what_comes_late_changes_what_was_built_before() {
    // A result after other messages, a second one, and one of a call whose id is used again.
    grown(&["u a", "a +1 +2", "t =1", "u b", "a c", "t =2", "u d", "t =2", "a +1", "t =1", "u e"]);
    // A call that waits for its result while other messages follow, and finally gets it.
    grown(&["u a", "a +1", "u b", "a c", "u d", "t =1", "u e"]);
    // Redactions of old messages, of a call and of its result.
    grown(&["u a", "a b", "u c", "a d", "redact 0", "u e", "redact 3", "u f"]);
    grown(&["u a", "a +1", "t =1", "u b", "a c", "redact 2", "u d", "redact 1", "u e"]);
    // Branches from the middle and back, and a cut on one of them.
    grown(&["u a", "a b", "u c", "a d", "@1 u e", "a f", "@3 u g", "a h", "@5 u i"]);
    grown(&["u a", "a b", "u c", "a d", "drop first=2 kept=0", "u e", "@3 u f", "a g"]);
    // Only whitespace, and a summary of another log.
    grown(&["u a", "a _", "u b", "branch other", "a c", "u _", "a d", "u e"]);
}

#[test]
fn a_log_that_grows_is_counted_once() {
    assert_eq!(grown(&["u a", "a b", "u c", "a +1", "t =1", "u d", "a e"]), 7);
}
