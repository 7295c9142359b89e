//! The agent loop of the binary against a server that speaks the wire format of `OpenAI`.

use base64::Engine as _;
use serde_json::{Value, json};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelServer, Turn};

use crate::support::{AgentApp, TestDir, transcript};

/// Reads the note, asks the price, writes the answer.
fn turns() -> [Turn; 4] {
    [
        Turn::call("filesystem__read", &json!({"path": "note.txt"})).saying("I read the note."),
        Turn::call("shop__price", &json!({"item": "lamp"})),
        Turn::call("filesystem__write", &json!({"path": "answer.txt", "content": "3 euro — naïve"})),
        Turn::text("A lamp costs 3 euro, which I wrote to Ada."),
    ]
}

#[tokio::test]
async fn a_streamed_run_sends_these_bytes_and_its_tools_really_run() {
    let (dir, server, run_output) = AgentApp::default().run(turns()).await;
    let report = run_output.expect(0).json();
    assert_eq!(dir.read("asked.txt"), "lamp\n");
    assert_eq!(dir.read("work/answer.txt"), "3 euro — naïve");
    assert!(server.requests().iter().all(|request| request.authorization == "Bearer test"));
    snapshot!(dir, transcript(&server.requests()));
    snapshot!(dir, serde_json::to_string_pretty(&report).unwrap());
}

#[tokio::test]
async fn the_key_of_a_provider_is_sent_to_a_server_elsewhere_only_where_the_app_file_says_so() {
    for (key, sent) in [("", ""), (", api_key: \"${OPENAI_API_KEY}\"", "Bearer sk-canary")] {
        let server = ModelServer::start([Turn::text("").refused_first(401)]).await.unwrap();
        // It is this machine, and not by an address of this machine alone.
        let url = server.base_url().replace("127.0.0.1", "0.0.0.0");
        let dir = TestDir::with_app(&format!(
            "agents: [{{id: clerk, brain: {{provider: openai, model: m, base_url: \"{url}\"{key}}}}}]\n"
        ));
        let run_output =
            dir.with_variable("OPENAI_API_KEY", "sk-canary").run(["run", "app.yaml", "Hello."]).await;
        assert_eq!(server.requests()[0].authorization, sent);
        let advice = if sent.is_empty() {
            "set `api_key: ${OPENAI_API_KEY}` beside `base_url` to send it here"
        } else {
            "check the key in OPENAI_API_KEY"
        };
        assert!(run_output.stderr.contains(advice), "{run_output:?}");
    }
}

#[tokio::test]
async fn a_run_without_a_stream_sends_the_same_bytes_but_for_the_stream_and_ends_the_same() {
    let (_, streamed, first) = AgentApp::default().run(turns()).await;
    let (dir, whole, second) = AgentApp { streams: false, ..AgentApp::default() }.run(turns()).await;
    assert_eq!(dir.read("asked.txt"), "lamp\n");
    let bodies = |server: &ModelServer| -> Vec<String> {
        let requests = server.requests();
        requests.iter().map(|request| String::from_utf8(request.body.to_vec()).unwrap()).collect()
    };
    let streamed = bodies(&streamed).into_iter().map(|body| {
        body.replacen(r#""stream":true,"stream_options":{"include_usage":true}"#, r#""stream":false"#, 1)
    });
    assert_eq!(streamed.collect::<Vec<_>>(), bodies(&whole));

    let without_times = |mut report: Value| {
        for call in report["calls"].as_array_mut().unwrap() {
            call["ms"] = Value::Null;
        }
        report
    };
    assert_eq!(without_times(first.expect(0).json()), without_times(second.expect(0).json()));
}

#[tokio::test]
async fn a_server_that_says_not_now_is_asked_again_with_the_same_bytes() {
    let (_, server, run_output) = AgentApp::default().run([Turn::text("Hello.").refused_first(429)]).await;
    assert_eq!(run_output.expect(0).json()["text"], "Hello.");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test]
async fn an_answer_that_breaks_off_ends_the_run_with_an_error_and_is_not_taken_for_a_whole_one() {
    let (dir, server, run_output) = AgentApp::default().run([Turn::text("Half a sentence.").cut_off()]).await;
    assert_eq!(run_output.json()["outcome"], "failed");
    assert_eq!(server.requests().len(), 1, "what was said already is not said again");
    snapshot!(dir, run_output.report());
}

#[tokio::test]
async fn a_model_server_that_is_down_is_a_source_that_is_unavailable() {
    let server = ModelServer::start([]).await.unwrap();
    let dir = AgentApp::default().dir(&server).with_variable("MODEL_URL", "http://127.0.0.1:9/v1");
    let run_output = dir.run(["run", "app.yaml", "Hello?", "--json"]).await.expect(5);
    assert_eq!(run_output.json()["outcome"], "failed");
    assert!(
        run_output.json()["error"].as_str().unwrap().contains("http://127.0.0.1:9/v1"),
        "{run_output:#?}"
    );
}

#[tokio::test]
async fn a_model_that_never_stops_reaches_the_limit_of_turns() {
    let server = ModelServer::endless(|number| {
        Turn::call("hello__say_hello", &json!({"name": format!("guest {number}")}))
    });
    let server = server.await.unwrap();
    let dir = AgentApp { max_turns: 4, ..AgentApp::default() }.dir(&server);
    let report = dir.run(["run", "app.yaml", "Greet.", "--json"]).await.expect(1).json();
    assert_eq!((&report["outcome"], &report["limit"]), (&json!("limit_reached"), &json!("turns")));
    assert_eq!((report["turns"].as_u64(), report["calls"].as_array().unwrap().len()), (Some(5), 4));
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    let last = requests[4].json().unwrap();
    assert_eq!(last["tool_choice"], "none");
    assert_eq!(last["tools"], requests[3].json().unwrap()["tools"]);
    let told = last["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("has reached the limit of 4 turns"), "{told}");
}

#[tokio::test]
async fn the_next_brain_answers_where_the_first_cannot() {
    let second =
        ModelServer::start([Turn::call("shop__price", &json!({"item": "lamp"})), Turn::text("3 euro.")]);
    let second = second.await.unwrap();
    let unwilling = ModelServer::endless(|_| Turn::text("").refused_first(401)).await.unwrap();
    for first in ["http://127.0.0.1:9/v1".to_owned(), unwilling.base_url()] {
        let app = format!(
            r#"
agents:
  - id: clerk
    brain:
      {{provider: openai, model: big, base_url: "{first}", fallback: [{{provider: openai, model: small, base_url: "{}"}}]}}
modules: {{hello: {{}}}}
"#,
            second.base_url()
        );
        let dir = TestDir::with_app(&app).with_variable("OPENAI_API_KEY", "test");
        let report = dir.run(["run", "app.yaml", "Price?", "--json"]).await.json();
        if first.contains(":9/") {
            assert_eq!(report["text"], "3 euro.", "{report:#}");
            assert!(second.requests().iter().all(|request| request.json().unwrap()["model"] == "small"));
        }
    }
    // Whoever has no key there is answered by the other one too, until that one has nothing left to say.
    assert_eq!(second.requests().len(), 3);
    assert_eq!(unwilling.requests().len(), 1);
}

#[tokio::test]
async fn a_run_ends_at_what_it_may_cost() {
    let server = ModelServer::endless(|number| {
        Turn::call("hello__say_hello", &json!({"name": format!("guest {number}")}))
    });
    let server = server.await.unwrap();
    let app = format!(
        r#"
agents:
  - id: clerk
    brain: {{provider: openai, model: m, base_url: "{}", prices: {{input: 1000, output: 1000}}}}
modules: {{hello: {{}}}}
runtime: {{max_cost: 0.05}}
"#,
        server.base_url()
    );
    let dir = TestDir::with_app(&app).with_variable("OPENAI_API_KEY", "test");
    let report = dir.run(["run", "app.yaml", "Greet.", "--json"]).await.expect(1).json();
    assert_eq!((&report["outcome"], &report["limit"]), (&json!("limit_reached"), &json!("cost")));
    let (tokens, cost) = (&report["usage"]["prompt_tokens"], report["usage"]["cost"].as_f64().unwrap());
    let tokens = tokens.as_f64().unwrap() + report["usage"]["completion_tokens"].as_f64().unwrap();
    assert!(cost >= 0.05 && (cost - tokens / 1000.0).abs() < 1e-9, "{report:#}");
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_told_so_and_then_stopped() {
    let server = ModelServer::endless(|_| Turn::call("shop__price", &json!({"item": "lamp"})));
    let server = server.await.unwrap();
    let dir = AgentApp::default().dir(&server);
    let report = dir.run(["run", "app.yaml", "Price?", "--json"]).await.expect(1).json();
    assert_eq!((&report["outcome"], &report["limit"]), (&json!("limit_reached"), &json!("repeats")));
    let last = server.requests().last().unwrap().json().unwrap();
    let told = last["messages"].to_string();
    assert!(told.contains("same call") && told.contains("the limit of calls that are the same"), "{told}");
}

#[tokio::test]
async fn a_call_that_is_not_json_is_answered_and_the_run_completes() {
    let (dir, server, run_output) = AgentApp::default()
        .run([
            Turn::raw_call("shop__price", r#"{"item": "lamp"#),
            Turn::call("shop__price", &json!({"item": "lamp"})),
            Turn::text("3 euro."),
        ])
        .await;
    let report = run_output.expect(0).json();
    assert_eq!(report["calls"][0]["ok"], false);
    assert_eq!(report["calls"][0]["arguments"], r#"{"item": "lamp"#);
    assert_eq!(dir.read("asked.txt"), "lamp\n", "only the second call ran");
    let answers = server.requests()[1].json().unwrap()["messages"].as_array().unwrap()[2..].to_vec();
    snapshot!(dir, serde_json::to_string_pretty(&answers).unwrap());
}

#[tokio::test]
async fn wrong_arguments_and_names_are_answered_so_that_the_next_call_can_be_right() {
    let (dir, server, run_output) = AgentApp::default()
        .run([
            Turn::call("shop__cost", &json!({"item": "lamp"})).and_call("shop__price", &json!({"itme": 3})),
            Turn::text("I give up."),
        ])
        .await;
    let report = run_output.expect(0).json();
    assert_eq!((&report["calls"][0]["ok"], &report["calls"][1]["ok"]), (&json!(false), &json!(false)));
    assert!(!dir.path("asked.txt").exists());
    let answers = server.requests()[1].json().unwrap()["messages"].as_array().unwrap()[3..].to_vec();
    snapshot!(dir, serde_json::to_string_pretty(&answers).unwrap());
}

#[tokio::test]
async fn a_recorded_run_replays_with_real_calls_and_no_server() {
    let server = ModelServer::start(turns()).await.unwrap();
    let dir = AgentApp::default().dir(&server);
    let live = dir.run(["run", "app.yaml", "Answer the note.", "--record", "turns.yaml", "--json"]).await;
    let live = live.expect(0).json();
    drop(server);
    std::fs::remove_file(dir.path("work/answer.txt")).unwrap();
    let replay = ["run", "app.yaml", "Answer the note.", "--replay", "turns.yaml", "--json"];
    let replayed = dir.run(replay).await.expect(0).json();
    let calls = |report: &Value| -> Vec<(Value, Value, Value)> {
        let calls = report["calls"].as_array().unwrap().iter();
        calls.map(|call| (call["name"].clone(), call["arguments"].clone(), call["ok"].clone())).collect()
    };
    assert_eq!((calls(&live), &live["text"]), (calls(&replayed), &replayed["text"]));
    assert_eq!(dir.read("asked.txt"), "lamp\nlamp\n", "the tools ran again");
    // The answer is there now, so that writing it has another result.
    let other = dir.run(replay).await.expect(1).json();
    let error = other["error"].as_str().unwrap();
    assert!(
        error.contains("turn 4 is asked something else") && error.contains("message 7 (tool)"),
        "{error}"
    );
    snapshot!(dir, dir.read("turns.yaml"));
}

/// The smallest picture there is: one pixel.
const PIXEL: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

#[tokio::test]
async fn a_model_that_sees_is_shown_the_picture_of_a_result_and_any_other_is_told_of_it() {
    for sees in [true, false] {
        let turns = [Turn::call("filesystem__read", &json!({"path": "pixel.gif"})), Turn::text("White.")];
        let server = ModelServer::start(turns).await.unwrap();
        let dir = AgentApp::default().dir(&server).with_file("work/pixel.gif", PIXEL);
        let app =
            dir.read("app.yaml").replace("      stream:", &format!("      images: {sees}\n      stream:"));
        let dir = dir.with_file("app.yaml", &app);
        let report = dir.run(["run", "app.yaml", "What is to be seen?", "--json"]).await.expect(0).json();
        assert_eq!(report["text"], "White.");
        let request = server.requests().last().unwrap().json().unwrap();
        let messages = request["messages"].as_array().unwrap();
        let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
        let told = result["content"].as_str().unwrap();
        assert!(told.contains("image/gif") && told.contains("handle"), "{told}");
        let shown = messages.last().unwrap();
        if sees {
            let data = base64::engine::general_purpose::STANDARD.encode(PIXEL);
            let url = format!("data:image/gif;base64,{data}");
            assert_eq!(shown["role"], "user");
            assert_eq!(shown["content"][1], json!({"type": "image_url", "image_url": {"url": url}}));
        } else {
            assert_eq!(shown, result);
        }
    }
}

#[tokio::test]
async fn thoughts_are_shown_where_that_is_asked_for_and_never_as_the_answer() {
    let script = json!({"repeats": true, "answers": [
        {"body": [{"think": "Ada is a guest."}, {"say": "Hello Ada."}, {"finish": "stop"}, "done"]}
    ]});
    let server = FaultyModel::start(FaultScript::from_value(script).unwrap(), 0).await.unwrap();
    let app = format!(
        "agents: [{{id: clerk, brain: {{provider: openai, model: m, base_url: '{}'}}}}]\n",
        server.base_url()
    );
    let dir = TestDir::with_app(&app).with_variable("OPENAI_API_KEY", "test");
    let shown = dir.run(["run", "app.yaml", "Greet.", "--reasoning", "show"]).await.expect(0);
    assert!(shown.stderr.contains("(thinking) Ada is a guest.\n"), "{shown:#?}");
    assert_eq!(shown.stdout, "Hello Ada.\n");
    for hidden in [&["--reasoning", "hide"][..], &[]] {
        let words = [&["run", "app.yaml", "Greet."], hidden].concat();
        let hidden = dir.run_words(&words).await.expect(0);
        assert!(!hidden.report().contains("guest"), "{hidden:#?}");
        assert_eq!(hidden.stdout, "Hello Ada.\n");
    }
}

#[tokio::test]
async fn a_brain_that_calls_in_its_text_goes_on_where_one_that_calls_by_its_api_fails() {
    let call = |item: &str| Turn::call("shop__price", &json!({"item": item}));
    let first = ModelServer::endless(move |number| match number {
        0 => call("lamp"),
        _ => Turn::text("").refused_first(401),
    });
    let first = first.await.unwrap();
    let chair = json!({"item": "chair"});
    let second = ModelServer::start([Turn::text_call("shop.price", &chair), Turn::text("6 euro.")]);
    let second = second.await.unwrap();
    let dir = AgentApp::default().dir(&first);
    let fallback = format!(
        "      fallback: [{{provider: openai, model: small, base_url: '{}', native_tool_use: false}}]\n      stream:",
        second.base_url()
    );
    let app = dir.read("app.yaml").replace("      stream:", &fallback);
    let dir = dir.with_file("app.yaml", &app);
    let report = dir.run(["run", "app.yaml", "Lamp and chair?", "--json"]).await.expect(0).json();
    assert_eq!((&report["text"], dir.read("asked.txt").as_str()), (&json!("6 euro."), "lamp\nchair\n"));
    for request in second.requests() {
        let request = request.json().unwrap();
        assert_eq!(request.get("tools"), None, "it knows no functions");
        let told = request["messages"].to_string();
        assert!(told.contains("# AVAILABLE TOOLS") && told.contains("lamp: 3 euro"), "{told}");
        assert!(!told.contains("tool_calls") && !told.contains(r#""role":"tool""#), "{told}");
    }
}
