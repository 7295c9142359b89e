//! Links that lead somewhere, and links that do not.

use std::fs;
use std::path::Path;

/// Writes a small documentation and returns what its check reports.
fn report(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let default =
        [("docs/SUMMARY.md", "[A](a.md)"), ("docs/a.md", ""), ("README.md", ""), ("python/README.md", "")];
    for (path, text) in default.iter().chain(files) {
        write(path, text);
    }
    for source in super::SOURCES {
        fs::create_dir_all(folder.path().join(source)).unwrap();
    }
    super::check(folder.path()).unwrap()
}

#[test]
fn a_link_to_a_missing_page_or_heading_is_reported_with_its_line() {
    let page =
        "# A `code` title!\n\n[one](#a-code-title) [two](#other)\n[three](b.md)\n[site](https://x.example)\n";
    assert_eq!(
        report(&[("docs/a.md", page)]),
        ["docs/a.md:3: docs/a.md has no heading #other", "docs/a.md:4: there is no docs/b.md"]
    );
}

#[test]
fn links_in_code_are_no_links() {
    assert_eq!(report(&[("docs/a.md", "`[x](b.md)`\n\n```md\n[x](b.md)\n```\n")]), [""; 0]);
}

#[test]
fn a_page_is_in_the_table_of_contents_and_links_stay_in_the_site() {
    assert_eq!(
        report(&[("docs/b.md", "[up](../README.md) [out](../../x.md)")]),
        [
            "docs/b.md:1: ../README.md leads out of the site",
            "docs/b.md:1: ../../x.md leads out of the repository",
            "docs/b.md is not in docs/SUMMARY.md",
        ]
    );
}

#[test]
fn a_second_heading_of_the_same_name_has_a_number() {
    assert_eq!(report(&[("docs/a.md", "# Use\n## Use\n[x](#use-1) [y](#use-2)\n")]).len(), 1);
}

#[test]
fn a_source_file_names_pages_where_they_are() {
    let source = "// See `docs/reference/a.md` and docs/b.md, not docs/**/*.md or docs/mine.md.";
    let pages = [
        ("docs/SUMMARY.md", "[A](a.md) [B](reference/b.md)"),
        ("docs/reference/b.md", ""),
        ("crates/x.rs", source),
    ];
    assert_eq!(
        report(&pages),
        ["crates/x.rs: there is no docs/b.md", "crates/x.rs: there is no docs/reference/a.md"]
    );
    assert!(Path::new(super::SUMMARY).starts_with(super::SITE));
}
