//! Calls that a model only repeats, because a tool returned them.

/// What tools returned, in a form in which a text is found however it is quoted and laid out.
pub(super) struct Shown(Vec<String>);

impl Shown {
    pub(super) fn new(results: &[&str]) -> Self {
        Self(results.iter().map(|result| bare(result)).collect())
    }

    /// Whether a text stands in one of the results.
    pub(super) fn holds(&self, text: &str) -> bool {
        let text = bare(text);
        self.0.iter().any(|result| result.contains(&text))
    }
}

/// Letters, digits and what structure is made of; no blanks, quotes, or escapes of them.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_escape = false;
    for c in text.chars() {
        if c == '\\' {
            is_escape = true;
            continue;
        }
        if (c.is_alphanumeric() && !(is_escape && matches!(c, 'n' | 't' | 'r')))
            || matches!(c, '{' | '}' | '[' | ']' | ':')
        {
            out.push(c);
        }
        is_escape = false;
    }
    out
}
