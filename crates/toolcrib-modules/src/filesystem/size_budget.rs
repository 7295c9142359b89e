//! The size limit of results.

/// The maximum size of the names and texts in one result, in bytes: about as much as a model can use.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;

/// The remaining part of [`MAX_RESULT_BYTES`].
pub(super) struct SizeBudget(usize);

impl SizeBudget {
    pub(super) fn new() -> Self {
        Self(MAX_RESULT_BYTES)
    }

    /// Takes a number of bytes. Returns false if fewer are left.
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

/// Returns `1 file was` or `2 files were`, the beginning of a note on omitted content.
pub(super) fn count_were(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one} was") } else { format!("{count} {many} were") }
}
