//! The conversations that are written, and those that are left out.

use toolcrib_model::Secret;
use toolcrib_results::Secrets;

use super::*;
use crate::hygiene::Contamination;
use crate::pipeline::ForbiddenTexts;

/// A model that says the same in the first three conversations, or in all.
struct Repeater {
    always: bool,
}

#[async_trait]
impl ChatModel for Repeater {
    async fn complete(&self, request: &ChatRequest<'_>, _: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let prompt = request.messages[0].content();
        let is_first =
            self.always || ["0", "1", "2"].iter().any(|item| prompt.contains(&format!("\"item\": {item},")));
        let content = if is_first && prompt.contains("\"stage\": \"utterance\"") {
            json!({"message": "My token is canary-4711-canary. Can you tell me a long story about a red fox?"})
                .to_string()
        } else {
            teach(prompt)
        };
        Ok(ChatReply { content, ..ChatReply::default() })
    }
}

async fn generate(forbidden: ForbiddenTexts) -> (Report, String, String) {
    generate_with(forbidden, Repeater { always: false }).await
}

async fn generate_with(forbidden: ForbiddenTexts, model: Repeater) -> (Report, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::new(4).unwrap(),
        kinds: BTreeMap::from([(Kind::Irrelevant, KindSettings::Weight(1.0))]),
        licences: BTreeMap::from([("office.yaml".to_owned(), "Apache-2.0".to_owned())]),
        ..settings()
    };
    let model = NamedModel { name: "repeater".to_owned(), model: Arc::new(model) };
    let caller: Arc<dyn ToolCaller> = Arc::new(Desk(tools()));
    let sessions = SessionEngine::new(Arc::clone(&caller), SessionStates::default());
    let (callers, pool) = ((caller, sessions), super::sampling::pool(&tools()));
    let pipeline = Pipeline::new(settings, pool, callers, |_| Ok(model.clone()), |_| unreachable!()).unwrap();
    let report = run(&pipeline.with_forbidden_texts(forbidden), &path, EarlierRun::Refuse).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    (report, read("data.jsonl"), read("data.card.md"))
}

#[tokio::test]
async fn other_conversations_take_the_place_of_near_duplicates() {
    let (report, written, card) = generate(ForbiddenTexts::default()).await;
    assert_eq!((report.written, report.started, report.dropped), (4, 6, 2), "{report}");
    assert_eq!(report.reasons["hygiene"]["near_duplicate"], 2);
    assert_eq!(written.matches("red fox").count(), 1);
    insta::assert_snapshot!(card);
}

#[tokio::test]
async fn conversations_with_texts_of_an_evaluation_are_left_out() {
    let lines = [r#"{"id": 7, "question": ["Can you tell me a long story about a red fox?"]}"#];
    let forbidden =
        ForbiddenTexts { evaluation: Contamination::of_lines(lines), ..ForbiddenTexts::default() };
    let (report, written, _) = generate(forbidden).await;
    assert_eq!((report.written, report.reasons["hygiene"]["contaminated"]), (4, 3), "{report}");
    assert!(!written.contains("red fox"), "{written}");
}

#[tokio::test]
async fn secrets_are_not_written() {
    let secrets = Secrets::new();
    secrets.add("DESK_TOKEN", Secret::new("canary-4711-canary"));
    let (report, written, _) = generate(ForbiddenTexts { secrets, ..ForbiddenTexts::default() }).await;
    assert_eq!(report.secrets_removed, 1, "{report}");
    assert!(written.contains("DESK_TOKEN") && !written.contains("canary"), "{written}");
}

#[tokio::test]
async fn a_model_that_only_repeats_itself_ends_the_run_with_one_conversation() {
    let (report, written, _) = generate_with(ForbiddenTexts::default(), Repeater { always: true }).await;
    assert_eq!((report.written, report.stopped), (1, Some(Stopped::TooManyDropped)), "{report}");
    assert_eq!(report.reasons["hygiene"]["near_duplicate"], report.started - 1);
    assert_eq!(written.lines().count(), 1);
}
