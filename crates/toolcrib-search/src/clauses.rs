//! The clauses of a query. A request often asks for several things, and says in between why: a tool that does one of them
//! is like the clause that asks for it, and not much like the whole.

use crate::query::Query;
use crate::text::is_stop;

/// The most clauses that are looked at; requests that ask for more than four tools are rare.
pub(crate) const MAX_CLAUSES: usize = 8;

/// The fewest words of a clause, those of asking aside: a single word means too much.
const MIN_WORDS: usize = 2;

/// The marks that end a clause where no word goes on behind them.
const MARKS: [char; 12] = ['.', ',', ';', ':', '?', '!', '\n', '。', '，', '；', '：', '、'];

/// The word that begins another clause; the models that do well with clauses are English.
const LINK: &str = "and";

/// The clauses of a query, the first [`MAX_CLAUSES`]; none where the query is one clause itself.
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
        // `3.5` and `math.sqrt` are one thing.
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
