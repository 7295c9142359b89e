//! Whether anything was said.

use crate::{Piece, TextSink};

/// Passes on what a model says, and knows whether it was anything: what was shown cannot be taken back, so nobody else
/// is asked then.
pub(crate) struct Heard<'a, 'b> {
    sink: &'a mut TextSink<'b>,
    pub(crate) anything: bool,
}

impl<'a, 'b> Heard<'a, 'b> {
    pub(crate) fn new(sink: &'a mut TextSink<'b>) -> Self {
        Self { sink, anything: false }
    }

    /// Takes a piece.
    pub(crate) fn take(&mut self, piece: Piece<'_>) {
        self.anything |= !matches!(piece, Piece::Notice(_));
        (self.sink)(piece);
    }
}
