//! The fields of submitted forms.

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
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MAX_FIELDS);
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name), decoded(value))
                })
                .collect(),
        )
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

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let escaped = (byte == b'%').then(|| {
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let mut ahead = rest.clone();
            let value = digit(ahead.next()?)? << 4 | digit(ahead.next()?)?;
            rest = ahead;
            Some(value)
        });
        bytes.push(match (byte, escaped.flatten()) {
            (_, Some(value)) => value,
            (b'+', None) => b' ',
            (other, None) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
