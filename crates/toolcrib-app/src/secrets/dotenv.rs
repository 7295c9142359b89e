//! Files of variables, such as `.env`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolcrib_io::files::read_bounded;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The most lines that warnings name.
const MAX_WARNINGS: usize = 8;

/// A file with a line `NAME=VALUE` for each variable. Values are taken as they are: nothing is expanded in them.
#[derive(Debug)]
pub(crate) struct DotEnv {
    path: PathBuf,
    variables: BTreeMap<String, String>,
    warnings: Vec<String>,
}

impl DotEnv {
    /// Reads a file. One that is not there has no variables. An error says why it cannot be read.
    pub(crate) fn open(path: PathBuf) -> Result<Self, String> {
        let bytes = match read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(toolcrib_io::Error::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(error.to_string()),
        };
        let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
        let (variables, lines) = parse(&text);
        let warnings = lines
            .into_iter()
            .take(MAX_WARNINGS)
            .map(|line| format!("{}:{line} is not read: expected NAME=VALUE", path.display()));
        Ok(Self { warnings: warnings.collect(), variables, path })
    }

    /// Returns the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the value of a variable that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a warning for each line that is not read.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Returns the variables of a text, and the numbers of the lines that have none.
fn parse(text: &str) -> (BTreeMap<String, String>, Vec<usize>) {
    let (mut variables, mut wrong) = (BTreeMap::new(), Vec::new());
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = after;
            continue;
        }
        // A value in quotes may have several lines.
        let begin = rest.trim_start();
        let begin = begin.strip_prefix("export ").map_or(begin, str::trim_start);
        let parsed = begin.split_once('=').and_then(|(name, value)| {
            let name = name.trim_end();
            let (value, after) = value_of(value.trim_start_matches([' ', '\t']))?;
            is_name(name).then_some((name, value, after))
        });
        let Some((name, value, after_value)) = parsed else {
            wrong.push(number);
            rest = after;
            continue;
        };
        variables.insert(name.to_owned(), value);
        let taken = rest.len() - after_value.len();
        number += rest.get(..taken).unwrap_or_default().trim_end_matches('\n').matches('\n').count();
        rest = after_value;
    }
    (variables, wrong)
}

fn is_name(name: &str) -> bool {
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_begun && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// Splits a value from the lines after it: literal in single quotes, with escapes in double quotes, up to a comment
/// otherwise.
fn value_of(text: &str) -> Option<(String, &str)> {
    let (value, after) = match text.chars().next() {
        Some('\'') => {
            let (value, after) = text.get(1..)?.split_once('\'')?;
            (value.to_owned(), after)
        }
        Some('"') => escaped(text.get(1..)?)?,
        _ => {
            let (line, after) = text.split_once('\n').unwrap_or((text, ""));
            let line = line.find(" #").map_or(line, |at| line.get(..at).unwrap_or_default());
            return Some((line.trim().to_owned(), after));
        }
    };
    let (line, after) = after.split_once('\n').unwrap_or((after, ""));
    let line = line.trim();
    (line.is_empty() || line.starts_with('#')).then_some((value, after))
}

/// Reads a value up to the double quote that ends it.
fn escaped(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$') => value.push(c),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_and_without_quotes_and_over_several_lines() {
        let text = "\u{feff}# comment\n\nA=1\nexport B = two words # comment\r\nC='a #$X \\n'\nD=\"x\\n\\\"y\\\" $X\" # comment\n\
                    PEM=\"-----BEGIN\nabc\n-----END\"\nE=a#b\nEMPTY=\nURL=https://h/?a=b\n";
        let (variables, wrong) = parse(text);
        assert_eq!(wrong, Vec::<usize>::new());
        let of = |name: &str| variables.get(name).map(String::as_str);
        assert_eq!(of("A"), Some("1"));
        assert_eq!(of("B"), Some("two words"));
        assert_eq!(of("C"), Some("a #$X \\n"));
        assert_eq!(of("D"), Some("x\n\"y\" $X"));
        assert_eq!(of("PEM"), Some("-----BEGIN\nabc\n-----END"));
        assert_eq!(of("E"), Some("a#b"));
        assert_eq!(of("EMPTY"), Some(""));
        assert_eq!(of("URL"), Some("https://h/?a=b"));
    }

    #[test]
    fn lines_without_a_variable_are_counted_and_the_others_are_read() {
        let text = "A=\"1\n2\"\nnot a variable\n1B=x\nC='open\nD=4\nE=\"x\" y\n";
        let (variables, wrong) = parse(text);
        assert_eq!(wrong, [3, 4, 5, 7]);
        assert_eq!(variables.keys().collect::<Vec<_>>(), ["A", "D"]);
    }
}
