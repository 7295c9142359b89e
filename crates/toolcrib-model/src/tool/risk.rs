//! Risk levels of tools.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Words that indicate irreversible loss.
const DESTRUCTIVE_WORDS: &[&str] =
    &["delete", "destroy", "drop", "erase", "kill", "purge", "remove", "truncate", "uninstall", "wipe"];

/// Words in a name that indicate a change. They keep `get_or_create` from being taken for a read.
const CHANGING_WORDS: &[&str] = &[
    "add", "append", "apply", "approve", "assign", "cancel", "close", "commit", "copy", "create", "disable",
    "edit", "enable", "execute", "insert", "install", "merge", "modify", "move", "patch", "pay", "post",
    "publish", "push", "put", "rename", "replace", "reset", "run", "save", "send", "set", "start", "stop",
    "submit", "toggle", "transfer", "trigger", "update", "upload", "write",
];

/// Words in a name that indicate a read.
const READING_WORDS: &[&str] = &[
    "check", "count", "describe", "echo", "fetch", "find", "get", "info", "inspect", "list", "lookup", "ls",
    "query", "read", "search", "show", "stat", "status", "view",
];

/// Words that indicate secrets. Reading them is more than a read.
const SECRET_WORDS: &[&str] =
    &["credential", "credentials", "env", "password", "passwords", "secret", "secrets", "token"];

/// Words that indicate administration of other users. A read is not administration.
const ADMINISTRATIVE_WORDS: &[&str] = &["admin", "admins", "administrator", "revoke", "sudo"];

/// The potential harm of a call. Ordered: `Low < Medium < High`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Reads, and changes nothing.
    Low,
    /// Changes something that can be reverted; also assumed if nothing is known.
    #[default]
    Medium,
    /// Deletes, spends, publishes.
    High,
}

impl Risk {
    /// Returns the risk that the words of a name suggest, and the word that makes it high. The words are those of
    /// [`words_of_name`](crate::text::words_of_name).
    ///
    /// ```
    /// use toolcrib_model::Risk;
    /// use toolcrib_model::text::words_of_name;
    /// assert_eq!(Risk::of_words(&words_of_name("filesRemove")), (Risk::High, Some("remove")));
    /// assert_eq!(Risk::of_words(&words_of_name("list_files")), (Risk::Low, None));
    /// assert_eq!(Risk::of_words(&words_of_name("get_or_create")), (Risk::Medium, None));
    /// assert_eq!(Risk::of_words(&words_of_name("get-env")), (Risk::Medium, None));
    /// ```
    pub fn of_words(words: &[String]) -> (Self, Option<&'static str>) {
        let find =
            |list: &[&'static str]| list.iter().copied().find(|word| words.iter().any(|own| own == word));
        if let Some(word) = find(DESTRUCTIVE_WORDS) {
            (Self::High, Some(word))
        } else if find(READING_WORDS).is_some() && find(CHANGING_WORDS).is_none() {
            (if find(SECRET_WORDS).is_some() { Self::Medium } else { Self::Low }, None)
        } else if let Some(word) = find(ADMINISTRATIVE_WORDS) {
            (Self::High, Some(word))
        } else {
            (Self::Medium, None)
        }
    }

    /// Returns `low`, `medium` or `high`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Parses `low`, `medium` or `high`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High]
            .into_iter()
            .find(|risk| text.eq_ignore_ascii_case(risk.as_str()))
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
