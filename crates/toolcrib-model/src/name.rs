//! Qualified names of tools, and their validation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::is_invisible;

/// The separator of namespace and name in data: `weather_api::get_weather`.
pub const NAMESPACE_SEPARATOR: &str = "::";

/// The namespace of the runtime's own tools. They only reach other tools through the gate, so they are granted unless a rule
/// names them.
pub const RUNTIME_NAMESPACE: &str = "context_builder";

/// The namespace of the schedule tools as a module.
pub const SCHEDULER_NAMESPACE: &str = "scheduler";

/// The most characters a namespace or a name may have.
pub const MAX_NAME_CHARS: usize = 256;

/// The full name of a tool: the namespace that its source has, and its name in that namespace.
///
/// Written `namespace::name` in data ([`Display`](fmt::Display), serde) and `namespace.name` for people and models
/// ([`dotted`](Self::dotted)).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QualifiedName {
    namespace: String,
    name: String,
}

/// The reason why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The part is empty.
    #[error("the {part} is empty")]
    Empty {
        /// `namespace` or `name`.
        part: &'static str,
    },
    /// More than [`MAX_NAME_CHARS`] characters.
    #[error("the {part} has {chars} characters, more than {MAX_NAME_CHARS}")]
    TooLong {
        /// `namespace` or `name`.
        part: &'static str,
        /// The number of characters.
        chars: usize,
    },
    /// The separator occurs inside a part.
    #[error("the {part} {text:?} contains `::`, which separates namespace and name")]
    Separator {
        /// `namespace` or `name`.
        part: &'static str,
        /// The part as it was given.
        text: String,
    },
    /// A control, invisible or direction-changing character, which makes two names look alike.
    #[error("the {part} {text:?} contains the invisible character U+{code:04X}")]
    Invisible {
        /// `namespace` or `name`.
        part: &'static str,
        /// The part as it was given.
        text: String,
        /// The code point.
        code: u32,
    },
    /// A qualified name was expected, and there is no separator.
    #[error("`{text}` is not a qualified name; write `namespace::name`")]
    NotQualified {
        /// The text as it was given.
        text: String,
    },
}

/// Returns true if a name fits a glob, in which `*` matches any text.
///
/// ```
/// use toolcrib_model::name::fits_glob;
/// assert!(fits_glob("shop.*_order", "shop.place_order"));
/// assert!(!fits_glob("shop.*", "workshop.list"));
/// ```
pub fn fits_glob(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The leftmost match of each part leaves the most text for the later ones.
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

impl QualifiedName {
    /// Creates a name from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Result<Self, NameError> {
        let (namespace, name) = (namespace.into(), name.into());
        check("namespace", &namespace)?;
        check("name", &name)?;
        Ok(Self { namespace, name })
    }

    /// Returns the part before the separator.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns true if the runtime itself has the name.
    pub fn is_of_runtime(&self) -> bool {
        self.namespace == RUNTIME_NAMESPACE
    }

    /// Returns the part after the separator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `namespace.name`, the form for people.
    pub fn dotted(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// Returns `namespace.name`, the form for models: the runtime's tools have no namespace there.
    pub fn shown(&self) -> String {
        if self.is_of_runtime() { self.name.clone() } else { self.dotted() }
    }
}

fn check(part: &'static str, text: &str) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Empty { part });
    }
    let chars = text.chars().count();
    if chars > MAX_NAME_CHARS {
        return Err(NameError::TooLong { part, chars });
    }
    if text.contains(NAMESPACE_SEPARATOR) {
        return Err(NameError::Separator { part, text: text.into() });
    }
    match text.chars().find(|c| is_invisible(*c)) {
        Some(c) => Err(NameError::Invisible { part, text: text.into(), code: c.into() }),
        None => Ok(()),
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.namespace)?;
        f.write_str(NAMESPACE_SEPARATOR)?;
        f.write_str(&self.name)
    }
}

impl FromStr for QualifiedName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.split_once(NAMESPACE_SEPARATOR) {
            Some((namespace, name)) => Self::new(namespace, name),
            None => Err(NameError::NotQualified { text: text.into() }),
        }
    }
}

impl TryFrom<String> for QualifiedName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<QualifiedName> for String {
    fn from(name: QualifiedName) -> Self {
        name.to_string()
    }
}
