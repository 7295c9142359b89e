//! What the registry promises.

mod compat;
mod dataflow;
mod model;
mod overloads;
mod patches;
mod properties;
mod refresh;
mod session_tools;
mod simple_schema;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use crate::build::{LoadedSource, build};
use crate::shape::Shapes;
use crate::{Entry, FindError, Snapshot, ToolRegistry};

fn tool(namespace: &str, name: &str) -> Tool {
    Tool::new(QualifiedName::new(namespace, name).unwrap())
}

fn with_properties(namespace: &str, name: &str, properties: &Value) -> Tool {
    let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    tool(namespace, name)
        .with_parameters(json!({"type": "object", "properties": properties, "required": required}))
}

fn snapshot(tools: Vec<Tool>) -> Arc<Snapshot> {
    ToolRegistry::from_tools("test", tools).unwrap().snapshot()
}

/// The first snapshot of these sources: name, exclusive namespace, and what they gave.
fn first<const N: usize>(sources: [(&str, Option<&str>, LoadOutcome); N]) -> Snapshot {
    let mut sources = sources.map(|(name, namespace, loaded)| LoadedSource::new(name, namespace, loaded));
    build(&Snapshot::default(), &mut sources, &Shapes::default())
}

#[test]
fn a_tool_that_has_changed_is_held_back_and_a_call_of_it_says_so() {
    let reason = "it is not the one that was approved";
    let reject = toolcrib_port::Reject::tool("mcp s", "s.drop_it", RejectKind::Changed, reason);
    let loaded = LoadOutcome { tools: vec![tool("s", "drop")], rejected: vec![reject] };
    let snapshot = first([("mcp s", Some("s"), loaded)]);
    for spelling in ["s.drop_it", "s::drop_it", "s__drop_it", "drop_it", " s.drop_it "] {
        let error = snapshot.find(spelling, |_| true).unwrap_err();
        let error = toolcrib_model::ToolError::from(&error);
        assert_eq!(error.kind, toolcrib_model::ErrorKind::ToolChanged, "{spelling}: {error}");
        assert!(error.message.contains(reason), "{error}");
    }
    assert!(matches!(snapshot.find("s.dropit", |_| true), Err(FindError::Unknown { .. })));
    assert!(snapshot.find("s.drop", |_| true).is_ok());
}

#[test]
fn hidden_characters_of_any_source_are_gone_before_anybody_reads_the_tool() {
    const HIDDEN: &str = "\u{202e}\u{e0041}\u{200b}\u{1b}[31m";
    let dirty = |text: &str| format!("{text}{HIDDEN}");
    let schema = |text: &str| json!({"properties": {"p": {"title": text, "items": {"description": text}}}});
    let of = |text: &str| {
        tool("team", "t")
            .with_description(text)
            .with_parameters(schema(text))
            .with_output_parameters(schema(text))
            .with_metadata("title", text)
            .with_metadata("tags", vec![text])
    };
    let plain = snapshot(vec![of("text")]);
    let cleaned = snapshot(vec![of(&dirty("text"))]);
    let [plain, cleaned] = [&plain, &cleaned].map(|snapshot| Arc::clone(&snapshot.all()[0]));
    assert_eq!(cleaned.tool, plain.tool);
    assert_eq!(cleaned.fingerprint, plain.fingerprint);
    assert_eq!(
        plain.fingerprint,
        of("text").fingerprint(),
        "clean schemas keep the fingerprint that they had"
    );
}

#[test]
fn a_tool_is_rejected_whose_arguments_have_hidden_characters_in_their_names() {
    let dirty = tool("team", "t").with_parameters(json!({"properties": {"p\u{200b}": {}}}));
    let loaded = LoadOutcome { tools: vec![dirty, tool("team", "other")], rejected: vec![] };
    let snapshot = first([("test", None, loaded)]);
    assert_eq!(snapshot.iter().len(), 1);
    let reject = &snapshot.rejected()[0];
    assert_eq!((reject.name.as_deref(), reject.kind), (Some("team::t"), RejectKind::InvalidSchema));
    assert!(reject.reason.contains("`p` has the invisible character U+200B"), "{}", reject.reason);
}

#[test]
fn nobody_adds_to_a_namespace_that_belongs_to_another_source() {
    let one = |namespace: &str| LoadOutcome { tools: vec![tool(namespace, "read")], rejected: vec![] };
    let snapshot = first([
        ("file x", None, one("filesystem")),
        ("module filesystem", Some("filesystem"), one("filesystem")),
        ("mcp filesystem", Some("filesystem"), one("filesystem")),
    ]);
    let kept: Vec<_> = snapshot.iter().map(|entry| entry.source.to_string()).collect();
    assert_eq!(kept, ["module filesystem"]);
    let reasons: Vec<_> =
        snapshot.rejected().iter().map(|reject| (reject.kind, reject.reason.as_str())).collect();
    assert_eq!(reasons.len(), 2);
    assert_eq!(reasons[0].0, RejectKind::NamespaceTaken);
    assert_eq!(
        reasons[0].1,
        "the namespace `filesystem` belongs to module filesystem, and file x may not add to it; use another `namespace`"
    );
}

fn all(_: &Entry) -> bool {
    true
}

#[test]
fn a_twin_is_refused_and_both_origins_are_named() {
    let twins = |name: &str| LoadOutcome { tools: vec![tool("a", name)], rejected: vec![] };
    let snapshot = first([("one.yaml", None, twins("b")), ("two.yaml", None, twins("b"))]);
    assert_eq!(snapshot.iter().len(), 1);
    let reject = &snapshot.rejected()[0];
    assert_eq!(reject.kind, RejectKind::Duplicate);
    assert_eq!(
        reject.reason,
        "duplicate tool: a::b with identical input schema registered twice, by one.yaml and by two.yaml; \
         remove one, or give one of the sources a separate namespace"
    );
    assert!(ToolRegistry::from_tools("test", [tool("a", "b"), tool("a", "b")]).is_err());
}

#[test]
fn a_broken_schema_rejects_its_tool_and_no_other() {
    let broken = tool("a", "broken").with_parameters(json!({"type": "strng"}));
    let external = tool("a", "external").with_parameters(json!({"$ref": "https://example.com/x.json"}));
    let loaded =
        LoadOutcome { tools: vec![tool("a", "one"), broken, external, tool("a", "two")], rejected: vec![] };
    let snapshot = first([("s", None, loaded)]);
    assert_eq!(snapshot.tool_names().map(QualifiedName::name).collect::<Vec<_>>(), ["one", "two"]);
    let kinds: Vec<_> = snapshot.rejected().iter().map(|reject| reject.kind).collect();
    assert_eq!(kinds, [RejectKind::InvalidSchema, RejectKind::ExternalRef]);
}

#[test]
fn every_spelling_finds_the_tool() {
    let snapshot = snapshot(vec![tool("math.basic", "add_up"), tool("files", "read"), tool("notes", "read")]);
    let find = |spelling: &str| {
        snapshot.find(spelling, all).map(|overloads| overloads.first().unwrap().tool.name.to_string())
    };
    for spelling in ["math.basic::add_up", "math.basic.add_up", "math.basic__add_up", "add_up", " add_up "] {
        assert_eq!(find(spelling).unwrap(), "math.basic::add_up", "{spelling}");
    }
    let FindError::Ambiguous { candidates, .. } = find("read").unwrap_err() else { panic!() };
    assert_eq!(
        candidates.iter().map(QualifiedName::dotted).collect::<Vec<_>>(),
        ["files.read", "notes.read"]
    );
}

#[test]
fn a_folded_spelling_finds_the_only_tool_that_it_may_mean() {
    let snapshot = snapshot(vec![
        tool("filesystem", "read"),
        tool("my-crm", "send.mail"),
        tool("my_crm", "send_mail"),
        tool("vault", "Drop_It"),
    ]);
    let may_see = |entry: &Entry| entry.tool.name.namespace() != "vault";
    let find = |spelling: &str| {
        snapshot.find(spelling, may_see).map(|overloads| overloads.first().unwrap().tool.name.to_string())
    };
    for spelling in ["filesystem_read", "Filesystem.Read", "FILESYSTEM/read", "filesystem-read", "READ"] {
        assert_eq!(find(spelling).unwrap(), "filesystem::read", "{spelling}");
    }
    // The exact spellings still mean what they meant.
    assert_eq!(find("my-crm.send.mail").unwrap(), "my-crm::send.mail");
    let FindError::Ambiguous { candidates, .. } = find("MY_CRM_SEND_MAIL").unwrap_err() else { panic!() };
    assert_eq!(
        candidates.iter().map(QualifiedName::dotted).collect::<Vec<_>>(),
        ["my-crm.send.mail", "my_crm.send_mail"]
    );
    // What may not be seen is not found, nor is a text that is meant exactly.
    for spelling in [
        "drop-it",
        "vault/drop_it",
        "Filesystem::Read",
        "filesystemread",
        "filesystem..read",
        "filesystem.read.",
        "",
    ] {
        assert!(matches!(find(spelling), Err(FindError::Unknown { .. })), "{spelling}");
    }
}

#[test]
fn every_spelling_that_means_one_tool_finds_it_also_in_camel_case_and_with_the_prefix_of_a_client() {
    let snapshot = snapshot(vec![
        tool("acme", "find_customer"),
        tool("Shop", "getOrder"),
        tool("vault", "openDoor"),
        tool("garage", "open_door"),
    ]);
    let may_see = |entry: &Entry| entry.tool.name.namespace() != "vault";
    let find = |spelling: &str| {
        snapshot.find(spelling, may_see).map(|overloads| overloads.first().unwrap().tool.name.to_string())
    };
    for spelling in [
        "acme_find_customer",
        "ACME.findCustomer",
        "acme/find-customer",
        "FindCustomer",
        "mcp__acme__find_customer",
        "mcp__toolcrib__acme__find_customer",
        "mcp__toolcrib__acme_find_customer",
    ] {
        assert_eq!(find(spelling).unwrap(), "acme::find_customer", "{spelling}");
    }
    for spelling in ["shop.get_order", "shop_getorder", "get-order", "SHOP/GETORDER"] {
        assert_eq!(find(spelling).unwrap(), "Shop::getOrder", "{spelling}");
    }
    assert_eq!(find("OpenDoor").unwrap(), "garage::open_door");
    for spelling in ["mcp__vault__openDoor", "acme.find_customer\u{1}", "acme.find customer"] {
        assert!(matches!(find(spelling), Err(FindError::Unknown { .. })), "{spelling}");
    }
}

#[test]
fn one_slip_of_the_keys_finds_the_tool_only_where_nothing_else_is_near() {
    let snapshot = snapshot(vec![
        tool("acme", "find_customer"),
        tool("acme", "list_orders"),
        tool("acme", "list_order"),
        tool("vault", "find_customers"),
        tool("a", "b"),
    ]);
    let may_see = |entry: &Entry| entry.tool.name.namespace() != "vault";
    let find = |spelling: &str| {
        let found = snapshot.find_near(spelling, &|_| true, &may_see);
        found.map(|overloads| overloads.first().unwrap().tool.name.to_string())
    };
    for spelling in ["acme.find_custmer", "acme.fnid_customer", "find_customerr", "acme.find_customer"] {
        assert_eq!(find(spelling).unwrap(), "acme::find_customer", "{spelling}");
    }
    for spelling in ["acme.find_cstmer", "acme.list_ordes", "a.c", "acme.find_the_customer"] {
        assert!(matches!(find(spelling), Err(FindError::Unknown { .. })), "{spelling}");
    }
    assert!(matches!(snapshot.find("acme.find_custmer", may_see), Err(FindError::Unknown { .. })));
}

#[test]
fn tools_of_the_namespace_that_was_named_are_suggested_alone() {
    let snapshot =
        snapshot(vec![tool("acme", "remove_customer"), tool("filesystem", "delete"), tool("http", "delete")]);
    let suggested = |spelling: &str| {
        let FindError::Unknown { suggestions, .. } = snapshot.find(spelling, all).unwrap_err() else {
            panic!()
        };
        suggestions.iter().map(QualifiedName::dotted).collect::<Vec<_>>()
    };
    assert_eq!(suggested("acme.delete_customer"), ["acme.remove_customer"]);
    assert_eq!(suggested("delete_thing"), ["filesystem.delete", "http.delete"]);
}

#[test]
fn a_spelling_that_may_be_two_tools_is_ambiguous_but_for_the_qualified_one() {
    let snapshot = snapshot(vec![tool("a", "b"), tool("x", "a.b"), tool("y", "a__b")]);
    for (spelling, candidates) in [("a.b", vec!["a.b", "x.a.b"]), ("a__b", vec!["a.b", "y.a__b"])] {
        let FindError::Ambiguous { candidates: found, .. } = snapshot.find(spelling, all).unwrap_err() else {
            panic!()
        };
        assert_eq!(found.iter().map(QualifiedName::dotted).collect::<Vec<_>>(), candidates);
    }
    assert_eq!(snapshot.find("a::b", all).unwrap().first().unwrap().tool.name.to_string(), "a::b");
}

#[test]
fn a_bare_name_that_a_tool_of_the_runtime_has_means_that_one() {
    let own = toolcrib_model::name::RUNTIME_NAMESPACE;
    let snapshot = snapshot(vec![tool(own, "background_run"), tool("shell", "background_run")]);
    let find = |spelling: &str| {
        snapshot
            .find(spelling, all)
            .map(|overloads| overloads.first().unwrap().tool.name.namespace().to_owned())
    };
    for (spelling, namespace) in [
        ("background_run", own),
        ("Background-Run", own),
        ("shell.background_run", "shell"),
        ("shell_background_run", "shell"),
    ] {
        assert_eq!(find(spelling).unwrap(), namespace, "{spelling}");
    }
    // Where it may not be seen, the other is the only one.
    let found = snapshot.find("background_run", |entry| entry.tool.name.namespace() != own).unwrap();
    assert_eq!(found.first().unwrap().tool.name.namespace(), "shell");
}

#[test]
fn an_unknown_name_suggests_the_nearest_that_may_be_seen() {
    let snapshot =
        snapshot(vec![tool("files", "read_file"), tool("files", "write_file"), tool("secret", "read_file2")]);
    let visible = |entry: &Entry| entry.tool.name.namespace() != "secret";
    let FindError::Unknown { suggestions, .. } = snapshot.find("files.raed_file", visible).unwrap_err()
    else {
        panic!()
    };
    assert_eq!(suggestions.first().map(QualifiedName::dotted).as_deref(), Some("files.read_file"));
    assert!(suggestions.iter().all(|name| name.namespace() != "secret"), "{suggestions:?}");
    assert!(matches!(snapshot.find("secret.read_file2", visible), Err(FindError::Hidden { .. })));
    assert!(matches!(
        snapshot.find("zzzzzz", visible),
        Err(FindError::Unknown { suggestions, .. }) if suggestions.is_empty()
    ));
}

#[test]
fn a_hidden_namesake_does_not_make_a_name_ambiguous() {
    let snapshot = snapshot(vec![tool("files", "read"), tool("notes", "read")]);
    let found = snapshot.find("read", |entry| entry.tool.name.namespace() == "notes").unwrap();
    assert_eq!(found.first().unwrap().tool.name.to_string(), "notes::read");
}

struct Fragile {
    broken: AtomicBool,
}

#[async_trait]
impl ToolLoader for Fragile {
    fn source(&self) -> &'static str {
        "fragile"
    }

    async fn load(&self) -> LoadOutcome {
        assert!(!self.broken.load(Ordering::SeqCst), "the loader breaks");
        LoadOutcome { tools: vec![tool("fragile", "one")], rejected: vec![] }
    }
}

struct Silent;

#[async_trait]
impl ToolLoader for Silent {
    fn source(&self) -> &'static str {
        "silent"
    }

    async fn load(&self) -> LoadOutcome {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_or_hangs_hides_no_other() {
    let fragile = Arc::new(Fragile { broken: AtomicBool::new(true) });
    let loaders: [Arc<dyn ToolLoader>; 3] =
        [fragile.clone(), Arc::new(Silent), Arc::new(Fragile { broken: AtomicBool::new(false) })];
    let registry = ToolRegistry::from_loaders(loaders).await;
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.iter().len(), 1);
    let sources: Vec<_> = snapshot.rejected().iter().map(|reject| reject.source.as_str()).collect();
    assert_eq!(sources, ["fragile", "silent"]);

    let before = registry.snapshot();
    fragile.broken.store(false, Ordering::SeqCst);
    registry.refresh().await.unwrap();
    assert_eq!(before.generation() + 1, registry.snapshot().generation());
}
