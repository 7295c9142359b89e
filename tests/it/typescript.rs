//! Declarations of the tools of all `OpenAPI` documents, read by the compiler of TypeScript.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::process::Command;
use toolcrib_model::Tool;
use toolcrib_schema::typescript::{Declared, declarations};

use crate::budget::forms::operations;
use crate::support::{peer, shared};

/// The operations of the documents.
const OPERATIONS: usize = 1_918;

/// The bytes of a tool: enough for nearly all of them, and what a search shows.
const ROOMS: [usize; 2] = [32 * 1024, 600];

/// How many tools may not have all of their types in the larger room.
const MAX_CUT: usize = 4;

/// How long the compiler may take.
const MAX_TIME: Duration = Duration::from_mins(1);

/// Runs the compiler on all files of a folder.
async fn compile(packages: &Path, folder: &Path) -> Output {
    let options = json!({
        "compilerOptions": {
            "noEmit": true, "strict": true, "target": "es2022", "module": "esnext", "moduleDetection": "force", "types": [],
        },
        "include": ["*.ts"],
    });
    std::fs::write(folder.join("tsconfig.json"), options.to_string()).unwrap();
    let compiler = packages.join("node_modules/.bin/tsc");
    Command::new(compiler).args(["-p", "."]).current_dir(folder).output().await.unwrap()
}

/// Declares tools, and uses the name of each.
fn source(tools: &[Tool], room: usize) -> (String, bool) {
    let declared = declarations(&tools.iter().map(Declared::from).collect::<Vec<_>>(), room);
    let mut text = declared.text;
    for tool in tools {
        writeln!(text, "tools[{}][{}];", json!(tool.name.namespace()), json!(tool.name.name())).unwrap();
    }
    (text, declared.is_cut)
}

#[tokio::test]
async fn the_declarations_of_all_operations_compile() {
    let (Some(shared), Some(packages)) = (shared(), peer("npm")) else { return };
    let tools = operations(&shared, &[]).await;
    assert_eq!(tools.len(), OPERATIONS);
    let cut = tools.iter().filter(|tool| source(std::slice::from_ref(tool), ROOMS[0]).1).count();
    let mut documents = BTreeMap::<&str, Vec<Tool>>::new();
    for tool in &tools {
        documents.entry(tool.name.namespace()).or_default().push(tool.clone());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    for room in ROOMS {
        for (namespace, tools) in &documents {
            let text = source(tools, room).0;
            bytes += text.len();
            std::fs::write(folder.path().join(format!("{namespace}_{room}.ts")), text).unwrap();
        }
    }
    let begun = Instant::now();
    let output = compile(&packages, folder.path()).await;
    let told = String::from_utf8_lossy(&output.stdout);
    eprintln!("{} documents, {bytes} bytes, {cut} tools cut, {:?}", documents.len(), begun.elapsed());
    assert!(output.status.success(), "{told}");
    assert!(begun.elapsed() < MAX_TIME, "{:?}", begun.elapsed());
    assert!(cut <= MAX_CUT, "{cut}");
}

#[tokio::test]
async fn the_compiler_refuses_wrong_calls_of_declared_tools_and_takes_right_ones() {
    let Some(packages) = peer("npm") else { return };
    let schema = json!({
        "type": "object",
        "properties": {"pet": {"$ref": "#/$defs/Pet"}, "count": {"type": ["integer", "null"]}, "mode": {"enum": ["fast", "slow"]}},
        "required": ["pet"],
        "$defs": {"Pet": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parents": {"type": "array", "items": {"$ref": "#/$defs/Pet"}}},
            "required": ["name"],
        }},
    });
    let name = toolcrib_model::QualifiedName::new("pet-shop", "delete").unwrap();
    let tool = Tool::new(name).with_parameters(schema.clone()).with_output_parameters(schema);
    let (declared, _) = source(&[tool], ROOMS[0]);
    let call = |arguments: &str| format!("await tools['pet-shop'].delete({arguments})");
    let right = [
        "{pet: {name: 'a', parents: [{name: 'b'}]}, count: null, mode: 'fast'}",
        "(await tools['pet-shop'].delete({pet: {name: 'a'}}))",
    ];
    let wrong = [
        "",
        "{}",
        "{pet: {}}",
        "{pet: {name: 1}}",
        "{pet: {name: 'a', parents: ['b']}}",
        "{pet: {name: 'a'}, mode: 'other'}",
        "{pet: {name: 'a'}, unknown: 1}",
    ];
    for (arguments, is_right) in right.map(|one| (one, true)).into_iter().chain(wrong.map(|one| (one, false)))
    {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.ts"), format!("{declared}{};\n", call(arguments))).unwrap();
        let output = compile(&packages, folder.path()).await;
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.success(), is_right, "{arguments}: {told}");
        assert!(is_right || told.contains("error TS2"), "{arguments}: {told}");
    }
}
