//! The variables that stand in the place of secrets.

use crate::commands::entry_secrets::is_variable;

/// The number of names that are tried for one variable. Each name in use belongs to another value.
const MAX_NAMES_TRIED: usize = 1_000;

/// The variable that the program defines itself, so that it cannot be set.
const OWN: &str = "TOOLCRIB";

/// A variable that the app names.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// The place of its value, for the first server that uses it.
    pub(super) from: String,
    /// The value in the configuration; `None` if that names the variable.
    value: Option<String>,
    /// True if it is set here, to that value if it is known.
    pub(super) is_set: bool,
}

/// All of them, in the order in which they were met.
#[derive(Clone)]
pub(super) struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    pub(super) all: Vec<Variable>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, all: Vec::new() }
    }

    /// Notes a variable that a configuration names itself.
    pub(super) fn named(&mut self, name: &str, from: &str) {
        if !self.all.iter().any(|known| known.name == name) {
            let is_set = (self.lookup)(name).is_some();
            self.all.push(Variable { name: name.to_owned(), from: from.to_owned(), value: None, is_set });
        }
    }

    /// Returns the name of a variable for a value: the wanted name, or one that includes the server. A name that has another
    /// value, in the app or in the environment, is not used.
    pub(super) fn holding(&mut self, value: &str, wanted: &str, namespace: &str, from: &str) -> String {
        let plain = variable_name(wanted);
        let longer = variable_name(&format!("{}_{wanted}", namespace.replace('-', "_").to_ascii_uppercase()));
        let numbered = (2..MAX_NAMES_TRIED).map(|number| format!("{longer}_{number}"));
        let names = [plain, longer.clone()].into_iter().chain(numbered);
        for name in names {
            if let Some(known) = self.all.iter().find(|known| known.name == name) {
                if known.value.as_deref() == Some(value) {
                    return name;
                }
                continue;
            }
            let set = (self.lookup)(&name);
            if name == OWN || set.as_deref().is_some_and(|set| set != value) {
                continue;
            }
            let is_set = set.is_some();
            let value = Some(value.to_owned());
            self.all.push(Variable { name: name.clone(), from: from.to_owned(), value, is_set });
            return name;
        }
        longer
    }
}

/// Returns a name that a shell accepts. An invalid name is converted to capitals.
pub(super) fn variable_name(wanted: &str) -> String {
    if is_variable(wanted) {
        return wanted.to_owned();
    }
    let name: String = wanted
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    let name = name.trim_matches('_');
    if is_variable(name) { name.to_owned() } else { format!("V_{name}") }
}
