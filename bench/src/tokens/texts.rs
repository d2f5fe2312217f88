//! Generates texts to count, of any length and the same in every run. Prose, code and Japanese are as varied as
//! real texts, so that no encoder only looks up words in its cache. Independent of tokenizers.

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    Code,
    Japanese,
    /// Random letters without a space.
    Letters,
    /// One piece, repeated.
    Repeated(&'static str),
}

impl Kind {
    /// Returns at least this many bytes of it.
    pub(super) fn text(self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 100);
        let mut dice = Dice(0x5eed);
        while text.len() < bytes {
            match self {
                Self::Prose => push_sentence(&mut text, &mut dice),
                Self::Code => push_statement(&mut text, &mut dice),
                Self::Japanese => push_clause(&mut text, &mut dice),
                Self::Letters => text.push(dice.letter()),
                Self::Repeated(piece) => text.push_str(piece),
            }
        }
        text
    }
}

/// A generator of a fixed sequence of numbers (a linear congruential generator; only its high bits are random
/// enough).
struct Dice(u64);

impl Dice {
    /// Returns a number below this one.
    fn below(&mut self, end: usize) -> usize {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn one_of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    fn letter(&mut self) -> char {
        char::from(b"abcdefghijklmnopqrstuvwxyz"[self.below(26)])
    }
}

/// Words that every text repeats.
const SMALL: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "that", "is", "it", "for", "as", "with", "on", "was",
    "be", "by", "this", "are", "or", "an", "not", "from", "at", "have", "but", "which", "has",
    "one", "can", "more", "if", "we", "their", "what", "when", "so", "into", "no", "would", "only",
    "its", "about", "them", "then", "some", "these", "after", "other", "over", "any", "may",
    "such", "most", "where", "also",
];

/// Words that are combined with various endings.
const STEMS: &[&str] = &[
    "account", "build", "call", "change", "claim", "compact", "count", "cover", "describe",
    "discover", "doubt", "draw", "engine", "expect", "fact", "field", "form", "garden", "govern",
    "hand", "history", "hotel", "inform", "journey", "keep", "letter", "light", "list", "machine",
    "measure", "memory", "mention", "message", "method", "model", "move", "nation", "note",
    "number", "offer", "open", "order", "paper", "pattern", "people", "place", "plan", "point",
    "power", "present", "press", "question", "reach", "reason", "record", "relate", "report",
    "request", "return", "river", "school", "search", "sentence", "session", "state", "store",
    "story", "strange", "surface", "table", "teach", "tender", "thought", "token", "travel",
    "turn", "value", "water", "weather", "window", "word", "work", "world",
];

const ENDINGS: &[&str] = &["s", "ed", "ing", "er", "ers", "ly", "ness", "ful", "able", "ment"];

/// The syllables of names and rare words.
const SYLLABLES: &[&str] = &[
    "ba", "ber", "cal", "den", "dor", "el", "fen", "gra", "hol", "is", "jan", "kel", "lor", "mar",
    "nis", "or", "pel", "qui", "ras", "sto", "tan", "ul", "ver", "wyn", "xa", "yor", "zim",
];

#[rustfmt::skip]
const KANJI: &[&str] = &[
    "会話", "記録", "文章", "言葉", "時間", "問題", "方法", "結果", "開発", "情報", "日本", "東京", "世界", "人間",
    "社会", "必要", "関係", "場合", "計算", "設計", "長い", "新しい", "大きな", "小さな", "同じ", "次", "前", "後",
    "中", "上", "私", "彼", "何", "今", "本", "水", "山", "川", "道", "車", "店", "駅",
    "電", "気", "心", "手", "目", "体", "食", "読", "書", "見", "聞", "思", "考", "使",
    "作", "送", "続", "始", "終", "変", "増", "減",
];

#[rustfmt::skip]
const PARTICLES: &[&str] = &[
    "は", "が", "を", "に", "で", "と", "も", "の", "から", "まで", "より", "へ", "や", "など",
    "です", "ます", "した", "して", "いる", "ある", "れば", "けれど",
];

fn push_sentence(text: &mut String, dice: &mut Dice) {
    let begin = text.len();
    for number in 0..6 + dice.below(14) {
        if number > 0 {
            text.push_str(if dice.below(12) == 0 { ", " } else { " " });
        }
        push_word(text, dice);
    }
    if let Some(first) = text.get_mut(begin..=begin) {
        first.make_ascii_uppercase();
    }
    text.push_str(match dice.below(12) {
        0 => "?\n\n",
        1..4 => ".\n",
        _ => ". ",
    });
}

fn push_word(text: &mut String, dice: &mut Dice) {
    match dice.below(20) {
        0..9 => text.push_str(dice.one_of(SMALL)),
        9..12 => text.push_str(dice.one_of(STEMS)),
        12..17 => {
            text.push_str(dice.one_of(STEMS));
            text.push_str(dice.one_of(ENDINGS));
        }
        17 => text.push_str(&dice.below(10_000).to_string()),
        _ => push_name(text, dice),
    }
}

fn push_name(text: &mut String, dice: &mut Dice) {
    for _ in 0..2 + dice.below(3) {
        text.push_str(dice.one_of(SYLLABLES));
    }
}

fn push_statement(text: &mut String, dice: &mut Dice) {
    let indent = "    ".repeat(1 + dice.below(4));
    let [target, object, method] = [(); 3].map(|()| {
        let mut name = dice.one_of(STEMS).to_owned();
        if dice.below(2) == 0 {
            name.push('_');
            push_name(&mut name, dice);
        }
        name
    });
    let number = dice.below(1_000);
    text.push_str(&match dice.below(6) {
        0 => format!("{indent}let {target} = {object}.{method}({number})?;\n"),
        1 => format!("{indent}if {target}.{method}() > {number} {{\n"),
        2 => format!("{indent}}}\n\n"),
        3 => format!("{indent}// {target} {object}: 0x{number:04x}\n"),
        4 => format!("{indent}self.{target}.push(\"{object}/{method}.rs:{number}\");\n"),
        _ => format!("{indent}\"{target}\": [{number}, \"{object}\", null],\n"),
    });
}

fn push_clause(text: &mut String, dice: &mut Dice) {
    for _ in 0..2 + dice.below(5) {
        text.push_str(dice.one_of(KANJI));
        text.push_str(dice.one_of(PARTICLES));
    }
    text.push_str(match dice.below(8) {
        0 => "。\n",
        1..4 => "。",
        _ => "、",
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_text_is_the_same_each_time_and_long_enough() {
        for kind in [Kind::Prose, Kind::Code, Kind::Japanese, Kind::Letters, Kind::Repeated("é")] {
            let text = kind.text(5_000);
            assert!((5_000..5_500).contains(&text.len()), "{kind:?}");
            assert_eq!(text, kind.text(5_000));
        }
    }

    #[test]
    fn a_longer_text_begins_with_the_shorter_one() {
        assert!(Kind::Prose.text(9_000).starts_with(&Kind::Prose.text(3_000)));
    }

    #[test]
    fn no_sentence_of_prose_is_said_twice_and_words_stay_new() {
        let text = Kind::Prose.text(1_000_000);
        let mut sentences = HashSet::new();
        assert!(text.split_inclusive(['.', '?']).all(|sentence| sentences.insert(sentence)));
        let words = |text| str::split_whitespace(text).collect::<HashSet<_>>().len();
        assert!(words(&text) > 20_000, "{}", words(&text));
    }
}
