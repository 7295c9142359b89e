//! The dataflow in both directions.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::Tool;

use super::{snapshot, tool, with_properties};
use crate::enrichment::{
    Dataflow, DataflowEdge, DataflowEnrichment, MAX_NEIGHBORS, MAX_NEIGHBORS_PER_NAMESPACE,
    ParameterSimilarity, ToolKey,
};
use crate::{Artifacts, Enrichment, Snapshot};

fn producing(namespace: &str, name: &str, properties: &Value) -> Tool {
    tool(namespace, name).with_output_parameters(json!({"type": "object", "properties": properties}))
}

/// The edges of a tool by its bare name: `producer -> consumer score (output = argument, …)`.
fn told(edges: &[DataflowEdge]) -> String {
    let mut told = String::new();
    for edge in edges {
        let pairs = edge.pairs.iter().map(|pair| format!("{} = {}", pair.output, pair.argument));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        let (from, to) = (edge.producer.name.dotted(), edge.consumer.name.dotted());
        writeln!(told, "{from} -> {to} {:.2} ({pairs})", edge.score).unwrap();
    }
    told
}

fn key(tools: &Snapshot, bare: &str) -> ToolKey {
    ToolKey::of(tools.iter().find(|entry| entry.tool.name.name() == bare).unwrap())
}

#[test]
fn an_edge_is_found_from_both_of_its_tools() {
    let tools = snapshot(vec![
        producing("crm", "find_customer", &json!({"id": {"type": "integer"}, "email": {"type": "string"}})),
        producing("geo", "locate", &json!({"Zip-Code": {"type": "string"}, "id": {"type": "integer"}})),
        with_properties(
            "shop",
            "order",
            &json!({
                "customer_id": {"type": "number"}, "e_mail": {"type": "string"},
                "zip_code": {"type": ["string", "null"]}, "id": {"type": "integer"},
            }),
        ),
        tool("runtime", "call").with_metadata("discovery", true).with_parameters(json!({
            "type": "object", "properties": {"e_mail": {"type": "string"}},
        })),
    ]);
    let dataflow = Dataflow::between(&tools);
    let crm = "crm.find_customer -> shop.order 1.00 (email = e_mail, id = customer_id)\n";
    let geo = "geo.locate -> shop.order 1.00 (Zip-Code = zip_code)\n";
    assert_eq!(told(dataflow.producers(&key(&tools, "order"))), format!("{crm}{geo}"));
    assert_eq!(told(dataflow.consumers(&key(&tools, "find_customer"))), crm);
    assert_eq!(told(dataflow.consumers(&key(&tools, "locate"))), geo);
    assert_eq!(told(dataflow.consumers(&key(&tools, "order"))), "");
    assert_eq!(told(dataflow.producers(&key(&tools, "call"))), "");
}

#[test]
fn the_types_of_two_parameters_weigh_their_match() {
    let types = [
        ("same", json!({"type": "string"}), json!({"type": "string"}), Some(1.0)),
        ("numeric", json!({"type": "integer"}), json!({"type": "number"}), Some(0.8)),
        ("foreign", json!({"type": "integer"}), json!({"type": "string"}), None),
        ("listed", json!({"type": "array"}), json!({"type": "string"}), None),
        (
            "items",
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "array", "items": {"type": "number"}}),
            Some(0.8),
        ),
        (
            "object",
            json!({"type": "object", "properties": {"lat": {}, "lon": {}}}),
            json!({"properties": {"lat": {}}}),
            Some(0.9),
        ),
        (
            "distinct",
            json!({"type": "object", "properties": {"lat": {}}}),
            json!({"type": "object", "properties": {"x": {}}}),
            None,
        ),
        ("opaque", json!({"type": "object"}), json!({"type": "object", "properties": {"x": {}}}), Some(0.7)),
        ("untyped", json!({}), json!({"type": "string"}), Some(0.7)),
        (
            "variant",
            json!({"anyOf": [{"type": "null"}, {"type": "string"}]}),
            json!({"type": "string"}),
            Some(1.0),
        ),
        ("referred", json!({"$ref": "#/$defs/Word"}), json!({"type": "string"}), Some(1.0)),
    ];
    for (name, output, argument, score) in types {
        let name = format!("{name}_word");
        let output = json!({"type": "object", "properties": {(name.as_str()): output}, "$defs": {"Word": {"type": "string"}}});
        let tools = snapshot(vec![
            tool("a", "from").with_output_parameters(output),
            with_properties("b", "to", &json!({(name.as_str()): argument})),
        ]);
        let dataflow = Dataflow::between(&tools);
        let found = dataflow.consumers(&key(&tools, "from")).first().map(|edge| edge.score);
        assert_eq!(found, score, "{name}");
    }
}

#[test]
fn overloads_have_edges_of_their_own() {
    let tools = snapshot(vec![
        producing("crm", "find", &json!({"customer_number": {"type": "string"}})),
        with_properties("shop", "order", &json!({"customer_number": {"type": "string"}})),
        with_properties("shop", "order", &json!({"basket": {"type": "string"}})),
    ]);
    let dataflow = Dataflow::between(&tools);
    let counts: Vec<_> = tools.iter().map(|entry| dataflow.producers(&ToolKey::of(entry)).len()).collect();
    assert_eq!(counts, [0, 1, 0]);
}

#[test]
fn a_result_that_many_tools_take_has_a_bounded_number_of_edges() {
    let argument = json!({"ticket": {"type": "string"}});
    let mut tools = vec![producing("z", "issue", &argument)];
    for namespace in 0..9 {
        let takers =
            (0..40).map(|at| with_properties(&format!("n{namespace}"), &format!("t{at}"), &argument));
        tools.extend(takers);
    }
    let tools = snapshot(tools);
    let dataflow = Dataflow::between(&tools);
    let edges = dataflow.consumers(&key(&tools, "issue"));
    assert_eq!(edges.len(), MAX_NEIGHBORS);
    for namespace in tools.namespaces() {
        let count = edges.iter().filter(|edge| edge.consumer.name.namespace() == namespace).count();
        assert!(count <= MAX_NEIGHBORS_PER_NAMESPACE, "{namespace}: {count}");
    }
    assert_eq!(dataflow.producers(&key(&tools, "t39")).len(), 1);
    assert_eq!(told(Dataflow::between(&tools).consumers(&key(&tools, "issue"))), told(edges));
}

#[test]
fn a_stored_dataflow_is_restored_and_damaged_bytes_are_rejected() {
    let properties = json!({"ticket": {"type": "string"}, "queue": {"type": "string"}});
    let mut tools = vec![producing("z", "issue", &properties)];
    tools.extend((0..20).map(|at| with_properties("n", &format!("t{at}"), &properties)));
    let tools = snapshot(tools);
    let dataflow = Dataflow::between(&tools);
    let bytes = dataflow.to_bytes();
    let restored = Dataflow::from_bytes(&bytes, tools.all()).unwrap();
    for entry in tools.iter() {
        let tool = ToolKey::of(entry);
        assert_eq!(restored.consumers(&tool), dataflow.consumers(&tool));
        assert_eq!(restored.producers(&tool), dataflow.producers(&tool));
    }
    assert!(Dataflow::from_bytes(&bytes, &tools.all()[1..]).is_none());
    for length in 0..bytes.len() {
        assert!(Dataflow::from_bytes(&bytes[..length], tools.all()).is_none(), "{length}");
    }
    for at in 0..bytes.len() {
        // Any change is read as another dataflow or rejected.
        let mut damaged = bytes.clone();
        damaged[at] = 0xff;
        let _ = Dataflow::from_bytes(&damaged, tools.all());
    }
}

/// A similarity of texts by the first letters of their words.
struct Initials;

impl ParameterSimilarity for Initials {
    fn id(&self) -> &'static str {
        "initials"
    }

    fn nearest(&self, outputs: &[String], arguments: &[String]) -> Result<Vec<Vec<(usize, f64)>>, String> {
        let initials =
            |text: &String| text.split(' ').filter_map(|word| word.chars().next()).collect::<String>();
        let nearest = |argument: &String| {
            let equal =
                outputs.iter().enumerate().filter(|(_, output)| initials(output) == initials(argument));
            equal.map(|(at, _)| (at, 0.75)).collect()
        };
        Ok(arguments.iter().map(nearest).collect())
    }
}

/// A similarity that cannot be computed.
struct Broken;

impl ParameterSimilarity for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn nearest(&self, _: &[String], _: &[String]) -> Result<Vec<Vec<(usize, f64)>>, String> {
        Err("no model".into())
    }
}

#[tokio::test]
async fn parameters_of_other_names_match_if_their_texts_are_similar() {
    let tools = snapshot(vec![
        producing("crm", "find", &json!({"mail": {"type": "string", "description": "The address."}})),
        with_properties(
            "post",
            "send",
            &json!({"mailbox": {"type": "string", "description": "To address."}}),
        ),
    ]);
    let enriched = async |similarity: Arc<dyn ParameterSimilarity>| {
        let enrichment = DataflowEnrichment::default().with_similarity(similarity);
        enrichment.run(&tools, &Artifacts::default()).await
    };
    let dataflow =
        enriched(Arc::new(Initials)).await.unwrap().artifact().clone().downcast::<Dataflow>().unwrap();
    assert_eq!(
        told(dataflow.consumers(&key(&tools, "find"))),
        "crm.find -> post.send 0.75 (mail = mailbox)\n"
    );
    assert_eq!(enriched(Arc::new(Broken)).await.unwrap_err(), "no model");
}
