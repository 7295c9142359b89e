//! The promises of readable pages. Pages of the web are tested with `http.fetch_page`.

use super::{ReadablePage, is_page};

#[test]
fn a_page_becomes_markdown_with_its_title_and_absolute_links() {
    let html = "<!doctype html><title>Orders</title><nav><a href='/'>Home</a></nav><h2>Open</h2>\
        <table><tr><th>Id<th>Total<tr><td>7<td>12 €</table><ul><li>see <a href='https://shop.example/7'>order 7</a>\
        <li><a href='/8'>order 8</a></ul><script>track()</script>";
    let page = ReadablePage::read(html, None, &|| Ok(())).unwrap();
    insta::assert_snapshot!(page.to_markdown(), @r"
    # Orders

    ## Open

    Id | Total
    7 | 12 €
    * see order 7
    * order 8

    * [order 7](https://shop.example/7)
    ");
}

#[test]
fn only_whole_pages_are_taken_for_html() {
    for page in ["<!DOCTYPE html><p>", "\n <html lang=en>", "<HTML>"] {
        assert!(is_page(page), "{page}");
    }
    for text in ["", "<p>a</p>", "the tag <html> begins a page", "<htm", "{\"html\": \"<html>\"}"] {
        assert!(!is_page(text), "{text}");
    }
}
