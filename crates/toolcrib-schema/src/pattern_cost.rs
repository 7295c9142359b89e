//! The cost of a pattern, estimated without compiling it.
//!
//! For each byte of a text, an engine without backtracking does work proportional to the number of states that the pattern
//! can reach at once. `^[a-z]{1,1000}$` has a thousand states and reaches one at a time; `x{0,4000}y`, which may start
//! anywhere, reaches all of them.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// The most bytes of a pattern that are read.
const MAX_PATTERN_TEXT: usize = 16 << 10;

/// The most states that the patterns of a schema may have together. Patterns beyond it are left out of the check.
pub(crate) const MAX_PATTERN_STATES: u64 = 50_000;

/// The cost of compiling any pattern, in states.
const STATES_OF_ANY: u64 = 32;

/// The number of states of a class that can be reached at once.
const REACHED_OF_CLASS: usize = 2;

/// The maximum nesting of groups.
const MAX_GROUPS: u32 = 64;

/// The cost of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The number of states, which determines the cost of compilation.
    pub(crate) states: u64,
    /// The number of states reachable at once, which determines the cost of each byte of a text.
    pub(crate) width: u64,
}

impl Cost {
    /// Returns the cost of compiling the pattern.
    pub(crate) fn to_compile(self) -> u64 {
        self.states.saturating_add(STATES_OF_ANY)
    }

    /// Returns the cost of a pattern; rather too much than too little.
    pub(crate) fn of(pattern: &str) -> Self {
        if pattern.len() > MAX_PATTERN_TEXT {
            return Self { states: u64::MAX, width: u64::MAX };
        }
        let read = |is_unicode| {
            let mut parser = ParserBuilder::new();
            parser.nest_limit(MAX_GROUPS).unicode(is_unicode).utf8(is_unicode).build().parse(pattern).ok()
        };
        // The classes of JSON Schema are those of ASCII, but for the ones that say Unicode.
        let Some(tree) = read(false).or_else(|| read(true)) else {
            let length = u64::try_from(pattern.len()).unwrap_or(u64::MAX);
            return Self { states: length, width: length };
        };
        Self { states: states(&tree, |ranges| ranges), width: WidthWalk { is_anywhere: true }.width(&tree) }
    }
}

/// Returns the number of states of a pattern, given the number of states of a class.
fn states(tree: &Hir, of_class: fn(usize) -> usize) -> u64 {
    let all = |parts: &[Hir]| parts.iter().map(|part| states(part, of_class)).fold(0, u64::saturating_add);
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => count(literal.0.len()),
        HirKind::Class(Class::Bytes(class)) => count(of_class(class.ranges().len())),
        HirKind::Class(Class::Unicode(class)) => count(of_class(class.ranges().len())),
        HirKind::Repetition(repetition) => {
            times(repetition).saturating_mul(states(&repetition.sub, of_class))
        }
        HirKind::Capture(capture) => states(&capture.sub, of_class),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
    .saturating_add(1)
}

/// Returns the number of copies that a repetition compiles to.
fn times(repetition: &Repetition) -> u64 {
    u64::from(repetition.max.unwrap_or(repetition.min.saturating_add(1)))
}

/// From left to right through a pattern.
struct WidthWalk {
    /// True if the reached position may correspond to several positions of a text.
    is_anywhere: bool,
}

impl WidthWalk {
    fn width(&mut self, tree: &Hir) -> u64 {
        match tree.kind() {
            HirKind::Look(Look::Start) => {
                self.is_anywhere = false;
                1
            }
            HirKind::Capture(capture) => self.width(&capture.sub),
            HirKind::Concat(parts) => parts.iter().map(|part| self.width(part)).fold(0, u64::saturating_add),
            // The next place of a repetition of one length is reached by one way only.
            HirKind::Repetition(repetition) if !self.is_anywhere && length(&repetition.sub).is_some() => {
                let inside = self.width(&repetition.sub);
                self.is_anywhere = repetition.max != Some(repetition.min);
                inside.saturating_add(1)
            }
            _ => {
                self.is_anywhere |= length(tree).is_none();
                states(tree, |_| REACHED_OF_CLASS)
            }
        }
    }
}

/// Returns the length of the texts that a part matches, where all have the same.
fn length(tree: &Hir) -> Option<u64> {
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(0),
        HirKind::Literal(literal) => u64::try_from(literal.0.len()).ok(),
        HirKind::Class(_) => Some(1),
        HirKind::Repetition(repetition) => {
            let is_fixed = repetition.max == Some(repetition.min);
            length(&repetition.sub).filter(|_| is_fixed)?.checked_mul(repetition.min.into())
        }
        HirKind::Capture(capture) => length(&capture.sub),
        HirKind::Concat(parts) => parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(length(part)?)),
        HirKind::Alternation(parts) => {
            let mut lengths = parts.iter().map(length);
            let first = lengths.next()??;
            lengths.all(|length| length == Some(first)).then_some(first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reached_at_once_is_told_from_what_there_is() {
        for (pattern, states, width) in [
            ("^[a-z]{1,1000}$", 1000..3000, 1..10),
            ("^.{1,1000}$", 1000..5000, 1..10),
            ("^[0-9]{4}-[0-9]{2}$", 6..30, 1..20),
            ("^\\w+@\\w+$", 6..60, 1..60),
            ("x{0,4000}y", 4000..9000, 4000..9000),
            ("^.*x{0,4000}y", 4000..9000, 4000..9000),
            ("^x?y{0,1000}", 1000..3000, 1000..3000),
            ("^(ab?){0,1000}", 1000..9000, 1000..9000),
            ("((x{0,100}){0,100}){0,100}", 1_000_000..9_000_000, 1_000_000..9_000_000),
            ("(a+)+$", 2..20, 2..20),
            ("^(?=look)", 1..20, 1..20),
            ("^\\p{L}{100}$", 10_000..200_000, 1..10),
        ] {
            let cost = Cost::of(pattern);
            assert!(states.contains(&cost.states), "{pattern}: {cost:?}");
            assert!(width.contains(&cost.width), "{pattern}: {cost:?}");
        }
        assert_eq!(Cost::of(&"x".repeat(MAX_PATTERN_TEXT + 1)).states, u64::MAX);
    }
}
