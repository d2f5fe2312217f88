//! Finds text that looks like a marker or a mention but is not one: other brackets, other alphabets, invisible
//! characters, misplaced spaces. Such text addresses nobody. A note reports it, because it may be a typing error or
//! an attack. The text is normalised to its appearance and parsed again, so code and quotes are skipped here too.

use tertulia_context::{Authorship, Markers, authorship_of, parse_markers};

use super::mention::{self, Mention, Names};
use super::without_item;
use crate::roster::{Resolved, Roster};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookAlike {
    pub(crate) marker: &'static str,
    pub(crate) name: Box<str>,
}

const TOLD_MAX: usize = 20;

pub(super) fn find(text: &str, roster: &Roster) -> Vec<LookAlike> {
    let mut found = unbracketed(text, roster);
    let plain = plain(text);
    if plain == text {
        return found;
    }
    let (markers, looks) = (&parse_markers(text), parse_markers(&plain));
    let names = |markers: &Markers| markers.next.iter().map(|n| n.name.clone()).collect::<Vec<_>>();
    add(&mut found, "[NEXT: …]", names(&looks), &names(markers));
    add(&mut found, "[DROP: …]", looks.drop.clone(), &markers.drop);
    add(&mut found, "[FROM: …]", looks.from.iter().cloned().collect(), markers.from.as_slice());
    let tasks = looks.team_task.iter().cloned().collect();
    add(&mut found, "[TEAM_TASK: …]", tasks, markers.team_task.as_slice());
    let seen = mention::find(&plain, &Names::map(roster, self::plain));
    let name = |mention: &Mention| roster.name(mention.index).to_owned();
    let known: Vec<String> = mention::find(text, &Names::new(roster)).iter().map(name).collect();
    add(&mut found, "@name", seen.iter().map(name).collect(), &known);
    found.truncate(TOLD_MAX);
    found
}

/// Finds lines that read `Next: name` without the brackets.
fn unbracketed(text: &str, roster: &Roster) -> Vec<LookAlike> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.trim_end().len();
        start += line.len();
        if lines.len() < TOLD_MAX && is_unbracketed(line, roster) {
            lines.push(range);
        }
    }
    // Ignore list bullets and emphasis.
    let bare = |line: &std::ops::Range<usize>| {
        let words = text[line.clone()].trim_start_matches(|c: char| !c.is_alphabetic());
        let start = line.end - words.len();
        start..start + words.trim_end_matches(['*', '_']).len()
    };
    let words = authorship_of(text, &lines.iter().map(bare).collect::<Vec<_>>());
    let own = lines.into_iter().zip(words).filter(|(_, words)| *words == Authorship::Own);
    let line = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().trim();
    own.map(|(range, _)| LookAlike { marker: "[NEXT: …]", name: super::excerpt(line(range)) })
        .collect()
}

/// Returns whether a line is the word "next", a colon and only names of members.
fn is_unbracketed(line: &str, roster: &Roster) -> bool {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '*' | '_');
    let line = without_item(line).unwrap_or(line).trim_start_matches(is_around);
    let Some((word, names)) = line.split_at_checked(4) else { return false };
    let names = names.trim_matches(|c| is_around(c) || c == '.');
    let Some(names) = names.strip_prefix(':').filter(|_| word.eq_ignore_ascii_case("next")) else {
        return false;
    };
    let is_member = |name: &str| {
        let name = name.trim_matches(is_around);
        name.len() <= super::EXCERPT_CHARS_MAX
            && !name.starts_with('@')
            && matches!(roster.resolve(name), Resolved::Member(_))
    };
    names.split(',').take(TOLD_MAX).all(is_member)
}

/// Adds the markers that occur more often in the normalised text than in the original.
fn add(found: &mut Vec<LookAlike>, marker: &'static str, seen: Vec<String>, read: &[String]) {
    let mut counts = std::collections::HashMap::new();
    for name in read {
        *counts.entry(plain(name)).or_insert(0_usize) += 1;
    }
    for name in seen {
        match counts.get_mut(&name) {
            Some(count) if *count > 0 => *count -= 1,
            _ => found.push(LookAlike { marker, name: super::excerpt(&name) }),
        }
    }
}

/// Normalises a text to its appearance. Replaces characters that look like ASCII characters, and removes invisible
/// characters and spaces after `[` and before the `:` of a marker. Never creates backticks, tildes, `>` or line
/// breaks, so code and quotes stay the same.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_invisible(*c)) {
        let c = as_it_looks(c);
        if is_blank(c) && plain.ends_with('[') {
            continue;
        }
        if c == ':' {
            let word = plain.trim_end_matches(is_blank);
            if word.len() < plain.len() && ends_in_marker_word(word) {
                plain.truncate(word.len());
            }
        }
        plain.push(c);
    }
    plain
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn ends_in_marker_word(text: &str) -> bool {
    let ends = |word: &str| {
        let start = text.len().checked_sub(word.len());
        start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    ["[NEXT", "[DROP", "[FROM", "[TEAM_TASK"].into_iter().any(ends)
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{300}'..='\u{36f}' | '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}'
        | '\u{7f}'
    )
}

fn as_it_looks(c: char) -> char {
    let code = u32::from(c);
    match c {
        ' '..='~' => c,
        '｀' | '～' | '＞' => c,
        '！'..='］' | '＿'..='｝' => char::from_u32(code - 0xfee0).unwrap_or(c),
        '【' | '〔' | '〖' | '〘' | '〚' | '⟦' | '⟨' | '⁅' | '❲' | '❴' | '⦋' | '⦍' | '⦏' | '﹝'
        | '︹' | '「' | '『' | '〈' | '《' | '⌈' | '⌊' | '︻' | '﹇' => '[',
        '】' | '〕' | '〗' | '〙' | '〛' | '⟧' | '⟩' | '⁆' | '❳' | '❵' | '⦌' | '⦎' | '⦐' | '﹞'
        | '︺' | '」' | '』' | '〉' | '》' | '⌉' | '⌋' | '︼' | '﹈' => ']',
        '﹕' | '︓' | 'ː' | '˸' | '։' | '׃' | '܃' | '܄' | '∶' | '꞉' | '⁚' | 'ꓽ' => {
            ':'
        }
        '﹫' => '@',
        '﹍' | '﹎' | '﹏' | '‿' => '_',
        // A Braille pattern without dots looks like a space.
        '\u{2800}' => ' ',
        blank if !blank.is_ascii() && blank.is_whitespace() => ' ',
        '\u{1d400}'..='\u{1d6a3}' => letter((code - 0x1d400) % 52),
        'Ⓐ'..='ⓩ' => letter(code - 0x24b6),
        '🄰'..='🅉' => letter(code - 0x1f130),
        '🅐'..='🅩' => letter(code - 0x1f150),
        '🅰'..='🆉' => letter(code - 0x1f170),
        '🇦'..='🇿' => letter(code - 0x1f1e6),
        _ => other_alphabet(c),
    }
}

fn letter(index: u32) -> char {
    let (first, index) = if index < 26 { (b'A', index) } else { (b'a', index - 26) };
    u8::try_from(index).map_or('?', |index| char::from(first.saturating_add(index)))
}

/// Maps letters of other alphabets that look like a Latin letter.
fn other_alphabet(c: char) -> char {
    match c {
        'А' | 'Α' | 'Ꭺ' | 'ᴀ' | 'ꓮ' => 'A',
        'В' | 'Β' | 'Ᏼ' | 'ꓐ' => 'B',
        'Ꭰ' | 'Ⅾ' | 'ᴅ' | 'ꓓ' | 'ⅅ' => 'D',
        'Е' | 'Ε' | 'Ꭼ' | 'ᴇ' | 'ꓰ' | 'ℰ' | '⋿' => 'E',
        'Ϝ' | 'ꜰ' | 'ꓝ' | 'ℱ' => 'F',
        'К' | 'Κ' | 'Ꮶ' | 'ᴋ' | 'ꓗ' | '\u{212a}' => 'K',
        'М' | 'Μ' | 'Ꮇ' | 'ᴍ' | 'Ⅿ' | 'ꓟ' | 'ℳ' => 'M',
        'Ν' | 'ɴ' | 'ꓠ' | 'ℕ' => 'N',
        'О' | 'Ο' | 'ᴏ' | 'ꓳ' | 'Օ' => 'O',
        'Р' | 'Ρ' | 'Ꮲ' | 'ᴘ' | 'ꓑ' | 'ℙ' => 'P',
        'Ꭱ' | 'ʀ' | 'ꓣ' | 'ℝ' | 'ℛ' | 'ℜ' => 'R',
        'Ѕ' | 'Ꮪ' | 'ꜱ' | 'ꓢ' | 'Տ' => 'S',
        'Т' | 'Τ' | 'Ꭲ' | 'ᴛ' | 'ꓔ' | '⊤' => 'T',
        'Х' | 'Χ' | 'Ⅹ' | 'ꓫ' | '᙭' | '╳' => 'X',
        'а' | 'α' | 'ɑ' => 'a',
        'ԁ' | 'ⅾ' => 'd',
        'е' | 'ҽ' | 'ℯ' => 'e',
        'і' | 'ι' | 'ⅰ' => 'i',
        'м' | 'ⅿ' => 'm',
        'ո' | 'п' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' | 'ſ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' | 'ⅴ' => 'v',
        'х' | 'ⅹ' | 'χ' | '×' => 'x',
        'у' | 'γ' => 'y',
        _ => c,
    }
}
