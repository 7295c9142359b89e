//! Programs.

/// The programs that one entry matches.
#[derive(Debug)]
pub(super) enum ProgramRule {
    All,
    /// The program started by exactly this name or path.
    One(String),
}

impl ProgramRule {
    pub(super) fn parse(entry: &str) -> Result<Self, &'static str> {
        match entry {
            "*" => Ok(Self::All),
            "" => Err("names no program; write its name, as `git`, or its full path"),
            entry if entry.contains(['*', '?', '\0']) => {
                Err("is no program; write its name or its full path without a pattern")
            }
            entry if entry.chars().any(char::is_whitespace) && !entry.contains('/') => {
                Err("is no program; write its name alone, without arguments")
            }
            entry => Ok(Self::One(entry.to_owned())),
        }
    }

    /// Returns true if the entry matches. A name does not match a path that ends in it: `./git` is not `git`.
    pub(super) fn allows(&self, program: &str) -> bool {
        match self {
            Self::All => !program.is_empty(),
            Self::One(own) => own == program,
        }
    }
}
