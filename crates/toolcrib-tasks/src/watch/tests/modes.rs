//! When a watcher tells what.

use super::*;

/// What is told while the gauge shows these values, one after the other.
async fn told(request: Value, values: Vec<Result<Value, String>>) -> Vec<String> {
    let office = Office::new().await;
    let checks = values.len() as u64;
    *office.plant.script.lock() = values.into();
    let id = office.start(request).await;
    office.checked(&id, checks).await;
    office.told().await
}

fn ok<const N: usize>(values: [Value; N]) -> Vec<Result<Value, String>> {
    values.into_iter().map(Ok).collect()
}

#[tokio::test(start_paused = true)]
async fn each_mode_tells_what_it_is_for() {
    let prices = || ok([120, 120, 90, 90, 110, 80].map(|price| json!({"price": price})));
    let errors = || {
        let error = |text: &str| Err(text.to_owned());
        vec![Ok(json!(1)), error("dead"), error("dead"), error("drowned"), Ok(json!(1)), error("drowned")]
    };
    let cases = [
        ("on_change", json!({}), prices()),
        ("on_change with a label", json!({"label": "the price"}), ok([json!(1), json!(2)])),
        ("on_change with a condition", json!({"condition": "$.price < 100"}), prices()),
        ("on_change through errors", json!({}), errors()),
        ("on_error", json!({"notify_when": "on_error"}), errors()),
        ("on_threshold", json!({"notify_when": "on_threshold", "condition": "$.price < 100"}), prices()),
        (
            "on_threshold from the first result on",
            json!({"notify_when": "on_threshold", "condition": "$.price > 100"}),
            prices(),
        ),
        (
            "on_threshold of a slow drift",
            json!({"notify_when": "on_threshold", "condition": "$ changed by more than 10"}),
            ok([100, 104, 108, 112, 116, 120, 124].map(Value::from)),
        ),
        ("always", json!({"notify_when": "always"}), vec![Ok(json!(1)), Ok(json!(1)), Err("dead".into())]),
        (
            "always with a condition",
            json!({"notify_when": "always", "condition": "$ == 2"}),
            ok([1, 2, 2, 1].map(Value::from)),
        ),
        (
            "summary",
            json!({"notify_when": "summary", "max_checks": 12, "condition": "$ > 5"}),
            (1..=4).chain(4..=12).map(|value| Ok(json!(value))).collect(),
        ),
        ("an end", json!({"max_checks": 2}), ok([1, 1].map(Value::from))),
        ("news and the end", json!({"max_checks": 2}), ok([1, 2].map(Value::from))),
    ];
    let mut said = Vec::new();
    for (name, request, mut values) in cases {
        if let Some(most) = request.get("max_checks").and_then(Value::as_u64) {
            values.truncate(usize::try_from(most).unwrap());
        }
        said.push(format!("{name}\n  {}", told(request, values).await.join("\n  ")));
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_long_is_told_in_part() {
    let long = |letter: &str| json!({"text": letter.repeat(5_000)});
    let told = told(json!({}), ok([long("é"), long("ü")])).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].len() < 1_200 && told[0].contains('…'), "{}", told[0].len());
}

#[tokio::test(start_paused = true)]
async fn keys_in_another_order_are_no_change() {
    let one: Value = serde_json::from_str(r#"{"a": 1, "b": 2}"#).unwrap();
    let other: Value = serde_json::from_str(r#"{"b": 2, "a": 1}"#).unwrap();
    assert_eq!(told(json!({}), ok([one, other])).await, [""; 0]);
}
