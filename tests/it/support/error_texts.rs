//! A command that goes wrong, as a person and as a machine sees it.

use super::TestDir;

/// Runs a command twice, the second time with `--json`. Both have to end with this exit code, and the second has to
/// print one JSON document. Returns all that was said.
pub(crate) async fn error_texts<const N: usize>(dir: &TestDir, arguments: [&str; N], code: i32) -> String {
    let line = arguments
        .map(|word| if word.contains([' ', '{', '"']) { format!("'{word}'") } else { word.to_owned() });
    let plain = dir.run(arguments).await.expect(code);
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let machine = dir.run_words(&with_json).await.expect(code);
    let document = serde_json::to_string_pretty(&machine.json()).unwrap();
    format!("$ toolcrib {}\n{}--- with --json\n{document}\n\n", line.join(" "), plain.report())
}
