//! What look-ups must know of scripts. Recall and the search of stores cut texts alike, or what one finds
//! the other would miss.

/// Whether a script writes words without blanks between them, or joins them so freely that pairs of
/// characters find more: Thai to Khmer, Kana, Han, Hangul.
pub fn is_dense(one: char) -> bool {
    matches!(u32::from(one),
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3040..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFF)
}
