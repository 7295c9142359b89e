//! The resources that agent runs spend.

/// An amount of what runs spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, in millionths of the currency that prices are in.
    pub cost: u64,
    /// Calls of tools.
    pub calls: u64,
}

/// A resource that is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// [`Amount::tokens`].
    Tokens,
    /// [`Amount::cost`].
    Cost,
    /// [`Amount::calls`].
    Calls,
}

impl Amount {
    /// Returns both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    /// Returns this amount minus the other, at least zero.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
            calls: self.calls.saturating_sub(other.calls),
        }
    }
}
