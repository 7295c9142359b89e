//! Keys of tools that mean nothing here.

use toolcrib_port::ToolLoader;

use super::load;
use crate::FileLoader;

#[tokio::test]
async fn a_key_that_is_misspelt_rejects_its_tool_at_its_place() {
    for (key, meant) in [
        ("confirmation_requird", "confirmation_required"),
        ("rsik", "risk"),
        ("paramters", "parameters"),
        ("descripton", "description"),
        ("tag", "tags"),
    ] {
        let loaded = load(&format!("- name: a\n  {key}: x\n- name: b\n")).await;
        assert_eq!(loaded.tools.len(), 1, "{key}: the other tool loads");
        let reason = &loaded.rejected[0].reason;
        let expected = format!("tools.yaml:2:3: unknown key `{key}`, did you mean `{meant}`?");
        assert!(reason.ends_with(&expected), "{reason}");
    }
    let wrapped = load("[{type: function, function: {name: a, rsik: high}}]").await;
    assert!(wrapped.rejected[0].reason.contains("`rsik`"), "{:?}", wrapped.rejected);
}

#[tokio::test]
async fn keys_of_other_formats_are_kept_and_warned_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.yaml");
    let tools =
        "- {name: a, strict: true, service: s, method: GET}\n- {name: b, service: s, name_for_people: B}\n";
    std::fs::write(&path, tools).unwrap();
    let loader = FileLoader::new(&path);
    let loaded = loader.load().await;
    assert!(loaded.rejected.is_empty(), "{:?}", loaded.rejected);
    assert_eq!(loaded.tools[0].metadata()["service"], "s");
    let file = path.display();
    assert_eq!(
        loader.warnings(),
        [
            format!("{file}: `a` has the unknown key `method`; it is kept as metadata and changes nothing"),
            format!(
                "{file}: `b` has the unknown key `name_for_people`; it is kept as metadata and changes nothing"
            ),
            format!(
                "{file}: 2 tools, the first of them `a`, have the unknown key `service`; it is kept as metadata and changes \
                 nothing"
            ),
        ]
    );
}
