//! The control: the same trace as `synchronous=NORMAL` would have left it. That mode does not sync
//! commits, only a restarted journal and one that is about to be copied into the file. The harness
//! must find losses in it; otherwise it can find none.

use crate::power::trace::Step;

const JOURNAL: &str = "-wal";

/// Removes the syncs that only `synchronous=FULL` makes.
pub(super) fn without_commit_syncs(steps: &[Step]) -> Vec<Step> {
    let keeps = |(index, step): &(usize, &Step)| match step {
        Step::Sync { file } if file.ends_with(JOURNAL) => {
            begins_again(&steps[..*index]) || is_copied_next(&steps[index + 1..])
        }
        _ => true,
    };
    steps.iter().enumerate().filter(keeps).map(|(_, step)| step.clone()).collect()
}

/// Returns whether the journal header was written last.
fn begins_again(before: &[Step]) -> bool {
    matches!(before.last(), Some(Step::Write { file, offset: 0, .. }) if file.ends_with(JOURNAL))
}

/// Returns whether the file is written before the journal continues.
fn is_copied_next(after: &[Step]) -> bool {
    let written = after.iter().find_map(|step| match step {
        Step::Write { file, .. } => Some(file),
        _ => None,
    });
    written.is_some_and(|file| !file.ends_with(JOURNAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &str, offset: usize) -> Step {
        Step::Write { file: file.to_owned(), offset, bytes: vec![1] }
    }

    fn sync(file: &str) -> Step {
        Step::Sync { file: file.to_owned() }
    }

    #[test]
    fn only_commit_syncs_are_removed() {
        let steps = [
            write("a-wal", 0),
            sync("a-wal"),
            write("a-wal", 32),
            sync("a-wal"),
            write("a-wal", 64),
            sync("a-wal"),
            write("a", 0),
            sync("a"),
        ];
        let mut expected = steps.to_vec();
        expected.remove(3);
        assert_eq!(without_commit_syncs(&steps), expected);
    }
}
