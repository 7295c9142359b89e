//! The Helm chart of `deploy/helm`.

use std::process::Command;

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

use crate::support::{TestDir, repository};

/// The values that a user has to set.
const REQUIRED: &[&str] =
    &["image.repository=registry.example/toolcrib", "store.existingSecret=toolcrib-store"];

/// Returns a YAML document.
fn yaml(text: &str) -> Value {
    parse(text.as_bytes(), Format::Yaml, &Limits::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .value
}

#[tokio::test]
async fn the_app_of_the_chart_is_valid() {
    let values = std::fs::read_to_string(repository().join("deploy/helm/values.yaml")).unwrap();
    let dir = TestDir::with_app(yaml(&values)["app"].as_str().unwrap())
        .with_variable("SUPPORT_TOKEN", "a-token-of-some-length")
        .with_variable("POD_IP", "10.0.0.1");
    dir.run(["validate", "app.yaml"]).await.expect(0);
}

/// Runs `helm` on the chart with values. `None` where it is not installed.
fn helm(command: &[&str], values: &[&str]) -> Option<Result<String, String>> {
    let mut helm = Command::new("helm");
    helm.args(command).arg(repository().join("deploy/helm"));
    let run_output = helm.args(values.iter().flat_map(|value| ["--set", value])).output();
    let Ok(run_output) = run_output else {
        // `cargo xtask test` does not install it.
        eprintln!("left out: `helm` is not installed");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(if run_output.status.success() {
        Ok(text(&run_output.stdout))
    } else {
        Err(text(&run_output.stderr))
    })
}

#[test]
fn the_chart_renders_replicas_that_share_a_store() {
    let Some(linted) = helm(&["lint", "--strict"], REQUIRED) else { return };
    linted.unwrap();
    let values =
        [REQUIRED, &["replicas=3", "ingress.enabled=true", "envFrom[0].secretRef.name=keys"]].concat();
    let rendered = helm(&["template", "tools"], &values).unwrap().unwrap();
    let objects: Vec<_> =
        rendered.split("\n---").map(|text| text.trim_start_matches("---")).map(yaml).collect();
    let object = |kind: &str| {
        let found = objects.iter().find(|object| object["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}: {rendered}"))
    };
    let deployment = object("Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3);
    let pod = &deployment["spec"]["template"];
    assert_eq!(object("Service")["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]);
    for container in [&pod["spec"]["containers"][0], &pod["spec"]["initContainers"][0]] {
        assert_eq!(container["image"], "registry.example/toolcrib:0.1.0");
        assert_eq!(container["env"][0]["name"], "TOOLCRIB_STORE");
        assert_eq!(container["env"][0]["valueFrom"]["secretKeyRef"]["name"], "toolcrib-store");
        assert_eq!(container["envFrom"][0]["secretRef"]["name"], "keys");
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    }
    assert!(object("ConfigMap")["data"]["app.yaml"].as_str().unwrap().contains("${POD_IP}"));
    let backend = &object("Ingress")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
    assert_eq!(backend["name"], object("Service")["metadata"]["name"]);
    assert_eq!(object("PodDisruptionBudget")["spec"]["maxUnavailable"], 1);
    // One replica that leaves is all of them.
    let single = helm(&["template", "tools"], &[REQUIRED, &["replicas=1"]].concat()).unwrap().unwrap();
    assert!(!single.contains("PodDisruptionBudget"), "{single}");
}

#[test]
fn values_that_are_missing_or_misspelled_are_refused() {
    for (values, problem) in [
        (&[][..], "/store/existingSecret"),
        (&["image.repository=x", "store.existingSecret=s", "replica=3"], "replica"),
        (&["image.repository=x", "store.existingSecret=s", "replicas=0"], "/replicas"),
    ] {
        let Some(rendered) = helm(&["template", "tools"], values) else { return };
        let error = rendered.unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}
