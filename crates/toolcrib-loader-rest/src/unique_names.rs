//! Unique names.

use std::collections::{HashMap, HashSet};

/// A set of names that are in use. A document may give the same name to everything, so finding a free one takes
/// constant time.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// The next number to try, by the requested name.
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// Reserves the name and returns true, unless it is in use.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Reserves the name, or the first free one that `spell` makes of it with a number from 2 on. Returns it.
    pub(crate) fn take_numbered(&mut self, wanted: &str, spell: impl Fn(&str, usize) -> String) -> String {
        let mut name = wanted.to_owned();
        while !self.taken.insert(name.clone()) {
            let next = self.next.entry(wanted.to_owned()).or_insert(2);
            name = spell(wanted, *next);
            *next += 1;
        }
        name
    }
}
