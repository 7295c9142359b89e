//! Widths of text, in columns of the terminal.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The width of a terminal that does not say it.
const DEFAULT_WIDTH: usize = 80;

/// The least width that text is laid out for.
const MIN_WIDTH: usize = 20;

/// Returns the number of columns of the terminal.
pub(crate) fn terminal_width() -> usize {
    columns().filter(|columns| *columns > 0).unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH)
}

#[cfg(unix)]
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stdout()));
    size.ok().map(|size| size.ws_col.into())
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Returns the columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the beginning of a line that fits; a line that is cut ends with `…`.
pub(crate) fn fit(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut fitted = String::new();
    let mut used = 1;
    for c in line.chars() {
        used += c.width().unwrap_or_default();
        if used > columns {
            break;
        }
        fitted.push(c);
    }
    fitted.push('…');
    fitted
}

/// Returns the text with line ends in place of the spaces at which its lines exceed this many columns. A longer word stays
/// whole.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut used = 0;
    for word in text.split_inclusive([' ', '\n']) {
        if used > 0 && used + word.trim_end().width() > columns {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            used = 0;
        }
        lines.push_str(word);
        used = if word.ends_with('\n') { 0 } else { used + word.width() };
    }
    lines
}

/// Returns the lines of a text that is broken between words, each with one space between its words. A word that is wider
/// than a line has a line for itself.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    wrapped(&words.join(" "), columns).split('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_a_long_word_stays_whole() {
        assert_eq!(wrapped("ab cd ef ", 5), "ab cd\nef ");
        assert_eq!(wrapped("ab cd ", 5), "ab cd ");
        assert_eq!(wrapped("ab\ncd ef", 5), "ab\ncd ef");
        assert_eq!(wrapped("a abcdefgh b", 4), "a\nabcdefgh\nb");
    }

    #[test]
    fn a_line_is_cut_by_columns_and_not_by_characters() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("你好吗", 6), "你好吗");
        assert_eq!(fit("你好吗", 5), "你好…");
        assert_eq!(fit("你好吗", 4), "你…");
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a wonderful word", 4), ["a", "wonderful", "word"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
