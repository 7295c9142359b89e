//! Tables.

/// The most columns of a table.
const MAX_COLUMNS: usize = 12;

/// The most rows of a table.
const MAX_ROWS: usize = 500;

/// Returns the rows of a table, its head among them, and how many lines behind the head belong to it; `None` where this
/// line is no head.
pub(super) fn table<'a>(head: &'a str, rest: &[&'a str]) -> Option<(Vec<Vec<&'a str>>, usize)> {
    let rule = rest.first()?;
    let columns = cells(head).len();
    if !head.contains('|') || !is_rule(rule) || cells(rule).len() != columns || columns > MAX_COLUMNS {
        return None;
    }
    let len = rest.iter().take(MAX_ROWS + 1).take_while(|line| line.contains('|')).count();
    let body = rest.iter().take(len).skip(1).copied();
    let rows = std::iter::once(head).chain(body).map(|row| {
        let mut cells = cells(row);
        cells.truncate(MAX_COLUMNS);
        cells
    });
    (len <= MAX_ROWS).then(|| (rows.collect(), len))
}

fn is_rule(line: &str) -> bool {
    line.contains("--") && line.contains('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// Returns the cells of a row, split at each `|` that is not escaped.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|row| !row.ends_with('\\')).unwrap_or(row);
    let mut cells = Vec::new();
    let (mut from, mut escaped) = (0, false);
    for (at, c) in row.char_indices() {
        if c == '|' && !escaped {
            cells.push(row.get(from..at).unwrap_or_default().trim());
            from = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    cells.push(row.get(from..).unwrap_or_default().trim());
    cells
}
