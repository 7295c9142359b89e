//! The fields of submitted forms.

use url::form_urlencoded;

/// The maximum size of a form, in bytes.
pub(crate) const MAX_FORM_BYTES: usize = 16 * 1024;

/// The maximum number of fields that are read from a form: those of a question, each with its choices.
const MAX_FIELDS: usize = 2_048;

/// The fields of a form in the encoding `application/x-www-form-urlencoded`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses the fields. Replaces invalid UTF-8, and ignores fields beyond the maximum.
    pub(crate) fn read(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().take(MAX_FIELDS).collect())
    }

    /// Returns the values of a field, which may occur several times.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a field that occurs once.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn fields_are_read_as_browsers_write_them() {
        let fields = Fields::read("q=a+b%26c%3D%C3%A9&empty=&flag&odd=100%&odd2=%zz%4&twice=1&twice=2");
        let table = [
            ("q", Some("a b&c=é")),
            ("empty", Some("")),
            ("flag", Some("")),
            ("odd", Some("100%")),
            ("odd2", Some("%zz%4")),
            ("twice", None),
            ("absent", None),
        ];
        for (name, expected) in table {
            assert_eq!(fields.get(name), expected, "{name}");
        }
        assert_eq!(Fields::read("\u{FFFD}=%ff").get("\u{FFFD}"), Some("\u{FFFD}"));
    }
}
