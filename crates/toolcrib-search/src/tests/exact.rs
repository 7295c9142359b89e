//! A query that names tools gets those first.

use super::{found, index, search, tool, workshop};
use crate::SearchOptions;

/// Everything that the query counts as a name, in order.
fn named(query: &str) -> Vec<String> {
    let outcome = workshop().search(query, &SearchOptions { limit: 20, ..SearchOptions::default() });
    outcome.hits.into_iter().filter(|hit| hit.explain.exact).map(|hit| hit.name.to_string()).collect()
}

#[test]
fn every_spelling_of_a_full_name_is_a_name() {
    for spelling in [
        "files::read",
        "files.read",
        "files__read",
        "files/read",
        "FILES.READ",
        "filesRead",
        "files-read",
        "files read",
    ] {
        assert_eq!(named(&format!("what does {spelling} say of storms")), ["files::read"], "{spelling}");
    }
}

#[test]
fn a_bare_name_of_several_parts_is_a_name_wherever_it_stands() {
    for query in
        ["getWeather", "run get_weather in Rome", "storms? get-weather!", "(GetWeather)", "`getweather`"]
    {
        assert_eq!(named(query), ["weather_api::getWeather"], "{query}");
    }
    assert_eq!(named("get weather at a place"), Vec::<String>::new());
}

#[test]
fn a_bare_name_of_one_word_is_a_name_when_that_is_clear() {
    for query in [
        "send",
        "please send",
        "use send for it",
        "call the files; call send",
        "`send` a letter",
        "send() it",
        "the send tool",
    ] {
        assert_eq!(named(query), ["mail::send"], "{query}");
    }
    for query in ["send a letter", "read my mail and send it", "resend", "sender", "send_letter", "post.send"]
    {
        assert_eq!(named(query), Vec::<String>::new(), "{query}");
    }
    assert_eq!(named("fly by zeppelin to Oslo"), ["zeppelin::zeppelin"]);
}

#[test]
fn several_names_come_in_the_order_of_mention() {
    assert_eq!(
        named("first mail.send then getWeather, then files.read and mail.send again"),
        ["mail::send", "weather_api::getWeather", "files::read"]
    );
}

#[test]
fn a_name_inside_a_longer_name_is_not_meant() {
    assert_eq!(named("use files.read"), ["files::read"]);
    assert_eq!(named("getWeatherAlerts"), ["weather_api::getWeatherAlerts"]);
}

#[test]
fn a_bare_name_in_two_namespaces_names_both() {
    let mut both = named("use read");
    both.sort_unstable();
    assert_eq!(both, ["database::read", "files::read"]);
}

#[test]
fn the_spelling_that_is_written_beats_one_that_differs() {
    let index = index(&[tool("a::getUser", "x"), tool("b::get_user", "x"), tool("c::get-user", "x")]);
    assert_eq!(search(&index, "get_user")[0], "b::get_user");
    assert_eq!(search(&index, "getUser")[0], "a::getUser");
    assert_eq!(search(&index, "get-user")[0], "c::get-user");
}

#[test]
fn a_named_tool_stands_above_a_better_text() {
    let index = index(&[
        tool("a::lookup_thing", "Nothing of the sort."),
        tool("b::storm_warnings", "Storm warnings, storm alerts, storms of today"),
    ]);
    let outcome = index.search("lookup_thing storm warnings alerts today", &SearchOptions::default());
    assert_eq!(found(&outcome), ["a::lookup_thing", "b::storm_warnings"]);
    assert!(outcome.hits[0].score > outcome.hits[1].score);
    assert!(outcome.hits[0].explain.fused < outcome.hits[1].explain.fused);
}

#[test]
fn names_of_stop_words_and_of_other_scripts_are_names() {
    let index = index(&[
        tool("x::all", "Everything."),
        tool("x::天气查询", "Weather."),
        tool("api::GET /users/{id}", "One user."),
        tool("x::nothing", "-"),
    ]);
    for (query, expected) in [
        ("all", "x::all"),
        ("what does `all` do", "x::all"),
        ("give x.all now", "x::all"),
        ("请用天气查询看看", "x::天气查询"),
        ("do GET /users/{id} first", "api::GET /users/{id}"),
    ] {
        let outcome = index.search(query, &SearchOptions::default());
        assert_eq!(found(&outcome)[0], expected, "{query}");
        assert!(outcome.hits[0].explain.exact, "{query}");
    }
    assert_eq!(search(&index, "tell me all of it"), Vec::<String>::new());
}

#[test]
fn a_hidden_tool_does_not_shadow_the_name_inside_its_own() {
    let index = workshop();
    let options =
        SearchOptions { filter: Some(&|name| name.namespace() != "files"), ..SearchOptions::default() };
    assert_eq!(found(&index.search("use files read", &options)), ["database::read"]);
}
