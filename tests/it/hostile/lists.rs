//! Servers whose lists of tools are not what they should be.

use std::fmt::Write as _;

use toolcrib_loader_mcp::tools::{MAX_PAGES, MAX_TOOLS};
use toolcrib_model::QualifiedName;
use toolcrib_registry::Snapshot;

use super::counted;
use super::fixture::Fixture;

/// The names of the bad server's tools, sorted.
fn names(snapshot: &Snapshot) -> Vec<&str> {
    let mut names: Vec<_> =
        snapshot.tool_names().filter(|name| name.namespace() == "bad").map(QualifiedName::name).collect();
    names.sort_unstable();
    names
}

counted!(tools_whose_schemas_are_none_are_rejected_one_by_one, async {
    let rig = Fixture::new("lies").await;
    let snapshot = rig.load().await;
    let mut text = format!("tools: {}\n", names(&snapshot).join(", "));
    for reject in snapshot.rejected() {
        let name = reject.name.as_deref().unwrap_or("-");
        writeln!(text, "{name} ({:?}): {}", reject.kind, reject.reason).unwrap();
    }
    for tool in ["keeps_its_word", "breaks_its_word", "says_nothing"] {
        let result = rig.call(&format!("bad.{tool}"), "").await;
        let violations = result.metadata.get("output_violations").cloned().unwrap_or_default();
        writeln!(text, "{tool} returned {}, {violations}, {:?}", result.result, result.error).unwrap();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("tools_whose_schemas_are_none_are_rejected_one_by_one", text));
    rig.close().await;
});

counted!(pages_without_end_are_cut_off, async {
    let rig = Fixture::new("endless-pages").await;
    let snapshot = rig.load().await;
    let [reject] = snapshot.rejected() else { panic!("{:?}", snapshot.rejected()) };
    assert!(reject.reason.contains("on more than 1000 pages"), "{}", reject.reason);
    assert_eq!(names(&snapshot).len(), MAX_PAGES);
    rig.close().await;
});

counted!(a_list_that_is_too_long_is_cut_off, async {
    let rig = Fixture::new("huge-list").await;
    let snapshot = rig.load().await;
    let [reject] = snapshot.rejected() else { panic!("{:?}", snapshot.rejected()) };
    assert!(reject.reason.contains("lists more than 20000 tools"), "{}", reject.reason);
    assert_eq!(names(&snapshot).len(), MAX_TOOLS);
    rig.assert_undisturbed().await;
    rig.close().await;
});

counted!(a_list_that_changes_each_time_is_loaded_as_it_is, async {
    let rig = Fixture::new("changes").await;
    let first = rig.load().await;
    assert_eq!(names(&first), ["echo", "round_1"]);
    assert_eq!(rig.call("bad.echo", "one").await.result, "one");
    let second = rig.load().await;
    let names = names(&second);
    assert!(names.len() == 2 && names[1] != "round_1", "{names:?}");
    rig.close().await;
});
