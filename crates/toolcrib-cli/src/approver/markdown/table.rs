//! Tables, with columns that line up.

use super::inline::inline;

/// The most columns of a table that is aligned.
const MAX_COLUMNS: usize = 12;

/// The most characters that a column is made wide; longer cells are shown whole and push the rest of their row.
const MAX_COLUMN_CHARS: usize = 40;

/// The most rows of a table that is aligned.
const MAX_ROWS: usize = 500;

/// Returns the lines behind the head of a table, its rule among them; `None` where this line is no head.
pub(super) fn rows<'a>(head: &str, rest: &[&'a str]) -> Option<Vec<&'a str>> {
    let rule = rest.first()?;
    let columns = cells(head).len();
    if !head.contains('|') || !is_rule(rule) || cells(rule).len() != columns || columns > MAX_COLUMNS {
        return None;
    }
    let rows = rest.iter().copied().take(MAX_ROWS + 1).take_while(|line| line.contains('|'));
    let rows: Vec<&str> = rows.collect();
    (rows.len() <= MAX_ROWS).then_some(rows)
}

fn is_rule(line: &str) -> bool {
    line.contains("--") && line.contains('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// Shows a table: its head, a rule, and its rows.
pub(super) fn aligned(head: &str, rows: &[&str]) -> Vec<String> {
    let body = rows.iter().skip(1).map(|row| shown(row));
    let table: Vec<Vec<String>> = std::iter::once(shown(head)).chain(body).collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &table {
        for (at, cell) in row.iter().enumerate() {
            let width = cell.chars().count().min(MAX_COLUMN_CHARS);
            match widths.get_mut(at) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    let mut lines: Vec<String> = table.iter().map(line).collect();
    lines.insert(1.min(lines.len()), rule);
    lines
}

fn shown(row: &str) -> Vec<String> {
    cells(row).into_iter().take(MAX_COLUMNS).map(inline).collect()
}

/// The cells of a row, split at each `|` that is not escaped.
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
