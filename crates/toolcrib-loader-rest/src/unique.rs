//! Names of which no two are the same.

use std::collections::{HashMap, HashSet};

/// The names that are given away. A document may want one name for all it holds, so finding a free one takes no
/// longer the more there are.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// The next number to try, by the name that was wanted.
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// Takes the name if it is free.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes the name, or the first that is free of those with a number, from 2 on.
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
