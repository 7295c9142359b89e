//! Sets of scopes.

/// The most scopes that are asked for at once.
pub(super) const MAX_SCOPES: usize = 100;

/// The longest name of a scope, in bytes.
pub(super) const MAX_SCOPE_BYTES: usize = 256;

/// The scope of `OpenID` Connect that asks for a refresh token.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// The scopes of a text that has them between spaces. What is none by RFC 6749 is left out.
pub(super) fn read(text: &str) -> Vec<String> {
    union([text.split(' ')])
}

/// All scopes of the lists, each once, in their order.
pub(super) fn union<'a, L>(lists: impl IntoIterator<Item = L>) -> Vec<String>
where
    L: IntoIterator<Item = &'a str>,
{
    let mut all: Vec<String> = Vec::new();
    for scope in lists.into_iter().flatten().filter(|scope| is_scope(scope)) {
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

/// Whether all of the scopes are among the others.
pub(super) fn are_among(scopes: &[String], others: &[String]) -> bool {
    scopes.iter().all(|scope| others.contains(scope))
}

fn is_scope(text: &str) -> bool {
    let is_letter = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    (1..=MAX_SCOPE_BYTES).contains(&text.len()) && text.bytes().all(is_letter)
}
