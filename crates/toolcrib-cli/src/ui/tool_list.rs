//! The list of tools for people, laid out for the terminal.

use super::printable::{Layout, printable};
use super::width::{fit, width};

/// The columns between two cells.
const GAP: usize = 2;

/// The least width of a description.
const MIN_DESCRIPTION: usize = 24;

/// The widest decision where the terminal has an end.
const MAX_POLICY: usize = 18;

/// A tool as people see it in a list.
pub(crate) struct ToolRow {
    pub(crate) name: String,
    pub(crate) risk: String,
    pub(crate) policy: String,
    pub(crate) description: String,
}

/// Returns the lines of a list, with a head. No line has more than `columns`, where there is an end; a name that is too long
/// has a line for itself, and a name alone may be longer than all.
pub(crate) fn tool_lines(rows: &[ToolRow], columns: Option<usize>) -> Vec<String> {
    let cells = |row: &ToolRow| {
        let policy = printable(&row.policy, Layout::Line);
        let policy = if columns.is_some() { fit(&policy, MAX_POLICY) } else { policy };
        [
            printable(&row.name, Layout::Line),
            row.risk.clone(),
            policy,
            printable(&row.description, Layout::Line),
        ]
    };
    let head = ["tool", "risk", "policy", "description"].map(str::to_owned);
    let lines: Vec<[String; 4]> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let widest =
        |cell: fn(&[String; 4]) -> &String| lines.iter().map(|line| width(cell(line))).max().unwrap_or(0);
    let (risk, policy) = (widest(|[_, risk, ..]| risk), widest(|[_, _, policy, _]| policy));
    let room = columns.map(|columns| columns.saturating_sub(risk + policy + 3 * GAP));
    let name =
        widest(|[name, ..]| name).min(room.map_or(usize::MAX, |room| room.saturating_sub(MIN_DESCRIPTION)));
    let room = room.map_or(usize::MAX, |room| room.saturating_sub(name));
    let mut text = Vec::with_capacity(lines.len());
    for [its_name, its_risk, its_policy, description] in &lines {
        let mut its_name = its_name.as_str();
        if width(its_name) > name {
            text.push(its_name.to_owned());
            its_name = "";
        }
        let (its_name, its_risk) = (padded(its_name, name), padded(its_risk, risk));
        let (its_policy, description) = (padded(its_policy, policy), fit(description, room));
        text.push(format!("{its_name}  {its_risk}  {its_policy}  {description}").trim_end().to_owned());
    }
    text
}

/// Returns a cell with the spaces up to the next one.
fn padded(cell: &str, columns: usize) -> String {
    format!("{cell}{:1$}", "", columns.saturating_sub(width(cell)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<ToolRow> {
        let row = |name: &str, policy: &str, description: &str| ToolRow {
            name: name.into(),
            risk: "low".into(),
            policy: policy.into(),
            description: description.into(),
        };
        vec![
            row("files.read", "grant", "Reads a text file, from a line on, and says how long it is in all."),
            row("shell.run", "grant (if /argv/0 is \"git\")", "Runs a program."),
            row(
                "a_long_namespace.with_a_tool_that_has_a_long_name",
                "approve",
                "Sends 你好 to a person whom you name.",
            ),
        ]
    }

    #[test]
    fn a_list_fits_80_columns_and_shows_each_name_whole() {
        let lines = tool_lines(&rows(), Some(80));
        assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_list_for_a_program_has_one_line_for_each_tool_and_cuts_nothing() {
        let rows = rows();
        let lines = tool_lines(&rows, None);
        assert_eq!(lines.len(), rows.len() + 1);
        for (row, line) in rows.iter().zip(&lines[1..]) {
            assert!(line.starts_with(&row.name) && line.ends_with(&row.description), "{line}");
        }
    }

    #[test]
    fn a_cell_stays_in_its_line() {
        let mut rows = rows();
        rows[0].description = "a\u{1b}[2J\nb".into();
        assert!(tool_lines(&rows, None)[1].ends_with(r"a\u{1b}[2J\u{a}b"));
    }
}
