//! The secrets of this process. The log is there before an app is read, and both know the same collection.

use std::sync::LazyLock;

use toolcrib_results::Secrets;

static SECRETS: LazyLock<Secrets> = LazyLock::new(Secrets::new);

/// Returns the collection that an app adds to and the log takes out.
pub(crate) fn secrets() -> &'static Secrets {
    &SECRETS
}
