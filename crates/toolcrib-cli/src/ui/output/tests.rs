//! Tables and lines.

use super::{first_line, table_lines};

#[test]
fn a_cell_stays_in_its_row_and_column() {
    let rows = [["a\u{1b}[2J".to_owned(), "x\ny".to_owned()], ["b".to_owned(), "z".to_owned()]];
    let lines = table_lines(&["tool", "more"], &rows);
    assert_eq!(lines, ["tool        more", r"a\u{1b}[2J  x\u{a}y", "b           z"]);
}

#[test]
fn a_long_first_line_is_shortened() {
    assert_eq!(first_line("one\ntwo"), "one");
    assert_eq!(first_line(&"x".repeat(71)).chars().count(), 70);
}
