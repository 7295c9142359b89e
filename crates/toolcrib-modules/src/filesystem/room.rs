//! How large a result gets.

/// The most bytes of names and text in one result: about as much as a model can make use of.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;

/// What is left of [`MAX_RESULT_BYTES`].
pub(super) struct Room(usize);

impl Room {
    pub(super) fn new() -> Self {
        Self(MAX_RESULT_BYTES)
    }

    /// Takes so many bytes, if there are as many left.
    #[must_use]
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// `1 file was`, `2 files were`: the beginning of a sentence on what was left out.
pub(super) fn were(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one} was") } else { format!("{count} {many} were") }
}
