//! What the loop asks of the entrance beside calls.

use toolcrib_port::Media;

use super::*;

fn call(name: &str) -> ToolCall {
    ToolCall::new(name, JsonObject::new())
}

#[tokio::test]
async fn what_is_kept_for_a_reader_is_read_under_its_handle_by_that_reader() {
    let fixture = granted();
    let (entrance, context) = (fixture.executor.tool_caller(), CallContext::new("s"));
    let told = entrance.results().store("t::flood", "line\n".repeat(1_000), &context).unwrap();
    let handle = told.split('"').nth(1).unwrap();
    assert_eq!(
        told,
        format!("read the rest with read_result(handle=\"{handle}\", page=1), or with grep or lines")
    );
    assert!(handle.starts_with("r_"), "{handle}");
    // It is a text, and no picture.
    assert_eq!(entrance.results().media(handle, &context), None);
}

#[tokio::test]
async fn a_picture_of_a_result_is_there_for_whoever_called_and_for_nobody_else() {
    let fixture = granted();
    let (entrance, context) = (fixture.executor.tool_caller(), CallContext::new("s"));
    let result = entrance.call(call("t.picture"), &context).await;
    let handle = result.result[0]["handle"].as_str().unwrap();
    let picture = Media { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    assert_eq!(entrance.results().media(handle, &context), Some(picture));
    assert_eq!(entrance.results().media(handle, &CallContext::new("other")), None);
    assert_eq!(entrance.results().media("r_none", &context), None);
}

#[tokio::test]
async fn what_looks_only_or_says_that_it_is_idempotent_may_be_done_again_and_nothing_else() {
    let fixture = granted();
    let (entrance, context) = (fixture.executor.tool_caller(), CallContext::new("s"));
    for (name, only_reads, may_repeat) in [
        ("t.hang", true, true),
        ("t.replace", false, true),
        ("t.echo", false, false),
        // Nobody knows, and nobody may.
        ("t.none", false, false),
        ("t.secret", false, false),
    ] {
        assert_eq!(entrance.catalogue().only_reads(&call(name), &context), only_reads, "{name}");
        assert_eq!(entrance.catalogue().may_repeat(&call(name), &context), may_repeat, "{name}");
    }
    drop(fixture);
    assert!(!entrance.catalogue().may_repeat(&call("t.replace"), &context), "there is no executor any more");
}
