//! The differences between two texts, line by line.

/// The maximum number of pairs of lines that are compared. Beyond it, all old lines are removed and all new ones added.
const MAX_PAIRS: usize = 1_000_000;

/// The change of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// The line is in both texts.
    Kept,
    /// The line is in the old text only.
    Removed,
    /// The line is in the new text only.
    Added,
}

impl LineChange {
    /// Returns the mark of the change in a diff.
    pub fn mark(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// Returns the lines of both texts in order, with their changes.
pub fn line_diff<'a>(old: &'a str, new: &'a str) -> Vec<(LineChange, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    steps(&old, &new)
}

fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineChange, &'a str)> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (same, old, new) = (
        old.get(..start).unwrap_or_default(),
        old.get(start..).unwrap_or_default(),
        new.get(start..).unwrap_or_default(),
    );
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, after) = old.split_at(old.len() - end);
    let (new, _) = new.split_at(new.len() - end);
    let mut steps: Vec<(LineChange, &str)> = same.iter().map(|line| (LineChange::Kept, *line)).collect();
    steps.extend(middle(old, new));
    steps.extend(after.iter().map(|line| (LineChange::Kept, *line)));
    steps
}

/// Returns the longest common subsequence, walked.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineChange, &'a str)> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        let gone = old.iter().map(|line| (LineChange::Removed, *line));
        return gone.chain(new.iter().map(|line| (LineChange::Added, *line))).collect();
    }
    // How many lines can stay from each pair of places on.
    let mut table = vec![0_u32; (old.len() + 1) * width];
    let get =
        |table: &[u32], row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
    for (row, before) in old.iter().enumerate().rev() {
        for (column, after) in new.iter().enumerate().rev() {
            let best = if before == after {
                get(&table, row + 1, column + 1) + 1
            } else {
                get(&table, row + 1, column).max(get(&table, row, column + 1))
            };
            if let Some(place) = table.get_mut(row * width + column) {
                *place = best;
            }
        }
    }
    let (mut row, mut column, mut steps) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (Some(before), Some(after)) if before == after => {
                steps.push((LineChange::Kept, *before));
                (row, column) = (row + 1, column + 1);
            }
            (Some(before), after)
                if after.is_none() || get(&table, row + 1, column) >= get(&table, row, column + 1) =>
            {
                steps.push((LineChange::Removed, *before));
                row += 1;
            }
            (_, Some(after)) => {
                steps.push((LineChange::Added, *after));
                column += 1;
            }
            (_, None) => return steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::line_diff;

    #[test]
    fn lines_are_kept_removed_and_added_in_order() {
        let shown = |old, new| {
            let lines = line_diff(old, new).into_iter();
            lines.map(|(change, line)| format!("{}{line}", change.mark())).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown("a\nb\nc", "a\nx\nc\nd"), " a -b +x  c +d");
        assert_eq!(shown("", "a"), "+a");
        let many = "x\n".repeat(2_000);
        assert!(shown(&many, &"y\n".repeat(2_000)).starts_with("-x -x"));
    }
}
