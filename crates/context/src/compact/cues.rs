//! Tables of words, in six languages, that show the kind of a sentence: a constraint, a decision, something done,
//! something open, a finding.
//!
//! Cues are in lower case, separated by `|`. `^` requires the start of the sentence; `…` is any text between two
//! parts. Cues in scripts with spaces between words match whole words only.

use memchr::memmem::Finder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    /// A rule without exceptions.
    Rule,
    /// A preference or a limit.
    Preference,
    Decision,
    Done,
    Open,
    Finding,
    /// An announced action; the action itself is more informative.
    Announcement,
}

/// The words of each cue in English, Chinese, German, Spanish, French and Japanese.
#[rustfmt::skip]
const TABLES: [(Cue, [&str; 6]); 7] = [
    (Cue::Rule, [
        "must|never|always|^don't|^do not|please don't|and don't|but don't|so don't|do not\
         |not allowed|forbidden|make sure|mandatory",
        "必须|不要|禁止|不得|务必|一定要|切勿|不允许",
        "muss|müssen|darf nicht|niemals|immer|auf keinen fall",
        "debe|deben|nunca|siempre|prohibido|asegúrate",
        "doit|doivent|jamais|toujours|interdit|il faut",
        "必ず|してはいけない|しないで|絶対に|厳禁",
    ]),
    (Cue::Preference, [
        "only|should|avoid|prefer|at most|at least|no more than|keep",
        "只|仅|避免|应该|最多|至少|不能",
        "nur|sollte|vermeide|höchstens|mindestens",
        "solo|sólo|evitar|como máximo|al menos",
        "seulement|éviter|au plus|au moins|devrait",
        "のみ|だけ|べき|避け|以内",
    ]),
    (Cue::Decision, [
        "decided|decision|we'll use|i'll use|let's use|let's go|go with|going with|use…instead of\
         |using…instead of|do…instead of|take…instead of|agreed|we settled on|i settled on|chose\
         |the plan is",
        "决定|采用|选择|改用|方案|同意",
        "entschieden|stattdessen|wir nehmen|einigen uns",
        "decidimos|decidido|usar…en lugar de|usamos…en lugar de|acordado",
        "décidé|utiliser…au lieu de|on prend…au lieu de|on va utiliser|d'accord",
        "に決め|ことにし|採用|代わりに",
    ]),
    (Cue::Done, [
        "fixed|added|implemented|updated|created|removed|renamed|refactored|committed|pushed\
         |merged|all tests pass|tests pass|completed",
        "已经|完成了|修复了|添加了|已修复|已添加|通过了",
        "behoben|hinzugefügt|erledigt|fertig",
        "arreglado|añadido|terminado|corregido",
        "corrigé|ajouté|terminé|fait",
        "修正しました|追加しました|完了|しました",
    ]),
    (Cue::Open, [
        "todo|fixme|next step|next steps|next:|remaining:|remaining work|remains to|still need\
         |still needs|not yet|left to do|follow-up|pending|unresolved|still open|^open:|^open from\
         |open question|open questions|to be settled|to be decided|nothing was decided|not decided",
        "待办|下一步|接下来|还需要|尚未|未完成|待定",
        "als nächstes|noch offen|fehlt noch|noch nicht|zu klären",
        "falta|pendiente|siguiente paso|todavía no|por decidir",
        "reste à|prochaine étape|pas encore|à décider",
        "次に|残り|未対応|これから|未定",
    ]),
    (Cue::Finding, [
        "because|root cause|the issue|the problem|turns out|found|confirmed|important|note that\
         |works|fails|the bug",
        "原因|发现|因为|问题是|注意",
        "weil|ursache|gefunden|wichtig",
        "porque|la causa|encontré|importante",
        "parce que|la cause|trouvé",
        "見つ|ため|重要",
    ]),
    (Cue::Announcement, [
        "^let me|^now let|^i'll|^now i|^first, let|^let's|^i will|^i need to",
        "^让我|^我先|^我来",
        "^lass mich|^ich werde",
        "^voy a|^vamos a",
        "^je vais",
        "^まず",
    ]),
];

/// The beginnings of lines in tool output that report a failure, in lower case.
#[rustfmt::skip]
const FAILURES: [&str; 15] = [
    "error", "fatal", "panic", "fail", "--- fail", "traceback", "exception", "err!", "npm err",
    "e   ", "✗", "✘", "undefined", "cannot", "conflict",
];

/// Words that label a finding of a reviewer, with a number or without: `Finding 2: …`. In lower case.
const FINDING_LABELS: [&str; 16] = [
    "finding", "issue", "problem", "defect", "bug", "blocker", "nit", "concern", "befund",
    "hallazgo", "constat", "发现", "问题", "指摘", "fehler", "problema",
];

/// The beginnings of verdicts of one word, in lower case.
#[rustfmt::skip]
const VERDICTS: [&str; 13] = [
    "approved", "not approved", "lgtm", "accepted", "rejected", "changes requested",
    "looks good to me", "genehmigt", "aprobado", "approuvé", "批准", "承認", "abgelehnt",
];

/// The maximum length of a verdict and the text after it.
const VERDICT_MAX: usize = 120;

/// The maximum distance from the start of a sentence that counts as near.
const EARLY: usize = 24;

pub(super) struct Cues(Vec<(Cue, Finder<'static>, Position)>);

enum Position {
    Start,
    WholeWord,
    Early,
    Anywhere,
    /// Before this second text. Both must be whole words.
    Before(Box<Finder<'static>>),
}

impl Cues {
    pub(super) fn new() -> Self {
        let cues = TABLES.iter().flat_map(|(cue, languages)| {
            languages.iter().flat_map(|words| words.split('|')).map(|word| (*cue, word))
        });
        let finders = cues.map(|(cue, word)| {
            if let Some((first, second)) = word.split_once('…') {
                return (cue, Finder::new(first), Position::Before(Box::new(Finder::new(second))));
            }
            match word.strip_prefix('^') {
                Some(start) => (cue, Finder::new(start), Position::Start),
                // Completed work is named at the start of a sentence. The same word later in it is usually about
                // something else.
                None if cue == Cue::Done && spaced(word) => {
                    (cue, Finder::new(word), Position::Early)
                }
                None if spaced(word) => (cue, Finder::new(word), Position::WholeWord),
                None => (cue, Finder::new(word), Position::Anywhere),
            }
        });
        Self(finders.collect())
    }

    /// Returns the possible kinds of this sentence; `small` is its beginning in lower case.
    pub(super) fn classify(&self, small: &str) -> Found {
        let mut found = Found::default();
        for (cue, finder, position) in &self.0 {
            if !found.has(*cue) && matches(small, finder, position) {
                found.0 |= 1 << *cue as u8;
            }
        }
        found
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found(u8);

impl Found {
    pub(super) fn has(self, cue: Cue) -> bool {
        self.0 & (1 << cue as u8) != 0
    }
}

/// Returns whether the script of this cue has spaces between words.
fn spaced(word: &str) -> bool {
    word.chars().all(|letter| (letter as u32) < 0x2E80)
}

fn matches(small: &str, finder: &Finder<'_>, position: &Position) -> bool {
    let (text, needle) = (small.as_bytes(), finder.needle());
    match position {
        Position::Anywhere => finder.find(text).is_some(),
        Position::Early => {
            finder.find(text).is_some_and(|at| at < EARLY && is_whole(text, at, needle.len()))
        }
        Position::Start => text.starts_with(needle),
        Position::WholeWord => finder.find(text).is_some_and(|at| is_whole(text, at, needle.len())),
        // The second part is rarer, so searching for it first rejects most sentences quickly.
        Position::Before(second) => second.find(text).is_some_and(|until| {
            is_whole(text, until, second.needle().len())
                && finder.find_iter(&text[..until]).any(|at| is_whole(text, at, needle.len()))
        }),
    }
}

/// Returns whether this piece begins and ends at word boundaries.
fn is_whole(text: &[u8], at: usize, length: usize) -> bool {
    let edge = |byte: Option<&u8>| {
        byte.is_none_or(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80))
    };
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    edge(before) && edge(text.get(at + length))
}

pub(super) fn is_labelled_finding(small: &str) -> bool {
    FINDING_LABELS.iter().filter_map(|label| small.strip_prefix(label)).any(|rest| {
        let number = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '#' | '.' | '*');
        rest.trim_start_matches(number).starts_with([':', '：'])
    })
}

pub(super) fn is_verdict(small: &str) -> bool {
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c == ' ' || c == '_' || c.is_alphanumeric());
    small.len() <= VERDICT_MAX
        && !small.ends_with(['?', '？'])
        && VERDICTS.iter().filter_map(|verdict| small.strip_prefix(verdict)).any(ends)
}

/// Returns whether a line only counts changed lines, as the output of `git diff --stat` does.
pub(super) fn counts_changes(line: &str) -> bool {
    if let Some((_, counted)) = line.rsplit_once(" | ") {
        let mut words = counted.split_whitespace();
        let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_bar = |word: &str| word.bytes().all(|byte| matches!(byte, b'+' | b'-'));
        return match words.next() {
            Some("Bin") => true,
            Some(count) if is_count(count) => words.all(is_bar),
            _ => false,
        };
    }
    let is_total = line.contains(" file changed") || line.contains(" files changed");
    is_total && line.starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn states_failure(line: &str) -> bool {
    let line = line.trim_start();
    FAILURES.iter().any(|start| {
        line.as_bytes()
            .get(..start.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_cues() {
        let cues = Cues::new();
        for (sentence, cue) in [
            ("you must run it", Cue::Rule),
            ("必须通过测试", Cue::Rule),
            ("das darf nicht fehlen", Cue::Rule),
            ("nunca borres esto", Cue::Rule),
            ("ne touchez jamais ce fichier", Cue::Rule),
            ("必ず確認", Cue::Rule),
            ("we decided to wait", Cue::Decision),
            ("接下来写文档", Cue::Open),
            ("das ist noch offen", Cue::Open),
            ("i fixed the test", Cue::Done),
            ("weil es regnet", Cue::Finding),
        ] {
            assert!(cues.classify(sentence).has(cue), "{sentence}");
        }
    }

    #[test]
    fn a_cue_is_a_whole_word() {
        let cues = Cues::new();
        assert_eq!(cues.classify("mustard and nevermore"), Found::default());
        assert!(!cues.classify("well, i don't know").has(Cue::Rule));
        assert!(cues.classify("don't push").has(Cue::Rule));
    }

    #[test]
    fn a_comparison_is_no_decision_and_what_is_to_be_settled_is_open() {
        let cues = Cues::new();
        for sentence in [
            "the files grew: 412,000 lines instead of 309,000.",
            "it returns none instead of an error",
            "because of it we do that",
            "to be settled on friday: the size",
        ] {
            assert!(!cues.classify(sentence).has(Cue::Decision), "{sentence}");
        }
        for sentence in ["we use a clock instead of a timer", "we settled on batches of 500"] {
            assert!(cues.classify(sentence).has(Cue::Decision), "{sentence}");
        }
        for sentence in ["to be settled on friday: the size", "one thing is still open: the disks"]
        {
            assert!(cues.classify(sentence).has(Cue::Open), "{sentence}");
        }
    }

    #[test]
    fn findings_and_verdicts_are_known_by_their_first_words() {
        for small in
            ["finding 1: no test", "issue #2: x", "nit: blank", "问题1：没有测试", "bug: y"]
        {
            assert!(is_labelled_finding(small), "{small}");
        }
        for small in ["finding it took long", "issues: a", "a finding 1: b", "problem solved"] {
            assert!(!is_labelled_finding(small), "{small}");
        }
        for small in ["approved", "approved.", "lgtm!", "approved, thanks", "批准。"] {
            assert!(is_verdict(small), "{small}");
        }
        for small in ["approved by nobody", "approved?", "accepted formats are json", "lgtmx"] {
            assert!(!is_verdict(small), "{small}");
        }
    }

    #[test]
    fn lines_that_count_changes_are_known() {
        for line in
            ["calc.py | 3 +++", "a/{b => c}.rs |   12 ++++--", "x.png | Bin 0 -> 4 bytes", "d | 0"]
        {
            assert!(counts_changes(line), "{line}");
        }
        assert!(counts_changes("2 files changed, 5 insertions(+)"));
        for line in ["use a | b", "a | 3 apples", "we have 2 files changed", "x || 3"] {
            assert!(!counts_changes(line), "{line}");
        }
    }

    #[test]
    fn failures_are_told_at_the_start_of_a_line() {
        assert!(states_failure("  error[E0499]: cannot borrow"));
        assert!(states_failure("FAIL\tpkg"));
        assert!(!states_failure("12→ // error handling"));
    }
}
