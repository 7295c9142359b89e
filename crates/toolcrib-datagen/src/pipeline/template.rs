//! Prompts with places for values: `{{name}}`.

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Placeholder(Placeholder),
}

/// The places of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Description,
    Kind,
    Context,
}

/// The values of the places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) description: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) context: &'a str,
}

impl Template {
    /// Parses a prompt.
    ///
    /// # Errors
    ///
    /// Returns an error for a place that is not closed or has no value, and for a prompt without `{{context}}`, which
    /// would be the same for all conversations.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) =
                after.split_once("}}").ok_or_else(|| "a `{{` is not closed by `}}`".to_owned())?;
            let place = match name.trim() {
                "description" => Placeholder::Description,
                "kind" => Placeholder::Kind,
                "context" => Placeholder::Context,
                other => {
                    let known = "`description`, `kind` and `context`";
                    return Err(format!("there is no `{{{{{other}}}}}`; a prompt may use {known}"));
                }
            };
            parts.push(Segment::Text(before.to_owned()));
            parts.push(Segment::Placeholder(place));
            rest = after;
        }
        parts.push(Segment::Text(rest.to_owned()));
        if !parts.contains(&Segment::Placeholder(Placeholder::Context)) {
            return Err("`{{context}}` is missing".to_owned());
        }
        Ok(Self(parts))
    }

    /// Returns the text with the values.
    pub(crate) fn fill(&self, values: Values<'_>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Segment::Text(text) => text.as_str(),
                Segment::Placeholder(Placeholder::Description) => values.description,
                Segment::Placeholder(Placeholder::Kind) => values.kind,
                Segment::Placeholder(Placeholder::Context) => values.context,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Template, Values};

    #[test]
    fn a_value_with_braces_is_not_filled_again() {
        let template = Template::parse("a {{ kind }} b {{context}}").unwrap();
        let values = Values { description: "", kind: "{{context}}", context: "c" };
        assert_eq!(template.fill(values), "a {{context}} b c");
    }

    #[test]
    fn unknown_and_open_places_are_refused() {
        assert!(Template::parse("{{context}} {{tool}}").unwrap_err().contains("`{{tool}}`"));
        assert!(Template::parse("{{context").unwrap_err().contains("not closed"));
        assert!(Template::parse("no place").unwrap_err().contains("`{{context}}` is missing"));
    }
}
