//! Whatever comes in, an answer of bounded size goes out.

use serde_json::json;

use super::{index, search, tool, workshop};
use crate::limits::MAX_LIMIT;
use crate::{MAX_QUERY_BYTES, Reason, SearchIndex, SearchOptions};

#[test]
fn no_tools_make_an_index_that_finds_nothing() {
    let index = SearchIndex::build([]).unwrap();
    assert!(index.is_empty());
    assert_eq!(index.search("read", &SearchOptions::default()).no_match, Some(Reason::NothingSimilar));
}

#[test]
fn the_limit_is_brought_into_its_range() {
    let tools: Vec<_> = (0..50).map(|n| tool(&format!("n::paint_{n}"), "Paints.")).collect();
    let index = index(&tools);
    for (limit, expected) in [(0, 1), (7, 7), (usize::MAX, MAX_LIMIT)] {
        assert_eq!(
            index.search("paints", &SearchOptions { limit, ..SearchOptions::default() }).hits.len(),
            expected
        );
        assert_eq!(
            index.search("paint", &SearchOptions { limit, ..SearchOptions::default() }).hits.len(),
            expected
        );
    }
    assert_eq!(search(&index, "paints").len(), 5);
}

#[test]
fn a_query_is_read_to_its_bound() {
    let index = workshop();
    let near = format!("{} storms", "x ".repeat(100));
    assert_eq!(search(&index, &near), ["weather_api::getWeatherAlerts"]);
    let far = format!("{} storms", "x ".repeat(MAX_QUERY_BYTES / 2));
    assert!(search(&index, &far).is_empty());
    for long in ["é".repeat(100_000), "getWeather ".repeat(10_000), "天".repeat(100_000), "a_".repeat(50_000)]
    {
        assert!(index.search(&long, &SearchOptions::default()).hits.len() <= 5);
    }
    let many: Vec<String> = (0..400).map(|n| format!("w{n}")).collect();
    assert!(search(&index, &many.join(" ")).is_empty());
}

#[test]
fn a_huge_description_is_indexed_to_its_bound() {
    let index =
        index(&[tool("a::b", &format!("storms {} tail", "word ".repeat(250_000))), tool("c::d", "x")]);
    assert_eq!(search(&index, "storms"), ["a::b"]);
    assert!(search(&index, "tail").is_empty());
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let endless = json!({"$ref": "#/$defs/node", "$defs": {"node": {
        "anyOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}],
        "properties": {"storms": {"$ref": "#/$defs/node"}},
        "items": {"$ref": "#/$defs/node"},
    }}});
    let index = index(&[tool("a::b", "").with_parameters(endless), tool("c::d", "x")]);
    assert_eq!(search(&index, "storms"), ["a::b"]);
}

#[test]
fn names_and_texts_of_odd_characters_do_no_harm() {
    let index = index(&[
        tool("\u{1F600}::\u{1F600}", "\u{0}\u{7}"),
        tool("a::\u{0301}", "\u{FDFA}"),
        tool(&format!("{}::{}", "n".repeat(256), "m_".repeat(128)), "storms"),
    ]);
    for query in ["\u{1F600}", "\u{0301}\u{0301}", "\u{FDFA}", "'", "`", "a'", "::", "__"] {
        assert!(index.search(query, &SearchOptions::default()).hits.len() <= 3);
    }
    let long = format!("{}.{}", "n".repeat(256), "m_".repeat(128));
    assert!(index.search(&long, &SearchOptions::default()).hits[0].explain.exact);
}
