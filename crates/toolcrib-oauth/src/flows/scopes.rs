//! Sets of scopes.

use crate::metadata::is_scope;

/// The largest number of scopes in a request.
pub(super) const MAX_SCOPES: usize = 100;

/// The longest name of a scope, in bytes.
pub(super) const MAX_SCOPE_BYTES: usize = 256;

/// The scope of `OpenID` Connect that requests a refresh token.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// Parses scopes that are separated by spaces. Invalid ones by RFC 6749 are left out.
pub(super) fn read(text: &str) -> Vec<String> {
    union([text.split(' ')])
}

/// Returns all scopes of the lists in order, without duplicates.
pub(super) fn union<'a, L>(lists: impl IntoIterator<Item = L>) -> Vec<String>
where
    L: IntoIterator<Item = &'a str>,
{
    let mut all: Vec<String> = Vec::new();
    for scope in lists.into_iter().flatten().filter(|scope| is_scope(scope, MAX_SCOPE_BYTES)) {
        if all.len() < MAX_SCOPES && !all.iter().any(|known| known == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

/// Borrows a list for [`union`].
pub(super) fn list(scopes: &[String]) -> impl Iterator<Item = &str> {
    scopes.iter().map(String::as_str)
}

/// Returns true if all of the scopes are among the others.
pub(super) fn is_subset(scopes: &[String], others: &[String]) -> bool {
    scopes.iter().all(|scope| others.contains(scope))
}
