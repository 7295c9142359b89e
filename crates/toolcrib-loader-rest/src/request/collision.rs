//! Exploded objects: each member is sent as a separate field, which must not collide with another argument.
//!
//! Otherwise a rule of the policy about the argument `admin` would miss the `admin` in `{"filter": {"admin": true}}`,
//! which the server receives as the same field.

use std::collections::HashSet;

use serde_json::Value;

use crate::operation::Serialization;

/// The names of the fields of a query, of the cookies, or of a form.
#[derive(Debug, Default)]
pub(super) struct FieldNames {
    taken: HashSet<String>,
}

impl FieldNames {
    /// Creates the set with the names of declared parameters, whether the call has a value for them or not.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut taken = Self::default();
        taken.add(names);
        taken
    }

    pub(super) fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.taken.extend(names.into_iter().map(root));
    }

    /// Adds the names of the members that this value is sent as. The error names the member that is already in use.
    pub(super) fn take(
        &mut self,
        name: &str,
        value: &Value,
        serialization: Serialization,
    ) -> Result<(), String> {
        let (Value::Object(members), true) = (value, serialization.sends_members()) else { return Ok(()) };
        let own = root(name);
        for member in members.keys() {
            let root = root(member);
            if root != own && self.taken.contains(&root) {
                return Err(format!(
                    "must not have the member `{member}`: each member is sent as a separate field, and another \
                     argument is sent under that name"
                ));
            }
        }
        self.taken.extend(members.keys().map(|member| root(member)));
        Ok(())
    }
}

/// Returns the name in the form that lenient servers compare: without case, and without the brackets of a list or an
/// object.
fn root(name: &str) -> String {
    name.split('[').next().unwrap_or_default().to_lowercase()
}
