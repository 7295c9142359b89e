//! Calls that a model only repeats from the result of a tool.

/// The results of tools, normalized so that a quotation is found in any layout.
pub(super) struct ToolOutputs(Vec<String>);

impl ToolOutputs {
    pub(super) fn new(results: &[&str]) -> Self {
        Self(results.iter().map(|result| bare(result)).collect())
    }

    /// Returns true if one of the results contains a text.
    pub(super) fn contain(&self, text: &str) -> bool {
        let text = bare(text);
        self.0.iter().any(|result| result.contains(&text))
    }
}

/// Returns the letters, digits and structural characters of a text, without blanks, quotes, and escapes of them.
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
