//! What a page says.

use serde_json::json;

use super::page;

#[test]
fn a_page_has_all_that_the_declarations_say() {
    let module = json!({
        "module": "lathe", "title": "Lathe", "description": "Turns things.",
        "config": {"type": "object", "properties": {
            "speed": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "Turns a second."},
        }},
        "actions": [
            {
                "name": "lathe.turn", "description": "Turns one thing.", "risk": "high",
                "parameters": {
                    "type": "object", "required": ["what"],
                    "$defs": {"Thing": {"enum": ["bolt", "nut"], "description": "What is turned: a|b."}},
                    "properties": {
                        "what": {"$ref": "#/$defs/Thing"},
                        "marks": {"type": "array", "items": {"type": ["number", "null"]}},
                        "how": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
                    },
                },
                "output_parameters": {"type": "string"},
                "metadata": {"side_effects": ["makes shavings"], "aliases": ["tourner"], "confirmation_required": true},
            },
            {"name": "lathe.stop", "description": "Stops.", "risk": "low", "parameters": {"type": "object", "properties": {}},
             "output_parameters": {}, "metadata": {}},
        ],
    });
    let expected = "\
# `lathe`

<!-- Made by `cargo xtask docs` of the module's declarations, which are what to change. -->

Turns things.

## Configuration

| key | type | default | |
|---|---|---|---|
| `speed` | whole number from 1 to 9 | `3` | Turns a second. |

## Actions

### `lathe.turn`

Turns one thing.

Risk: high. Side effects: makes shavings. Also found as: tourner. Asks unless it is granted by name.

Arguments:

| argument | type | default | |
|---|---|---|---|
| `what` | `\"bolt\"` or `\"nut\"` | required | What is turned: a\\|b. |
| `marks` | list of number or null |  |  |
| `how` | text or `true` or `false` |  |  |

Result: text.

### `lathe.stop`

Stops.

Risk: low.

Arguments: none.

Result: none.
";
    assert_eq!(page::of(&module), expected);
}
