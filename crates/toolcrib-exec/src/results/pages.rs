//! A text in pages.

/// A text in pages of a number of bytes at most, which end with a line where one ends near. Together they are the text.
pub(super) struct Pages<'a> {
    text: &'a str,
    bytes: usize,
}

impl<'a> Pages<'a> {
    pub(super) fn new(text: &'a str, bytes: usize) -> Self {
        // A page holds at least one character, of which none takes more than four bytes.
        Self { text, bytes: bytes.max(4) }
    }

    /// A page, counted from 1, and the byte that it starts at.
    pub(super) fn get(&self, page: usize) -> Option<(usize, &'a str)> {
        self.iter().nth(page.checked_sub(1)?)
    }

    /// How many there are; an empty text has one.
    pub(super) fn count(&self) -> usize {
        self.iter().count()
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let Self { text, bytes } = *self;
        let first = Some((0, page_at(text, 0, bytes)));
        std::iter::successors(first, move |(start, page)| {
            let next = start + page.len();
            (next < text.len()).then(|| (next, page_at(text, next, bytes)))
        })
    }
}

fn page_at(text: &str, start: usize, bytes: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    if rest.len() <= bytes {
        return rest;
    }
    let page = super::words::head(rest, bytes);
    let end = page.rfind('\n').map_or(0, |at| at + 1);
    page.get(..end).filter(|whole| whole.len() >= page.len() / 2).unwrap_or(page)
}
