//! Descriptions on one line, shortened for a list.

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "vs", "cf", "approx", "incl", "excl", "esp", "resp", "mr", "mrs", "ms", "dr", "prof"];

/// Returns the text with each run of white space as one space.
pub fn fold_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a text on one line.
pub fn first_sentence(line: &str) -> &str {
    let ends = line.match_indices(['.', '!', '?', '。', '！', '？']);
    for (at, mark) in ends {
        let (before, after) =
            (line.get(..at).unwrap_or_default(), line.get(at + mark.len()..).unwrap_or_default());
        if mark.len() > 1 {
            return line.get(..at + mark.len()).unwrap_or(line);
        }
        let closes = after.trim_start_matches(['"', '\'', ')', ']', '*', '_', '`']);
        if !closes.is_empty() && !closes.starts_with(' ') {
            continue;
        }
        if mark == "." && is_abbreviation(before, closes.trim_start()) {
            continue;
        }
        return line.get(..line.len() - closes.len()).unwrap_or(line);
    }
    line
}

/// Returns true if the full stop after `before` belongs to its last word, given the text that follows.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let word = before.rsplit([' ', '(', '[', '"', '\'', '/']).next().unwrap_or_default();
    // A sentence continues in lower case.
    let goes_on = after.chars().next().is_some_and(char::is_lowercase);
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    // `U.S.` may also end a sentence, but it is always taken for an abbreviation.
    let is_dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    goes_on || is_initial || is_dotted || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Returns the first characters, with an ellipsis if the text is longer, cut between words if a word ends nearby.
pub fn ellipsize_words(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    let is_between_words = text.get(end..).is_some_and(|rest| rest.starts_with(' '));
    let words = head.rfind(' ').filter(|at| !is_between_words && *at > head.len() / 2);
    let head = words.and_then(|at| head.get(..at)).unwrap_or(head);
    format!("{}…", head.trim_end_matches([' ', ',', ';', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_goes_on_behind_abbreviations_versions_and_initials() {
        let table = [
            ("Reads a file. Returns text.", "Reads a file."),
            ("Reads a file (e.g. a log). Returns text.", "Reads a file (e.g. a log)."),
            ("Reads files, e.g. Logs, i.e. Text. More.", "Reads files, e.g. Logs, i.e. Text."),
            ("Lists pods, jobs, etc. of a node. More.", "Lists pods, jobs, etc. of a node."),
            ("Uses API v1.2 of U.S. Customs. More.", "Uses API v1.2 of U.S. Customs."),
            ("Calls math.sqrt on it. More.", "Calls math.sqrt on it."),
            ("Is it there? Says so.", "Is it there?"),
            ("Says \"done.\" More.", "Says \"done.\""),
            ("查找航班。然后预订。", "查找航班。"),
            ("No stop", "No stop"),
            ("", ""),
        ];
        for (text, sentence) in table {
            assert_eq!(first_sentence(text), sentence);
        }
    }

    #[test]
    fn texts_are_cut_between_words() {
        assert_eq!(ellipsize_words("one two three", 9), "one two…");
        assert_eq!(ellipsize_words("one two three", 7), "one two…");
        assert_eq!(ellipsize_words("one two", 7), "one two");
        assert_eq!(ellipsize_words("abcdefghij", 4), "abcd…");
        assert_eq!(ellipsize_words("äöü", 2), "äö…");
    }
}
