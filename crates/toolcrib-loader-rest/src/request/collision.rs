//! Exploded objects: each member is sent as a field of its own, and none may take the place of another argument.
//!
//! A rule of the policy about the argument `admin` would otherwise not see the `admin` in `{"filter": {"admin": true}}`, which
//! arrives at the server in the same place.

use std::collections::HashSet;

use serde_json::Value;

use crate::operation::Writing;

/// The names of the fields of a query, of the cookies, or of a form.
#[derive(Debug, Default)]
pub(super) struct FieldNames {
    taken: HashSet<String>,
}

impl FieldNames {
    /// Returns the names that are taken by parameters of their own, whether the call has a value for them or not.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut taken = Self::default();
        taken.add(names);
        taken
    }

    pub(super) fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.taken.extend(names.into_iter().map(root));
    }

    /// Takes the names of the members that this value is sent as. The error says which of them is taken already.
    pub(super) fn take(&mut self, name: &str, value: &Value, writing: Writing) -> Result<(), String> {
        let (Value::Object(members), true) = (value, writing.sends_members()) else { return Ok(()) };
        let own = root(name);
        for member in members.keys() {
            let root = root(member);
            if root != own && self.taken.contains(&root) {
                return Err(format!(
                    "must not have the member `{member}`: each member is sent as a field of its own, and another \
                     argument is sent under that name"
                ));
            }
        }
        self.taken.extend(members.keys().map(|member| root(member)));
        Ok(())
    }
}

/// Returns the name as careless servers compare it: without case, and without the brackets of a list or an object.
fn root(name: &str) -> String {
    name.split('[').next().unwrap_or_default().to_lowercase()
}
