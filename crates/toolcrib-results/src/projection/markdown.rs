//! Pages of HTML as Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::timeout;
use toolcrib_html::{ReadablePage, is_page};
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_port::CallContext;

use super::MAX_COUNTED_BYTES;
use crate::Results;
use crate::read_result::cancellable_search::CancelFlag;
use crate::store::{Format, Owner, StoredResult};

/// The maximum time in which a page is read.
const MAX_TIME: Duration = Duration::from_secs(2);

impl Results {
    /// Returns the Markdown of a result that is a page of HTML, with the handle of the page; `None` for any other result,
    /// and for a page whose Markdown has as many tokens, or that is too long to be counted.
    pub(super) async fn markdown(&self, result: &ToolResult, context: &CallContext) -> Option<String> {
        let html = result.result.as_str().filter(|text| text.len() <= MAX_COUNTED_BYTES && is_page(text))?;
        let cancel = CancelFlag::default();
        // The thread ends when this future is dropped.
        let _waiting = cancel.cancel_on_drop();
        let (page, flag) = (html.to_owned(), cancel.clone());
        let check = move || {
            let message = "the page takes too long to read";
            if flag.is_cancelled() { Err(ToolError::new(ErrorKind::LimitReached, message)) } else { Ok(()) }
        };
        let read = tokio::task::spawn_blocking(move || ReadablePage::read(&page, None, &check));
        let page = timeout(MAX_TIME, read).await.ok()?.ok()?.ok()?;
        let mut text = page.to_markdown();
        if text.is_empty() || self.counter.count(&text) >= self.counter.count(html) {
            return None;
        }
        let page =
            StoredResult::new(Owner::of(context), result.name.clone(), html.to_owned(), Format::Text, None);
        if let (_, Some(handle)) = self.store.insert(page) {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n\n(The readable part of a web page. read_result(handle=\"{handle}\") has its HTML.)"
            );
        }
        Some(text)
    }
}
