//! Refreshes, changes and enrichments.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};

use super::{tool, with_properties};
use crate::enrichment::{EnrichmentError, Suppliers, SuppliersEnrichment};
use crate::registry::newly_rejected;
use crate::{Artifacts, Enriched, Enrichment, RefreshError, Snapshot, ToolRegistry};

/// Gives what the test puts into it.
struct Scripted {
    source: &'static str,
    loaded: Mutex<LoadOutcome>,
}

impl Scripted {
    fn new(source: &'static str, tools: Vec<Tool>) -> Arc<Self> {
        Arc::new(Self { source, loaded: Mutex::new(LoadOutcome { tools, rejected: vec![] }) })
    }

    fn set(&self, loaded: LoadOutcome) {
        *self.loaded.lock() = loaded;
    }

    fn set_tools(&self, tools: Vec<Tool>) {
        self.set(LoadOutcome { tools, rejected: vec![] });
    }
}

#[async_trait]
impl ToolLoader for Scripted {
    fn source(&self) -> &str {
        self.source
    }

    async fn load(&self) -> LoadOutcome {
        self.loaded.lock().clone()
    }
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.tool_names().map(QualifiedName::dotted).collect()
}

#[tokio::test]
async fn a_subscriber_gets_the_difference() {
    let loader = Scripted::new("s", vec![tool("a", "stays"), tool("a", "goes"), tool("a", "alters")]);
    let registry = ToolRegistry::from_loaders([loader.clone() as Arc<dyn ToolLoader>]).await;
    let mut changes = registry.subscribe();
    let altered = with_properties("a", "alters", &json!({"x": {"type": "string"}}));
    loader.set_tools(vec![tool("a", "stays").with_description("new"), altered.clone(), tool("a", "comes")]);
    registry.refresh().await.unwrap();

    let change = changes.try_recv().unwrap();
    assert_eq!(change.generation, 2);
    assert_eq!(change.added.iter().map(QualifiedName::dotted).collect::<Vec<_>>(), ["a.comes"]);
    assert_eq!(change.removed.iter().map(QualifiedName::dotted).collect::<Vec<_>>(), ["a.goes"]);
    let changed: Vec<_> =
        change.changed.iter().map(|tool| (tool.name.name(), tool.before == tool.after)).collect();
    assert_eq!(changed, [("alters", false), ("stays", true)]);
    assert_eq!(change.changed[0].after, [altered.fingerprint()]);

    registry.refresh().await.unwrap();
    assert!(changes.try_recv().is_err(), "nothing changed, so nothing is sent");
}

#[tokio::test]
async fn a_source_that_fails_as_a_whole_keeps_the_tools_that_it_had() {
    let loader = Scripted::new("s", vec![tool("a", "one")]);
    let registry = ToolRegistry::from_loaders([loader.clone() as Arc<dyn ToolLoader>]).await;
    loader.set(LoadOutcome::failed("s", RejectKind::Syntax, "a broken save"));
    let snapshot = registry.refresh().await.unwrap();
    assert_eq!(names(&snapshot), ["a.one"]);
    assert_eq!(snapshot.rejected()[0].reason, "a broken save");
    loader.set_tools(vec![]);
    assert!(names(&registry.refresh().await.unwrap()).is_empty(), "an empty source is not a failed one");
}

#[tokio::test]
async fn one_source_is_refreshed_without_the_others() {
    let (one, two) = (Scripted::new("1", vec![tool("a", "one")]), Scripted::new("2", vec![tool("b", "two")]));
    let loaders: [Arc<dyn ToolLoader>; 2] = [one.clone(), two.clone()];
    let registry = ToolRegistry::from_loaders(loaders).await;
    one.set_tools(vec![tool("a", "uno")]);
    two.set_tools(vec![tool("b", "due")]);
    assert_eq!(names(&registry.refresh_source("1").await.unwrap()), ["a.uno", "b.two"]);
    let error = registry.refresh_source("3").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no source `3`");
}

/// An enrichment that writes down what was there when it ran.
struct Step {
    key: &'static str,
    needs: Vec<&'static str>,
    fails: bool,
}

impl Step {
    fn of(key: &'static str, needs: &[&'static str]) -> Arc<dyn Enrichment> {
        Arc::new(Self { key, needs: needs.to_vec(), fails: false })
    }
}

#[async_trait]
impl Enrichment for Step {
    fn key(&self) -> &str {
        self.key
    }

    fn depends_on(&self) -> &[&str] {
        &self.needs
    }

    async fn run(&self, _tools: &Snapshot, artifacts: &Artifacts) -> Result<Enriched, String> {
        if self.fails {
            return Err("no model".into());
        }
        Ok(Enriched::new(artifacts.keys().map(str::to_owned).collect::<Vec<_>>()))
    }
}

#[tokio::test]
async fn enrichments_run_behind_what_they_depend_on() {
    let steps = [Step::of("c", &["a", "b"]), Step::of("a", &[]), Step::of("b", &["a"])];
    let registry = ToolRegistry::new().with_enrichments(steps).unwrap();
    let snapshot = registry.refresh().await.unwrap();
    assert_eq!(*snapshot.artifacts().get::<Vec<String>>("c").unwrap(), ["a", "b"]);
    assert_eq!(*snapshot.artifacts().get::<Vec<String>>("b").unwrap(), ["a"]);
}

#[test]
fn enrichments_that_cannot_be_ordered_say_why() {
    let refused = |steps: Vec<Arc<dyn Enrichment>>| {
        ToolRegistry::new().with_enrichments(steps).err().unwrap().to_string()
    };
    assert_eq!(
        refused(vec![Step::of("a", &[]), Step::of("a", &[])]),
        "two enrichments have the key `a`; each key is written once"
    );
    assert_eq!(
        refused(vec![Step::of("a", &["z"])]),
        "the enrichment `a` depends on `z`, which is not there; add it, there is: a"
    );
    assert_eq!(
        refused(vec![Step::of("x", &["a"]), Step::of("a", &["b"]), Step::of("b", &["a"])]),
        "enrichments depend on each other in a ring: a -> b -> a"
    );
    let many: Vec<_> = vec![Step::of("a", &["a"])];
    let Err(error) = ToolRegistry::new().with_enrichments(many) else { panic!("ordered") };
    assert!(matches!(error, EnrichmentError::Cycle { .. }));
}

#[tokio::test]
async fn a_failing_enrichment_leaves_everything_as_it_was() {
    let loader = Scripted::new("s", vec![tool("a", "one")]);
    let step = Arc::new(Step { key: "vectors", needs: vec![], fails: true });
    let registry = ToolRegistry::new().with_enrichments([step as Arc<dyn Enrichment>]).unwrap();
    registry.add_loader(loader);
    let error = registry.refresh().await.unwrap_err();
    assert_eq!(error, RefreshError::Enrichment { key: "vectors".into(), message: "no model".into() });
    assert_eq!(registry.snapshot().generation(), 0);
    assert!(names(&registry.snapshot()).is_empty());
}

#[tokio::test]
async fn a_name_that_many_things_have_supplies_no_argument_of_another_namespace() {
    let named = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let tools = vec![
        tool("runtime", "watch_pause")
            .with_metadata("operational", true)
            .with_output_parameters(named.clone()),
        tool("runtime", "execute_tool").with_metadata("discovery", true).with_parameters(named.clone()),
        tool("crm", "find_customer").with_output_parameters(named.clone()),
        tool("crm", "delete").with_parameters(named.clone()),
        tool("shop", "order").with_parameters(json!({
            "type": "object", "properties": {"name": {"type": "string"}, "customer_name": {"type": "string"}},
        })),
    ];
    let suppliers_of = Suppliers::of_tools(&super::snapshot(tools));
    let suppliers = |namespace: &str, name: &str| {
        let name = QualifiedName::new(namespace, name).unwrap();
        let told = suppliers_of.of(&name);
        told.map(|(argument, suppliers)| format!("{argument} <- {}", suppliers[0].tool.dotted()))
            .collect::<Vec<_>>()
    };
    assert_eq!(suppliers("runtime", "execute_tool"), [""; 0]);
    assert_eq!(suppliers("crm", "delete"), ["name <- crm.find_customer"]);
    assert_eq!(suppliers("shop", "order"), ["customer_name <- crm.find_customer"]);
}

#[tokio::test]
async fn the_suppliers_of_an_argument_are_tools_with_such_a_result() {
    let output = |properties| json!({"type": "object", "properties": properties});
    let tools = vec![
        tool("crm", "find_customer")
            .with_output_parameters(output(json!({"id": {"type": "integer"}, "email": {"type": "string"}}))),
        tool("geo", "locate").with_output_parameters(output(json!({
            "Zip-Code": {"type": "string"},
            "place": {"type": "object", "properties": {"lat": {}, "lon": {}, "name": {}, "country": {}}},
        }))),
        with_properties(
            "shop",
            "order",
            &json!({
                "customer_id": {"type": "number"}, "e_mail": {"type": "string"}, "zipCode": {"type": ["string", "null"]},
                "place": {"type": "object", "properties": {"lat": {}, "lon": {}}}, "id": {"type": "boolean"},
            }),
        ),
    ];
    let registry =
        ToolRegistry::new().with_enrichments([Arc::new(SuppliersEnrichment) as Arc<dyn Enrichment>]).unwrap();
    registry.add_loader(Scripted::new("s", tools));
    let snapshot = registry.refresh().await.unwrap();
    let suppliers_of = snapshot.artifacts().get::<Suppliers>(Suppliers::KEY).unwrap();
    let order = QualifiedName::new("shop", "order").unwrap();
    let edges: Vec<_> = suppliers_of
        .of(&order)
        .flat_map(|(argument, suppliers)| {
            suppliers
                .iter()
                .map(move |s| format!("{argument} <- {}.{} {:.2}", s.tool.dotted(), s.output, s.score))
        })
        .collect();
    assert_eq!(
        edges,
        [
            "customer_id <- crm.find_customer.id 0.72",
            "e_mail <- crm.find_customer.email 1.00",
            "place <- geo.locate.place 0.50",
            "zipCode <- geo.locate.Zip-Code 1.00",
        ]
    );
}

#[tokio::test]
async fn a_rejected_source_is_warned_of_once_and_again_when_it_has_come_back_meanwhile() {
    let failed = |reason: &str| LoadOutcome::failed("s", RejectKind::Unavailable, reason);
    let loader = Scripted::new("s", vec![tool("a", "stays")]);
    let registry = ToolRegistry::from_loaders([loader.clone() as Arc<dyn ToolLoader>]).await;
    let mut warned = Vec::new();
    let sound = LoadOutcome { tools: vec![tool("a", "stays")], rejected: Vec::new() };
    for loaded in [failed("down, again in 1 s"), failed("down, again in 2 s"), sound, failed("down")] {
        let before = registry.snapshot();
        loader.set(loaded);
        registry.refresh().await.unwrap();
        warned.push(newly_rejected(&before, &registry.snapshot()).len());
    }
    assert_eq!(warned, [1, 0, 0, 1]);
}

#[tokio::test]
async fn exclusive_bounds_of_draft_4_are_read_from_every_source_and_a_refresh_changes_nothing() {
    let pages = json!({"pages": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}});
    let loader = Scripted::new("s", vec![with_properties("pdf", "read", &pages)]);
    let registry = ToolRegistry::from_loaders([loader.clone() as Arc<dyn ToolLoader>]).await;
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.rejected(), []);
    let schema = &snapshot.all()[0].schema;
    assert!(schema.validate(&json!({"pages": 1})).is_ok() && schema.validate(&json!({"pages": 0})).is_err());
    let mut changes = registry.subscribe();
    registry.refresh().await.unwrap();
    assert!(changes.try_recv().is_err());
}
