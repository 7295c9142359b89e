//! Messages of GNU gettext.

use super::script;

/// What the text of a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    English,
    Text,
    Other,
}

/// Calls `add` with each message and its translation; of messages in two numbers, with the first. Fuzzy translations and
/// obsolete messages are left out.
pub(super) fn read(file: &str, mut add: impl FnMut(&str, &str)) {
    let (mut english, mut text) = (String::new(), String::new());
    let (mut field, mut is_fuzzy) = (Field::Other, false);
    for line in file.lines().map(str::trim).chain(["msgid \"\""]) {
        let keyword = line.split('"').next().unwrap_or_default().trim();
        let (is_flag, is_obsolete) = (line.starts_with("#,"), line.starts_with("#~"));
        if is_flag || is_obsolete || matches!(keyword, "msgctxt" | "msgid") {
            if !english.is_empty() && !text.is_empty() && !is_fuzzy {
                add(&english, &text);
            }
            // The context of a message keeps its flag.
            is_fuzzy &= english.is_empty() && text.is_empty();
            english.clear();
            text.clear();
        }
        if line.starts_with('#') {
            is_fuzzy = is_flag && line.contains("fuzzy") || is_fuzzy && !is_obsolete;
            continue;
        }
        field = match keyword {
            "" => field,
            "msgid" => Field::English,
            "msgstr" | "msgstr[0]" => Field::Text,
            _ => Field::Other,
        };
        let Some(start) = line.find('"') else { continue };
        let content = script::unquoted(line.get(start..).unwrap_or_default());
        match field {
            Field::English => english.push_str(&content),
            Field::Text => text.push_str(&content),
            Field::Other => {}
        }
    }
}
