//! Injected errors of simulated tools.

use indexmap::IndexMap;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use toolcrib_model::{ErrorKind, ToolError};

/// The category of tools that cannot be reached.
pub const NETWORK_ERROR: &str = "network_error";

/// The category of results that cannot be read.
pub const UNPARSEABLE_RESULT: &str = "unparseable_result";

/// The category of results that do not match the output schema.
pub const SCHEMA_VIOLATION: &str = "schema_violation";

/// The most categories.
const MAX_CATEGORIES: usize = 64;

/// The most bytes of a message.
const MAX_MESSAGE_BYTES: usize = 4096;

/// The categories of injected errors by name, in the order in which they are drawn.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct ErrorCategories(pub IndexMap<String, ErrorCategory>);

/// A category of injected errors.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Form")]
pub struct ErrorCategory {
    /// The probability of an error in each call, from 0 to 1.
    pub probability: f64,
    /// The message of the error. The categories [`NETWORK_ERROR`], [`UNPARSEABLE_RESULT`] and [`SCHEMA_VIOLATION`] have
    /// one by default; others need it.
    pub message: Option<String>,
}

/// A category as it is written: a probability alone, or with a message.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a probability, or a mapping with `probability` and `message`")]
enum Form {
    Probability(f64),
    Full(FullForm),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullForm {
    probability: f64,
    #[serde(default)]
    message: Option<String>,
}

impl From<Form> for ErrorCategory {
    fn from(form: Form) -> Self {
        match form {
            Form::Probability(probability) => Self { probability, message: None },
            Form::Full(FullForm { probability, message }) => Self { probability, message },
        }
    }
}

impl ErrorCategories {
    /// Checks the probabilities and the messages.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.0.len() > MAX_CATEGORIES {
            return Err(format!("there are more than {MAX_CATEGORIES} `error_categories`"));
        }
        for (name, ErrorCategory { probability, message }) in &self.0 {
            if !(0.0..=1.0).contains(probability) {
                return Err(format!("the probability of `{name}` is from 0 to 1, not {probability}"));
            }
            match message.as_deref().or_else(|| default_message(name)) {
                None => return Err(format!("`{name}` needs a `message`, which the tool fails with")),
                Some(message) if message.len() > MAX_MESSAGE_BYTES => {
                    return Err(format!("the message of `{name}` is longer than {MAX_MESSAGE_BYTES} bytes"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Draws each category independently, and returns the first that is drawn with its error. The draws depend only on
    /// the seed, the session, the position of the call in the session, and the name of the category.
    pub(super) fn draw(&self, seed: u64, session: &str, position: u64) -> Option<(&str, ToolError)> {
        let drawn = |name: &str, probability: f64| unit(seed, session, position, name) < probability;
        let (name, category) = self.0.iter().find(|(name, category)| drawn(name, category.probability))?;
        let message = category.message.as_deref().or_else(|| default_message(name)).unwrap_or(name);
        // An error that the executor retries would not reach the conversation.
        let kind = if name == NETWORK_ERROR { ErrorKind::Unavailable } else { ErrorKind::ToolFailed };
        Some((name, ToolError::new(kind, message).with_retryable(false)))
    }
}

fn default_message(category: &str) -> Option<&'static str> {
    match category {
        NETWORK_ERROR => Some("the connection to the tool was lost before it answered"),
        UNPARSEABLE_RESULT => Some("the tool returned a result that cannot be read"),
        SCHEMA_VIOLATION => Some("the tool returned a result that does not match its output schema"),
        _ => None,
    }
}

/// Returns a number from 0 to 1, without 1.
fn unit(seed: u64, session: &str, position: u64, category: &str) -> f64 {
    /// The bits of the fraction of an `f64`.
    const BITS: u32 = 53;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let number = (digest(seed, session, position, category) >> (u64::BITS - BITS)) as f64;
    number / 2_f64.powi(53)
}

/// Returns a random number that depends on these values alone.
pub(super) fn digest(seed: u64, session: &str, position: u64, purpose: &str) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(seed.to_le_bytes());
    hasher.update(position.to_le_bytes());
    hasher.update((session.len() as u64).to_le_bytes());
    hasher.update(session);
    hasher.update(purpose);
    let digest: [u8; 32] = hasher.finalize().into();
    digest.as_chunks::<8>().0.first().copied().map(u64::from_le_bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn categories(text: &str) -> ErrorCategories {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_category_is_drawn_as_often_as_its_probability_says() {
        let categories =
            categories(r#"{"network_error": 0.2, "quota": {"probability": 0.1, "message": "no quota"}}"#);
        let (mut network, mut quota, calls) = (0, 0, 20_000_u64);
        for position in 0..calls {
            match categories.draw(7, &format!("item-{}", position % 100), position / 100) {
                Some((NETWORK_ERROR, error)) => {
                    assert_eq!((error.kind, error.retryable), (ErrorKind::Unavailable, false));
                    network += 1;
                }
                Some((_, error)) => {
                    assert_eq!((error.kind, &*error.message), (ErrorKind::ToolFailed, "no quota"));
                    quota += 1;
                }
                None => {}
            }
        }
        // The draws are independent: `quota` is hidden where `network_error` is drawn too.
        assert!((3_800..4_200).contains(&network), "{network}");
        assert!((1_450..1_750).contains(&quota), "{quota}");
    }

    #[test]
    fn draws_depend_on_seed_session_position_and_category_alone() {
        let drawn = |seed, session: &str, name: &str| -> Vec<bool> {
            let categories = categories(&format!(r#"{{"{name}": {{"probability": 0.5, "message": "m"}}}}"#));
            (0..64).map(|position| categories.draw(seed, session, position).is_some()).collect()
        };
        assert_eq!(drawn(1, "a", "x"), drawn(1, "a", "x"));
        assert_ne!(drawn(1, "a", "x"), drawn(2, "a", "x"));
        assert_ne!(drawn(1, "a", "x"), drawn(1, "b", "x"));
        assert_ne!(drawn(1, "a", "x"), drawn(1, "a", "y"));
    }

    #[test]
    fn a_category_that_cannot_be_drawn_is_refused() {
        for (text, problem) in [
            (r#"{"network_error": 1.5}"#, "the probability of `network_error` is from 0 to 1, not 1.5"),
            (r#"{"quota": 0.1}"#, "`quota` needs a `message`, which the tool fails with"),
        ] {
            assert_eq!(categories(text).check(), Err(problem.to_owned()));
        }
    }
}
