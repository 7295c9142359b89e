//! The clauses of a query. A request often asks for several things and explains why in between. A tool that does one of
//! them resembles the clause that asks for it more than the whole request.

use crate::query::Query;
use crate::text::is_stop;

/// The most clauses that are considered. Requests for more than four tools are rare.
pub(crate) const MAX_CLAUSES: usize = 8;

/// The fewest words of a clause, not counting stop words: a single word is too ambiguous.
const MIN_WORDS: usize = 2;

/// The punctuation marks that end a clause, unless a word continues directly behind them.
const MARKS: [char; 12] = ['.', ',', ';', ':', '?', '!', '\n', '。', '，', '；', '：', '、'];

/// The word that begins another clause. The embedding models that benefit from clauses are English.
const LINK: &str = "and";

/// Returns the first [`MAX_CLAUSES`] clauses of a query, or nothing if the query is a single clause.
pub(crate) fn clauses<'a>(query: &Query<'a>) -> Vec<&'a str> {
    let mut clauses: Vec<&str> = Vec::new();
    let mut open: Option<(usize, usize, usize)> = None;
    let mut close = |open: Option<(usize, usize, usize)>| {
        if let Some((start, end, words)) = open
            && words >= MIN_WORDS
            && clauses.len() < MAX_CLAUSES
        {
            clauses.extend(query.text.get(start..end));
        }
    };
    for word in &query.words {
        let end = open.map_or(word.start, |(_, end, _)| end);
        let between = query.text.get(end..word.start).unwrap_or_default();
        // Tokens such as `3.5` and `math.sqrt` are not split.
        let is_new = between.contains(MARKS) && (between.chars().count() > 1 || word.unspaced);
        if is_new || word.text == LINK {
            close(open.take());
        }
        if word.text == LINK {
            continue;
        }
        let (start, _, words) = open.unwrap_or((word.start, word.start, 0));
        open = Some((start, word.end, words + usize::from(!is_stop(word))));
    }
    let is_whole =
        open.is_some_and(|(start, _, _)| query.words.first().is_some_and(|word| word.start == start));
    close(open);
    if is_whole { Vec::new() } else { clauses }
}
