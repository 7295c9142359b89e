//! One entry is changed, and nothing else.

use serde_json::{Map, Value, json};

use super::{Edit, Format};

const JSON: Edit = Edit { format: Format::Json, servers: "mcpServers" };
const TOML: Edit = Edit { format: Format::Toml, servers: "mcp_servers" };

fn entry() -> Map<String, Value> {
    let entry = json!({"command": "/opt/toolcrib", "args": ["serve", "/app.yaml", "--stdio"]});
    entry.as_object().unwrap().clone()
}

/// Texts that people and programs write.
const JSON_TEXTS: [&str; 14] = [
    "{}",
    "{}\n",
    "{\n}\n",
    "{\"a\":1}",
    "{\"mcpServers\":{}}",
    "{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"b\":[1,2]}",
    "{\n  \"mcpServers\": {}\n}\n",
    "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}\n\t},\n\t\"z\": null\n}",
    "{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"}\r\n  }\r\n}\r\n",
    "// head\n{\n  // servers\n  \"mcpServers\": { // here\n    \"a\": {\"command\": \"x\"}, // the first\n    /* b */ \"b\": {\"command\": \"y\"} // the last\n    // and no more\n  },\n}\n",
    "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\",},\n  },\n}\n",
    "{\n  \"mcpServers\": {\n    // nothing yet\n  }\n}\n",
    "{\n  \"url\": \"http://a/*b*/\", // \"mcpServers\": {}\n  \"x\": \"\\\\\\\"//\"\n}\n",
    "{\"a\": 1, \"mcpServers\": {\"é\": {}} /* 😀\n two lines */ }",
];

const TOML_TEXTS: [&str; 7] = [
    "",
    "model = \"m\"\n",
    "model = \"m\"",
    "# head\n[mcp_servers.a]\ncommand = \"x\" # why\n\n[mcp_servers.a.env]\nK = \"v\"\n# the end\n",
    "a = 1\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n",
    "[mcp_servers]\na = { command = \"x\" }\n\n[[list]]\nb = '''\n[mcp_servers.toolcrib]\n'''\n",
    "mcp_servers.a.command = \"x\"\n",
];

#[test]
fn an_entry_comes_and_goes_and_every_other_byte_stays() {
    for (edit, texts) in [(JSON, &JSON_TEXTS[..]), (TOML, &TOML_TEXTS[..])] {
        for text in texts {
            let with = edit
                .with(Some(text), "toolcrib", &entry())
                .unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(edit.entry(&with, "toolcrib").unwrap(), Some(Value::Object(entry())), "{with}");
            let had = edit.read(text).unwrap().contains_key(edit.servers);
            let without = edit.without(&with, "toolcrib", !had).unwrap();
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(squeezed(&without), squeezed(text), "{with}");
            assert_eq!(edit.without(text, "toolcrib", true).unwrap(), *text, "there is nothing to take out");
        }
    }
}

#[test]
fn an_entry_stands_where_a_person_would_have_put_it() {
    let mut shown = String::new();
    for (edit, texts) in [(JSON, &JSON_TEXTS[..]), (TOML, &TOML_TEXTS[..])] {
        for text in texts {
            shown += &edit.with(Some(text), "toolcrib", &entry()).unwrap().replace('\r', "<CR>");
            shown += "\n----\n";
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn where_other_entries_came_meanwhile_ours_alone_goes() {
    let texts = [
        (
            JSON,
            "{\n  \"mcpServers\": {\n    \"a\": {} // first\n  }\n}\n",
            "    \"a\": {}",
            "    \"later\": {},\n    \"a\": {}",
        ),
        (
            TOML,
            "[mcp_servers.a]\ncommand = \"x\"\n",
            "command = \"x\"",
            "command = \"y\"\n[mcp_servers.later]\ncommand = \"z\"",
        ),
    ];
    for (edit, text, old, new) in texts {
        let with = edit.with(Some(text), "toolcrib", &entry()).unwrap().replace(old, new);
        assert_eq!(edit.without(&with, "toolcrib", false).unwrap(), text.replace(old, new));
    }
}

#[test]
fn an_entry_that_takes_the_place_of_another_gives_it_back() {
    let texts = [
        (
            JSON,
            "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      // mine\n      \"url\": \"https://x\"},\n    \"b\": {}\n  }\n}\n",
        ),
        (JSON, "{\"mcpServers\":{\"toolcrib\":{\"url\":\"https://x\"}}}"),
        (
            TOML,
            "[mcp_servers.toolcrib]\nurl = \"https://x\" # mine\n\n[mcp_servers.toolcrib.env]\nK = \"v\"\n\n[b]\nc = 1\n",
        ),
        (TOML, "[mcp_servers]\ntoolcrib = { url = \"https://x\" } # mine\n"),
    ];
    for (edit, text) in texts {
        let was = edit.written(text, "toolcrib").unwrap().unwrap();
        let with = edit.with(Some(text), "toolcrib", &entry()).unwrap();
        assert_eq!(edit.entry(&with, "toolcrib").unwrap(), Some(Value::Object(entry())), "{with}");
        let back = edit.with_written(&with, "toolcrib", &was).unwrap();
        assert_eq!(edit.read(&back).unwrap(), edit.read(text).unwrap(), "{back}");
        assert!(back.contains("mine") == text.contains("mine"), "{back}");
    }
}

#[test]
fn a_text_that_cannot_be_read_is_refused_at_its_place() {
    let deep = "[".repeat(100_000);
    let texts = [
        (JSON, "{\"a\": 1,\n  oops}"),
        (JSON, "{\"a\": 1 /* no end"),
        (JSON, "{\"a\": 1, \"a\": 2}"),
        (JSON, "{\"mcpServers\": [], \"b\": {,}}"),
        (JSON, "[1]"),
        (JSON, "{\"a\": 1} {}"),
        (JSON, &deep),
        (TOML, "a = 1\nb = = 2\n"),
        (TOML, "mcp_servers = 1\n"),
        (TOML, "mcp_servers = { a = { command = \"x\" } }\n"),
        (TOML, "[mcp_servers]\ntoolcrib.command = \"x\"\n"),
    ];
    let mut shown = String::new();
    for (edit, text) in texts {
        let problem = edit.with(Some(text), "toolcrib", &entry()).unwrap_err();
        shown.extend([problem.in_file("f"), "\n".to_owned()]);
    }
    let object = JSON.with(Some("{\n \"mcpServers\": []}"), "toolcrib", &entry()).unwrap_err();
    shown += &object.in_file("f");
    insta::assert_snapshot!(shown);
}

#[test]
fn hostile_names_and_values_come_back_as_they_were() {
    let entry = json!({"command": "a\"b\\c\n\u{7f}\u{1}é😀", "args": ["${x}", "'''", "\u{2028}"], "env": {"a.b": "]"}});
    for edit in [JSON, TOML] {
        let with = edit.with(None, "a\"]\n.b", entry.as_object().unwrap()).unwrap();
        assert_eq!(edit.entry(&with, "a\"]\n.b").unwrap(), Some(entry.clone()), "{with}");
    }
}
