//! What is found, in what order, and what is said of it.

use std::sync::Arc;

use serde_json::json;

use super::{found, index, name, search, tool, workshop};
use crate::embedding::{BuiltinEmbedder, Embeddings};
use crate::{Field, Reason, SearchIndex, SearchOptions, SearchSettings};

#[test]
fn every_text_of_a_tool_is_searched() {
    let everything = tool("kitchen_garden::quince", "apricot")
        .with_metadata("title", "banana")
        .with_metadata("tags", json!(["cherry"]))
        .with_metadata("aliases", json!(["датель"]))
        .with_metadata("side_effects", json!(["elderberry"]))
        .with_parameters(json!({"type": "object", "properties": {
            "fig_size": {"description": "grape", "enum": ["hazelnut", "ilama"]},
            "jujube": {"type": "object", "properties": {"kiwi": {"description": "lemon",
                "properties": {"toodeep": {"type": "string"}}}}},
            "rows": {"type": "array", "items": {"properties": {"mango": {}}}},
            "choice": {"anyOf": [{"properties": {"nectarine": {}}}]},
            "linked": {"$ref": "#/$defs/olive"},
        }, "$defs": {"olive": {"description": "papaya", "properties": {"raisin": {}}}}}))
        .with_output_parameters(json!({"properties": {"strawberry": {"description": "tangerine"}}}));
    let index = index(&[everything, tool("a::b", "c"), tool("d::e", "f")]);
    for (word, field) in [
        ("quince", Field::Name),
        ("garden", Field::Category),
        ("apricot", Field::Description),
        ("banana", Field::Keywords),
        ("cherry", Field::Keywords),
        ("датель", Field::Keywords),
        ("elderberry", Field::Results),
        ("fig", Field::Parameters),
        ("figsize", Field::Parameters),
        ("grapes", Field::Parameters),
        ("ilama", Field::Parameters),
        ("kiwi", Field::Parameters),
        ("lemon", Field::Parameters),
        ("mango", Field::Parameters),
        ("nectarine", Field::Parameters),
        ("papaya", Field::Parameters),
        ("raisin", Field::Parameters),
        ("strawberry", Field::Results),
        ("tangerine", Field::Results),
    ] {
        let outcome = index.search(word, &SearchOptions::default());
        assert_eq!(found(&outcome), ["kitchen_garden::quince"], "{word}");
        assert_eq!(outcome.hits[0].explain.fields, [field], "{word}");
    }
    assert!(search(&index, "toodeep").is_empty());
}

#[test]
fn a_part_or_a_slip_of_a_name_word_is_understood() {
    let index = workshop();
    for query in ["zepp", "zeppelins", "zepelin", "zeppelni", "zappelin"] {
        assert_eq!(search(&index, query), ["zeppelin::zeppelin"], "{query}");
    }
    assert!(search(&index, "zx").is_empty());
    assert!(search(&index, "zipfelin").is_empty());
}

#[test]
fn a_part_or_a_slip_of_an_alias_or_a_tag_is_understood() {
    let aliased = tool("a::x", "Paints a wall.").with_metadata("aliases", json!(["frobnicate the gearbox"]));
    let tagged = tool("b::y", "Lists the orders.").with_metadata("tags", json!(["quarterly"]));
    let index = index(&[aliased, tagged, tool("c::z", "Sends a letter.")]);
    for query in ["frobni", "frobnicte", "frobincate", "gearbx"] {
        assert_eq!(search(&index, query), ["a::x"], "{query}");
    }
    for query in ["quarter", "quartrely"] {
        assert_eq!(search(&index, query), ["b::y"], "{query}");
    }
    assert_eq!(search(&index, "lette"), Vec::<String>::new(), "descriptions are long, and not completed");
}

#[test]
fn synonyms_are_found_and_weigh_less_than_the_word() {
    assert_eq!(search(&workshop(), "erase"), ["files::remove_file"]);
    assert_eq!(search(&workshop(), "supprimer"), ["files::remove_file"]);
    let index = index(&[
        tool("a::x", "remove a thing"),
        tool("b::y", "delete a thing"),
        tool("c::z", "erase a thing"),
    ]);
    assert_eq!(search(&index, "delete the item"), ["b::y", "a::x", "c::z"]);
}

#[test]
fn queries_in_other_languages_find_aliases() {
    assert_eq!(search(&workshop(), "je veux lire un fichier")[0], "files::read");
    assert_eq!(search(&workshop(), "请帮我读取一个文件")[0], "files::read");
}

#[test]
fn ties_are_broken_by_name_and_the_order_of_tools_does_not_matter() {
    let mut tools: Vec<_> = ["n::d", "n::a", "m::z", "n::c"].map(|name| tool(name, "paints a wall")).into();
    let expected = ["m::z", "n::a", "n::c", "n::d"];
    assert_eq!(search(&index(&tools), "paint walls"), expected);
    tools.reverse();
    assert_eq!(search(&index(&tools), "paint walls"), expected);
}

#[test]
fn overloads_are_one_entry_with_the_text_of_all() {
    let other = tool("mail::send", "Sends a parcel.").with_parameters(json!({"properties": {"weight": {}}}));
    let index = index(&[tool("mail::send", "Sends a letter."), other]);
    assert_eq!(index.len(), 1);
    assert_eq!(search(&index, "letter"), ["mail::send"]);
    assert_eq!(search(&index, "weight of a parcel"), ["mail::send"]);
}

#[test]
fn what_is_hidden_appears_nowhere() {
    let index = workshop();
    let options = SearchOptions {
        limit: 20,
        filter: Some(&|name| name.namespace() != "files"),
        ..SearchOptions::default()
    };
    for query in ["files.read", "read a file", "files raed", "filess", "remove_file", "qqqqfiles"] {
        let outcome = index.search(query, &options);
        let hidden = outcome
            .hits
            .iter()
            .map(|hit| &hit.name)
            .chain(&outcome.nearest)
            .any(|n| n.namespace() == "files");
        assert!(!hidden, "{query}: {outcome:?}");
    }
    let nothing = SearchOptions { limit: 20, filter: Some(&|_| false), ..SearchOptions::default() };
    let outcome = index.search("files.read", &nothing);
    assert_eq!(
        (outcome.hits.len(), outcome.no_match, outcome.nearest.len(), outcome.withheld),
        (0, Some(Reason::NotPermitted), 0, 1)
    );
    let outcome = index.search("zirconium futures", &nothing);
    assert_eq!((outcome.no_match, outcome.withheld), (Some(Reason::NothingSimilar), 0));
}

#[test]
fn nothing_found_has_a_reason_and_the_nearest_names() {
    let index = workshop();
    for query in ["", "  \n", "?!…"] {
        let outcome = index.search(query, &SearchOptions::default());
        assert_eq!((outcome.no_match, outcome.nearest.len()), (Some(Reason::EmptyQuery), 0), "{query:?}");
    }
    let outcome = index.search("wethr", &SearchOptions::default());
    assert_eq!(outcome.no_match, Some(Reason::NothingSimilar));
    assert_eq!(outcome.nearest[0], name("weather_api::getWeather"));
    assert!(outcome.nearest.len() <= 3);
    assert_eq!(
        index.search("please help me", &SearchOptions::default()).no_match,
        Some(Reason::NothingSimilar)
    );
}

#[test]
fn an_outcome_says_why() {
    let outcome = workshop().search("Warnings of heavy storms", &SearchOptions::default());
    let hit = &outcome.hits[0];
    assert_eq!(hit.name, name("weather_api::getWeatherAlerts"));
    let keyword = hit.explain.keyword.unwrap();
    assert_eq!(
        (keyword.rank, keyword.share, keyword.weight, hit.explain.fused),
        (Some(1), 1.0, 1.0, hit.score)
    );
    assert!(keyword.score > 0.0 && hit.explain.meaning.is_none() && !hit.explain.exact);
    assert_eq!(hit.explain.terms, ["warnings", "storms"]);
    assert_eq!(hit.explain.fields, [Field::Description]);
    assert_eq!(
        serde_json::to_value(outcome.hits[0].explain.keyword).unwrap(),
        json!({"rank": 1, "score": keyword.score, "share": 1.0, "weight": 1.0})
    );
    assert_eq!((outcome.no_match, outcome.nearest.len(), outcome.withheld), (None, 0, 0));
}

#[test]
fn words_of_an_app_stand_for_each_other() {
    let tools = [tool("a::x", "Books a berth."), tool("b::y", "Paints a wall.")];
    let synonyms = vec![vec!["berth".to_owned(), "Liege Platz".to_owned(), "couchette".to_owned()], vec![]];
    let settings = SearchSettings { synonyms, ..SearchSettings::default() };
    let index = SearchIndex::build_with(&tools, &settings).unwrap();
    assert_eq!(search(&index, "une couchette"), ["a::x"]);
    assert_eq!(search(&index, "liege-platz"), ["a::x"]);
    let many = vec![vec!["berth".to_owned(); 200]; 2000];
    let settings = SearchSettings { synonyms: many, ..SearchSettings::default() };
    assert_eq!(search(&SearchIndex::build_with(&tools, &settings).unwrap(), "berth"), ["a::x"]);
}

#[tokio::test]
async fn what_an_app_calls_a_thing_is_as_sure_as_the_word_that_its_tools_have() {
    let tools = [
        tool("billing::list", "Lists the invoices of a customer."),
        tool("billing::void", "Cancels an invoice."),
        tool("files::read", "Reads the text of a file."),
        tool("weather::forecast", "The weather of the next days."),
        tool("mail::send", "Sends a message to a person."),
        tool("orders::track", "Where a purchase order is on its way."),
    ]
    .map(Arc::new);
    let group = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let synonyms = vec![
        group(&["zorblat", "invoice"]),
        group(&["Krumm Stück", "purchase order"]),
        group(&["blorp", "quux"]),
    ];
    let with = async |synonyms: Vec<Vec<String>>| {
        let settings = SearchSettings { synonyms, ..SearchSettings::default() };
        let index = SearchIndex::build_with(tools.iter().map(AsRef::as_ref), &settings).unwrap();
        let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
        embeddings.finished().await;
        index.attach(embeddings.vectors().unwrap());
        index
    };
    let (bare, own) = (with(Vec::new()).await, with(synonyms).await);
    for (query, first) in [
        ("my zorblats", "billing::list"),
        ("a zorblat that came twice by mistake", "billing::void"),
        ("the zorblats of last summer, please", "billing::list"),
        ("what became of the Krumm Stück?", "orders::track"),
        ("krumm-stück", "orders::track"),
    ] {
        let of_own = own.search(query, &SearchOptions::default());
        assert_eq!(of_own.no_match, None, "{query}: {:?}", of_own.evidence);
        assert!(found(&of_own).iter().any(|name| name == first), "{query}: {:?}", found(&of_own));
        let of_bare = bare.search(query, &SearchOptions::default());
        assert!(of_bare.is_weak() || of_bare.no_match.is_some(), "{query}: {:?}", of_bare.evidence);
    }
    // A group of which the tools have no word makes nothing surer.
    for query in ["blorp", "chop the blorp wood", "zorb"] {
        let of_own = own.search(query, &SearchOptions::default());
        assert!(of_own.is_weak() || of_own.no_match.is_some(), "{query}: {:?}", of_own.evidence);
    }
}

#[test]
fn a_category_that_a_tool_says_of_itself_is_searched() {
    let index = index(&[tool("a::x", "").with_metadata("category", "gardening"), tool("b::y", "")]);
    assert_eq!(search(&index, "garden"), ["a::x"]);
}

#[test]
fn a_query_of_stop_words_finds_the_tool_of_that_name() {
    let index = index(&[tool("hello::hello", "Says so."), tool("b::y", "Paints.")]);
    for query in ["hello", "Hello!", "`hello`, please"] {
        assert_eq!(search(&index, query)[0], "hello::hello", "{query}");
    }
}
