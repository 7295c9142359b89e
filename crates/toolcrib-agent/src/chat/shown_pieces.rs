//! A record of whether any piece of a reply was shown.

use super::model::{Piece, TextSink};

/// Passes on the pieces of a reply and records whether there were any. A text that was shown cannot be withdrawn, so no other
/// model is asked after the first piece.
pub(crate) struct ShownPieces<'a, 'b> {
    sink: &'a mut TextSink<'b>,
    pub(crate) anything: bool,
}

impl<'a, 'b> ShownPieces<'a, 'b> {
    pub(crate) fn new(sink: &'a mut TextSink<'b>) -> Self {
        Self { sink, anything: false }
    }

    /// Takes a piece.
    pub(crate) fn take(&mut self, piece: Piece<'_>) {
        self.anything |= !matches!(piece, Piece::Notice(_));
        (self.sink)(piece);
    }
}
