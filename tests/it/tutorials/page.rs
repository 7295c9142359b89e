//! A tutorial as a list of steps.
//!
//! - The block behind a line that begins with ``Write `PATH` `` is a file, and that behind ``Add to `PATH` `` the end of one.
//! - A block of `sh` is run. The block of `text` behind it is its output, in which `…` stands for any text in a line, and
//!   a line of `…` for any lines.
//!
//! Every block has to be one of these.

/// Something that a reader does.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Write {
        path: String,
        text: String,
        /// True if the text is added to the end of the file.
        is_added: bool,
    },
    Run {
        /// The line of the page where the commands begin.
        line: usize,
        script: String,
        expected: Option<String>,
    },
}

/// A fenced block of a page.
struct Block<'a> {
    line: usize,
    language: &'a str,
    text: String,
    /// The last line of prose before it.
    lead: &'a str,
}

/// Returns the steps of a page.
pub(super) fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in blocks(page) {
        let Block { line, language, text, lead } = block;
        if let Some((path, is_added)) = file(lead) {
            steps.push(Step::Write { path: path.to_owned(), text, is_added });
        } else if language == "sh" {
            steps.push(Step::Run { line, script: text, expected: None });
        } else if let (Some(Step::Run { expected: expected @ None, .. }), "text") =
            (steps.last_mut(), language)
        {
            *expected = Some(text.trim_end().to_owned());
        } else {
            panic!("line {line}: this block is neither a file, nor commands, nor their output");
        }
    }
    assert!(!steps.is_empty(), "the page has no steps");
    steps
}

/// Returns the file that a line of prose announces, and whether it is continued.
fn file(lead: &str) -> Option<(&str, bool)> {
    let (rest, is_added) = match (lead.strip_prefix("Write `"), lead.strip_prefix("Add to `")) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => return None,
    };
    Some((rest.split_once('`')?.0, is_added))
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut lead, mut open): (&str, Option<Block<'_>>) = ("", None);
    for (index, line) in page.lines().enumerate() {
        match (open.as_mut(), line.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                lead = "";
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Block { line: index + 2, language, text: String::new(), lead });
            }
            (None, None) if !line.trim().is_empty() => lead = line,
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Returns true if an output is the one that the page shows.
pub(super) fn matches(expected: &str, output: &str) -> bool {
    let expected: Vec<&str> = expected.lines().collect();
    let output: Vec<&str> = output.lines().map(str::trim_end).collect();
    lines_match(&expected, &output)
}

fn lines_match(expected: &[&str], output: &[&str]) -> bool {
    match expected.split_first() {
        None => output.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=output.len()).any(|skipped| lines_match(rest, &output[skipped..]))
        }
        Some((first, rest)) => output
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others)),
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.trim_end().split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn output_fits_what_a_page_shows_and_nothing_else() {
    for (expected, output, fits) in [
        ("a\nb", "a\nb", true),
        ("a\nb", "a\nc", false),
        ("a", "a\nb", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…\nd", "a\nb", false),
        ("took … ms, … calls", "took 12 ms, 3 calls", true),
        ("took … ms, … calls", "took 12 s, 3 calls", false),
        ("…", "", true),
    ] {
        assert_eq!(matches(expected, output), fits, "{expected:?} {output:?}");
    }
}

#[test]
fn blocks_of_a_page_are_its_steps_in_order() {
    let page = "Write `a.txt`:\n\n```text\nA\n```\n\nAdd to `a.txt` one line:\n```text\nB\n```\nThen:\n```sh\ncat a.txt\n```\n\
                It prints:\n\n```text\nA\nB\n```\n";
    let write = |text: &str, is_added| Step::Write { path: "a.txt".into(), text: text.into(), is_added };
    let run = Step::Run { line: 13, script: "cat a.txt\n".into(), expected: Some("A\nB".into()) };
    assert_eq!(steps(page), [write("A\n", false), write("B\n", true), run]);
}

#[test]
#[should_panic(expected = "line 2: this block is neither")]
fn a_block_that_no_step_uses_fails() {
    steps("```yaml\na: b\n```\n");
}
