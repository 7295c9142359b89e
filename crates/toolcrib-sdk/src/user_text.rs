//! Texts that belong to the user of a call, such as the key of each user for a server.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{ErrorKind, Secret, SubjectToken, ToolError};
use toolcrib_port::CallContext;

use crate::AppEntry;

/// The most bytes of the name of a user.
const MAX_USER_BYTES: usize = 1024;

/// The number of users of a source whose connections and secrets are in memory at the same time.
pub const MAX_USERS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// A text of an app file that has another value for each user.
#[async_trait]
pub trait UserText: fmt::Debug + Send + Sync {
    /// Returns the value for a user.
    ///
    /// # Errors
    ///
    /// Returns the error of the call if there is no value for the user, or its provider fails.
    async fn for_user(&self, user: &str) -> Result<Secret, ToolError>;
}

/// Headers of a source whose values belong to the user of a call: `user_headers` of its entry.
#[derive(Clone, Debug, Default)]
pub struct UserHeaders(Vec<(String, Arc<dyn UserText>)>);

impl UserHeaders {
    /// Creates the headers with these names and values.
    pub fn new(headers: impl IntoIterator<Item = (String, Arc<dyn UserText>)>) -> Self {
        Self(headers.into_iter().collect())
    }

    /// Opens the `user_headers` of an entry, as its settings have them.
    ///
    /// # Errors
    ///
    /// Returns a message for the operator if a value is not a template.
    pub fn open(texts: &BTreeMap<String, String>, place: &dyn AppEntry) -> Result<Self, String> {
        let open = |(name, text): (&String, &String)| {
            let text = place.user_text(&format!("user_headers/{name}"), text);
            Ok((name.clone(), text.map_err(|problem| format!("`user_headers.{name}`: {problem}"))?))
        };
        texts.iter().map(open).collect::<Result<_, String>>().map(Self)
    }

    /// Returns true if there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the headers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns true if there is a header of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Returns the headers with their values for a user.
    ///
    /// # Errors
    ///
    /// Returns the error of the call if there is no value for the user, or its provider fails.
    pub async fn for_user(&self, user: &str) -> Result<Vec<(String, Secret)>, ToolError> {
        let mut headers = Vec::with_capacity(self.0.len());
        for (name, text) in &self.0 {
            headers.push((name.clone(), text.for_user(user).await?));
        }
        Ok(headers)
    }
}

/// Returns the token that the user of a call came with, for a source that exchanges it.
///
/// # Errors
///
/// Returns the error of the call if it has no such token.
pub fn subject_of_call<'a>(
    context: &'a CallContext,
    namespace: &str,
) -> Result<&'a Arc<SubjectToken>, ToolError> {
    context.subject_token.as_ref().ok_or_else(|| {
        let message = format!("`{namespace}` is called with the token of the caller, and this call has none");
        let hint = "call through the server with a token of its authorization server; schedules and commands have none";
        ToolError::new(ErrorKind::Denied, message).with_hint(hint)
    })
}

/// Returns the user of a call to a source that acts for users.
///
/// # Errors
///
/// Returns the error of the call if it has no user.
pub fn user_of_call<'a>(context: &'a CallContext, namespace: &str) -> Result<&'a Arc<str>, ToolError> {
    match &context.user {
        Some(user) if (1..=MAX_USER_BYTES).contains(&user.len()) => Ok(user),
        _ => {
            let message =
                format!("`{namespace}` is called with the credentials of a user, and this call has no user");
            let hint =
                "the operator names the user: with `--user`, or by a token of the client at the server";
            Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint))
        }
    }
}
