//! Path templates.

use std::collections::BTreeSet;

use crate::Error;
use crate::request::url_encoding::encode_literal;

/// A parsed path template such as `/pets/{petId}.{format}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    pub(crate) segments: Vec<Vec<Piece>>,
    /// A query in the path itself. OpenAPI does not permit it, but documents contain it.
    pub(crate) fixed_query: Option<String>,
    /// The placeholders in such a query: the key, and the name of the parameter.
    pub(crate) query_placeholders: Vec<(String, String)>,
}

/// A part of a path segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text, ready to be sent.
    Literal(String),
    /// The placeholder of the parameter with this name.
    Parameter(String),
}

impl PathTemplate {
    pub(crate) fn parse(path: &str) -> Result<Self, Error> {
        // Some documents distinguish operations on one path by a fragment, which is never sent.
        let path = path.split_once('#').map_or(path, |(path, _)| path);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut fixed: Vec<&str> = Vec::new();
        let mut query_placeholders = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let location = pair.split_once('=').and_then(|(key, value)| {
                let name = value.strip_prefix('{')?.strip_suffix('}')?;
                (!key.is_empty() && !name.is_empty()).then(|| (key.to_owned(), name.to_owned()))
            });
            match location {
                Some(location) => query_placeholders.push(location),
                None => fixed.push(pair),
            }
        }
        let fixed_query = (!fixed.is_empty()).then(|| encode_literal(&fixed.join("&")));
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments = path.split('/').map(pieces).collect::<Result<_, _>>()?;
        Ok(Self { segments, fixed_query, query_placeholders })
    }

    /// Returns the names of all placeholders.
    pub(crate) fn parameters(&self) -> BTreeSet<&str> {
        self.segments
            .iter()
            .flatten()
            .filter_map(|piece| match piece {
                Piece::Parameter(name) => Some(name.as_str()),
                Piece::Literal(_) => None,
            })
            .collect()
    }
}

fn pieces(segment: &str) -> Result<Vec<Piece>, Error> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(Error::malformed(format!(
                "the path segment `{segment}` has a `{{` without its `}}`"
            )));
        };
        if !before.is_empty() {
            pieces.push(Piece::Literal(encode_literal(before)));
        }
        pieces.push(Piece::Parameter(name.to_owned()));
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(encode_literal(rest)));
    }
    Ok(pieces)
}
