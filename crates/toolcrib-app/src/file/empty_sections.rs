//! Sections of an app file with nothing behind their names.

use serde_json::{Map, Value};

/// Sections that are mappings, by their path of keys; `*` is any key.
const MAPPINGS: [&[&str]; 14] = [
    &["app"],
    &["modules"],
    &["modules", "*"],
    &["modules", "*", "limits"],
    &["tools"],
    &["tools", "engines"],
    &["tools", "capabilities"],
    &["tools", "limits"],
    &["tools", "search"],
    &["tools", "channels"],
    &["tools", "apps"],
    &["skills"],
    &["execution"],
    &["runtime"],
];

/// Sections that are lists.
const LISTS: [&[&str]; 5] = [
    &["agents"],
    &["modules", "*", "setup"],
    &["tools", "registry"],
    &["tools", "enrichments"],
    &["tools", "capabilities", "grant"],
];

/// Makes null sections empty ones: `hello:` under `modules` means `hello: {}`. Sections that take rights away, such as `deny`
/// and `constraints`, are left alone, since nothing there is a mistake.
pub(crate) fn fill(app: &mut Value) {
    for path in MAPPINGS {
        at(app, path, &|| Value::Object(Map::new()));
    }
    for path in LISTS {
        at(app, path, &|| Value::Array(Vec::new()));
    }
}

fn at(value: &mut Value, path: &[&str], empty: &dyn Fn() -> Value) {
    let Some((key, rest)) = path.split_first() else {
        if value.is_null() {
            *value = empty();
        }
        return;
    };
    let Value::Object(map) = value else { return };
    if *key == "*" {
        map.values_mut().for_each(|value| at(value, rest, empty));
    } else if let Some(value) = map.get_mut(*key) {
        at(value, rest, empty);
    }
}
