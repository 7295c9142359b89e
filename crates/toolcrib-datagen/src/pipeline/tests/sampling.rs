//! The samplers of a task.

use toolcrib_registry::ToolRegistry;

use super::*;
use crate::pipeline::item::{Item, ItemOutcome};
use crate::sampler::{Catalogue, Sample, SampleRequest, Sampler, Samplers, SamplingError};

/// A sampler that never finds tools.
struct Nothing;

impl Sampler for Nothing {
    fn sample(&self, request: &SampleRequest) -> Result<Sample, SamplingError> {
        Err(SamplingError::new("there is nothing", request.count, 0))
    }
}

/// Returns the pool of tools that come from a file.
pub(super) fn pool(tools: &[Arc<Tool>]) -> ToolPool {
    let all = tools.iter().map(|tool| tool.as_ref().clone());
    let registry = ToolRegistry::from_tools("office.yaml", all).unwrap();
    let samplers = Samplers::default()
        .with("nothing", |_: serde_json::Map<String, serde_json::Value>, _| Ok(Arc::new(Nothing)));
    ToolPool::new(tools, |_| true).with_samplers(samplers, Catalogue::new(&registry.snapshot()))
}

fn items(task: &str, count: u64) -> Result<Vec<Item>, PipelineError> {
    let settings: GenerateSettings = serde_json::from_str(task).unwrap();
    assert_eq!(settings.problem(), None);
    let pool = pool(&tools()).prepare(&settings)?;
    Ok((0..count).map(|index| pool.item(index, &settings)).collect())
}

#[test]
fn each_conversation_has_the_tools_of_one_sampler_of_the_mix() {
    let task = r#"{"samplers": [{"type": "tc/random", "count": 2}, {"type": "sparse", "count": 1, "distractors": 3}]}"#;
    let items = items(task, 60).unwrap();
    let sizes: Vec<_> =
        items.iter().map(|item| (item.plannable.len(), item.conversation.tools.len())).collect();
    let count = |size| sizes.iter().filter(|other| **other == size).count();
    assert_eq!(count((2, 2)) + count((1, 4)), 60, "{sizes:?}");
    assert!((20..=40).contains(&count((1, 4))), "{sizes:?}");
    assert!(items.iter().all(|item| item.conversation.provenance.sources == ["office.yaml"]));
    // The tool that is needed has any place among the others.
    let places = items
        .iter()
        .filter(|item| item.plannable.len() == 1)
        .map(|item| item.conversation.tools.iter().position(|tool| *tool == item.plannable[0]).unwrap());
    assert_eq!(places.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

#[test]
fn a_kind_has_its_own_samplers_and_tools() {
    let task = r#"{"samplers": [{"type": "random"}], "kinds": {
        "single": {"weight": 1, "tools": ["desk::file_1", "desk::file_2"], "samplers": [{"type": "random", "count": 1}]},
        "parallel": {"weight": 1}
    }}"#;
    for item in items(task, 40).unwrap() {
        match item.conversation.kind {
            Kind::Single => {
                let name = item.plannable[0].name.to_string();
                assert!(item.plannable.len() == 1 && ["desk::file_1", "desk::file_2"].contains(&&*name));
            }
            _ => assert_eq!(item.plannable.len(), 4),
        }
    }
}

#[test]
fn a_sampler_that_cannot_be_built_is_named_by_its_key() {
    for (task, key, part) in [
        (r#"{"samplers": [{"type": "random"}, {"type": "chain"}]}"#, "samplers[1]", "`dataflow`"),
        (r#"{"samplers": [{"type": "rondom"}]}"#, "samplers[0]", "`rondom`"),
        (
            r#"{"samplers": [{"type": "random", "count": 7}]}"#,
            "samplers[0].count",
            "the catalogue is too small: requested 7, found 6 tools to choose from",
        ),
        (
            r#"{"kinds": {"single": {"weight": 1, "tools": ["desk::file_1"], "samplers": [{"type": "random", "count": 2}]}}}"#,
            "kinds.single.samplers[0].count",
            "requested 2, found 1 tools",
        ),
        (
            r#"{"kinds": {"nested": {"weight": 1, "samplers": [{"type": "random", "modes": 1}]}}}"#,
            "kinds.nested.samplers[0]",
            "`modes`",
        ),
    ] {
        match items(task, 1) {
            Err(PipelineError::Setting { key: found, message }) => {
                assert_eq!(found, key);
                assert!(message.contains(part), "{message}");
            }
            other => panic!("{task}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_conversation_without_a_sample_is_dropped_with_its_reason() {
    let task = r#"{"samplers": [{"type": "nothing"}], "num_outputs": 2, "starts_per_output": 3}"#;
    let item = items(task, 1).unwrap().remove(0);
    let Some(ItemOutcome::Dropped(dropped)) = item.outcome else { panic!("{:?}", item.outcome) };
    assert_eq!(
        dropped.to_string(),
        "scenario: no_sample: there is nothing: requested 4, found 0 tools to choose from"
    );
    let folder = tempfile::tempdir().unwrap();
    let settings = serde_json::from_str(task).unwrap();
    let caller: Arc<dyn ToolCaller> = Arc::new(Desk(tools()));
    let callers = (Arc::clone(&caller), SessionEngine::new(caller, SessionStates::default()));
    let model = NamedModel { name: "teacher".to_owned(), model: Arc::new(Teacher::default()) };
    let pipeline =
        Pipeline::new(settings, pool(&tools()), callers, |_| Ok(model.clone()), |_| unreachable!()).unwrap();
    let report = run(&pipeline, &folder.path().join("data.jsonl"), EarlierRun::Refuse).await.unwrap();
    assert_eq!((report.started, report.stopped), (6, Some(Stopped::TooManyDropped)), "{report}");
    assert_eq!(report.reasons["scenario"]["no_sample"], 6);
}

#[test]
fn a_kind_with_few_tools_has_all_of_them() {
    let task = r#"{"samplers": [{"type": "random", "count": 6}], "kinds": {"single": {"weight": 1, "tools": ["desk::file_1"]}}}"#;
    assert!(items(task, 5).unwrap().iter().all(|item| item.plannable.len() == 1));
}
