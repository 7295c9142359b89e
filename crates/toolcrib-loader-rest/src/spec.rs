//! An OpenAPI document as a whole: its version, and what its references point to.

use serde_json::Value;

use crate::Error;

/// The most references that may lead from one to the next before something else comes.
pub(crate) const MAX_REFERENCE_HOPS: usize = 32;

/// How the document writes schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAPI 3.0: what stands beside a `$ref` does not count.
    OpenApi30,
    /// OpenAPI 3.1: JSON Schema 2020-12.
    OpenApi31,
}

/// A document whose version is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'a> {
    pub(crate) root: &'a Value,
    pub(crate) dialect: Dialect,
}

impl<'a> Spec<'a> {
    pub(crate) fn new(root: &'a Value) -> Result<Self, Error> {
        // YAML reads a version without quotes as a number.
        let version = |key| match root.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let dialect = match (version("openapi"), version("swagger")) {
            (Some(version), _) if is_minor(&version, "3.0") => Dialect::OpenApi30,
            (Some(version), _) if is_minor(&version, "3.1") => Dialect::OpenApi31,
            (Some(version), _) => return Err(Error::Version { format: "OpenAPI", version }),
            (None, Some(version)) => return Err(Error::Version { format: "Swagger", version }),
            (None, None) => return Err(Error::NotOpenApi),
        };
        Ok(Self { root, dialect })
    }

    /// The value itself, or what its `$ref` leads to.
    pub(crate) fn resolve(&self, value: &'a Value) -> Result<&'a Value, Error> {
        let mut value = value;
        let mut last = "";
        for _ in 0..MAX_REFERENCE_HOPS {
            match value.get("$ref") {
                None => return Ok(value),
                Some(Value::String(reference)) => {
                    value = self.target(reference)?.1;
                    last = reference;
                }
                Some(other) => return Err(Error::malformed(format!("a `$ref` must be a text, not {other}"))),
            }
        }
        Err(Error::ReferenceLoop { reference: last.into() })
    }

    /// What one reference points to, and the JSON pointer to it.
    pub(crate) fn target(&self, reference: &str) -> Result<(String, &'a Value), Error> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(Error::ExternalReference { reference: reference.into() });
        };
        let pointer = percent_decode(fragment);
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(Error::unsupported(format!("the reference `{reference}`, which names an anchor")));
        }
        match self.root.pointer(&pointer) {
            Some(target) => Ok((pointer, target)),
            None => Err(Error::DanglingReference { reference: reference.into() }),
        }
    }
}

fn is_minor(version: &str, minor: &str) -> bool {
    version.strip_prefix(minor).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Undoes the percent-encoding of a URI fragment; what is not an escape stays.
fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.as_bytes();
    while let Some((first, rest)) = bytes.split_first() {
        let escaped = match (first, rest) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        out.push(escaped.unwrap_or(*first));
        bytes = if escaped.is_some() { rest.get(2..).unwrap_or_default() } else { rest };
    }
    String::from_utf8_lossy(&out).into_owned()
}
