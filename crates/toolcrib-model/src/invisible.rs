//! Characters that nobody sees.

/// Whether a character is a control character, or a format character of Unicode that shows nothing or turns the
/// direction of text: bidirectional controls, zero-width characters, fillers, tags. They make two names look alike, and
/// text from outside say another thing than it shows.
///
/// ```
/// assert!(toolcrib_model::is_invisible('\u{200B}'));
/// assert!(!toolcrib_model::is_invisible('é'));
/// ```
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5
            | 0x180B..=0x180F | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Whether an [invisible](is_invisible) character has its use in texts, if not in names: the zero-width joiners, which
/// Persian and emoji need, and the two presentation selectors.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}')
}
