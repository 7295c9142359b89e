//! Files that are built to be as expensive as possible, and files that resemble tool files but are not.

use std::fmt::Write as _;

use toolcrib_document::MAX_VALUES;

/// The size of a file that is over the bound, and of one that is just below.
const TOO_LARGE: usize = 20 << 20;
const NEARLY_TOO_LARGE: usize = 15 << 20;

/// The size of a list of single digits that is just below the bound on values.
const NEARLY_TOO_MANY: usize = 2 * (MAX_VALUES - 2);

/// The nesting depth of a file that is nested too deeply.
const LEVELS: usize = 5_000;

/// A file: its mistake, its extension, and its content.
pub(crate) struct Attack {
    pub(crate) what: &'static str,
    pub(crate) ending: &'static str,
    pub(crate) bytes: fn() -> Vec<u8>,
}

const fn attack(what: &'static str, ending: &'static str, bytes: fn() -> Vec<u8>) -> Attack {
    Attack { what, ending, bytes }
}

pub(crate) const ATTACKS: &[Attack] = &[
    attack("aliases of lists, ten to the ninth", "yaml", || {
        alias_bomb("[x,x,x,x,x,x,x,x,x,x]", |alias, _| alias.to_owned(), ['[', ']'])
    }),
    attack("aliases of mappings, ten to the ninth", "yaml", || {
        alias_bomb("{k: x}", |alias, number| format!("k{number}: {alias}"), ['{', '}'])
    }),
    attack("20,000 aliases of a text of 1 MiB", "yaml", || aliases(&"x".repeat(1 << 20), "*a,", 20_000)),
    attack("20,000 keys that are a text of 1 MiB", "yaml", || {
        aliases(&"x".repeat(1 << 20), "{*a : 1},", 20_000)
    }),
    attack("5,000 merges of 1,000 keys", "yaml", || {
        let keys = numbered(1_000, |number| format!("k{number}: 1,"));
        aliases(&format!("{{{keys}}}"), "{<<: [*a,*a]},", 5_000)
    }),
    attack("millions of aliases", "yaml", || aliases("[1]", "*a,", NEARLY_TOO_LARGE / 3)),
    attack("millions of anchors", "yaml", || filled("[", "&a 1,", "]")),
    attack("anchors around anchors around 2 MiB", "yaml", || {
        let anchors = numbered(120, |number| format!("&a{number} ["));
        format!("{anchors}{}{}", "x".repeat(2 << 20), "]".repeat(120)).into()
    }),
    attack("an alias inside of itself", "yaml", || b"a: &a [*a]\n".to_vec()),
    attack("lists, 5,000 levels", "json", || nested("[", "]")),
    attack("mappings, 5,000 levels", "json", || nested("{\"a\":", "}")),
    attack("lists, 5,000 levels", "jsonl", || nested("[", "]")),
    attack("lists, 5,000 levels", "yaml", || nested("[", "]")),
    attack("mappings, 5,000 levels", "yaml", || nested("{a: ", "}")),
    attack("lists in lines, 5,000 levels", "yaml", || "- ".repeat(LEVELS).into()),
    attack("mappings in lines, 5,000 levels", "yaml", || {
        numbered(LEVELS, |level| format!("{}a:\n", " ".repeat(level))).into()
    }),
    attack("keys of keys, 5,000 levels", "yaml", || "? ".repeat(LEVELS).into()),
    attack("a schema, 5,000 levels", "json", || {
        let schema = nested("{\"not\":", "}");
        [b"[{\"name\":\"deep\",\"parameters\":", schema.as_slice(), b"}]"].concat()
    }),
    attack("15 MiB of opening brackets", "json", || filled("", "[", "")),
    attack("15 MiB of opening brackets", "yaml", || filled("", "[", "")),
    attack("20 MiB of tools", "json", || sized("[", "{\"name\": \"t\"},", "{}]", TOO_LARGE)),
    attack("20 MiB of tools", "jsonl", || sized("", "{\"name\": \"t\"}\n", "", TOO_LARGE)),
    attack("20 MiB of tools", "yaml", || sized("", "- {name: t}\n", "", TOO_LARGE)),
    attack("a text of 20 MiB", "yaml", || sized("- {name: t, description: ", "x", "}", TOO_LARGE)),
    attack("a key that stands twice", "json", || b"[{\"name\": \"a\", \"name\": \"b\"}]".to_vec()),
    attack("a key that stands twice, once escaped", "json", || {
        b"[{\"name\": 1, \"\\u006eame\": 2}]".to_vec()
    }),
    attack("a key that stands twice", "jsonl", || {
        b"{\"name\": \"a\"}\n{\"name\": \"a\", \"name\": \"b\"}\n".to_vec()
    }),
    attack("a key that stands twice", "yaml", || b"- {name: a, name: b}\n".to_vec()),
    attack("a key of 7 MiB that stands twice", "json", || {
        let key = "k".repeat(7 << 20);
        format!("{{\"{key}\":1,\"{key}\":2}}").into()
    }),
    attack("a byte order mark", "json", || b"\xEF\xBB\xBF[{\"name\": \"a\"}]".to_vec()),
    attack("a byte order mark", "jsonl", || b"\xEF\xBB\xBF{\"name\": \"a\"}\n".to_vec()),
    attack("a byte order mark", "yaml", || b"\xEF\xBB\xBF- {name: a}\n".to_vec()),
    attack("UTF-16, little end first, with a mark", "json", || {
        utf16("\u{FEFF}[{\"name\": \"a\"}]", u16::to_le_bytes)
    }),
    attack("UTF-16, big end first", "json", || utf16("[{\"name\": \"a\"}]", u16::to_be_bytes)),
    attack("UTF-16, little end first, with a mark", "yaml", || {
        utf16("\u{FEFF}- {name: a}\n", u16::to_le_bytes)
    }),
    attack("UTF-16, big end first", "yaml", || utf16("- {name: a}\n", u16::to_be_bytes)),
    attack("UTF-16 that starts with Chinese", "yaml", || utf16("读取: [{name: a}]\n", u16::to_le_bytes)),
    attack("bytes that are no UTF-8", "yaml", || b"- {name: a, description: caf\xE9}\n".to_vec()),
    attack("a key that is a number", "yaml", || b"200: [{name: a}]\n".to_vec()),
    attack("a key that is a boolean", "yaml", || b"true: [{name: a}]\n".to_vec()),
    attack("a key that is null", "yaml", || b"~: [{name: a}]\n".to_vec()),
    attack("a key that is a list", "yaml", || b"[a]: [{name: a}]\n".to_vec()),
    attack("a key that is a mapping", "yaml", || b"{a: b}: [{name: a}]\n".to_vec()),
    attack("a tag that runs Python", "yaml", || b"- !!python/object/apply:os.system [id]\n".to_vec()),
    attack("a tag of the file's own", "yaml", || b"- !tool {name: a}\n".to_vec()),
    attack("a tag of 1 MiB", "yaml", || format!("- !{} a\n", "t".repeat(1 << 20)).into()),
    attack("binary data by its tag", "yaml", || b"- {name: a, description: !!binary aGVsbG8=}\n".to_vec()),
    attack("no JSON", "json", || b"not json".to_vec()),
    attack("JSON that breaks off", "json", || b"[{\"name\": \"a\"}, {\"name\": \"b\"".to_vec()),
    attack("nothing", "json", Vec::new),
    attack("millions of broken lines", "jsonl", || filled("", "{\n", "")),
    attack("millions of numbers", "json", || filled("[", "1,", "1]")),
    attack("millions of empty mappings", "json", || filled("[", "{},", "{}]")),
    attack("millions of numbers", "jsonl", || filled("", "1\n", "")),
    attack("millions of numbers", "yaml", || filled("[", "1,", "1]")),
    attack("millions of one-key mappings", "yaml", || filled("[", "{a},", "]")),
    attack("a directive, very often", "yaml", || filled("", "%TAG !a! tag:x,2000:\n", "---\n[]\n")),
    attack("a name of 1 MiB", "yaml", || format!("- {{name: {}}}\n", "n".repeat(1 << 20)).into()),
];

fn numbered(count: usize, part: fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().concat()
}

/// Files that are almost as large and full as allowed, with the mistake at the end.
pub(crate) const LARGE: &[Attack] = &[
    attack("a key that stands twice, behind 15 MiB", "json", || {
        filled(
            "[",
            "{\"name\": \"tool\", \"description\": \"some words that fill the file\"},",
            "{\"a\":1,\"a\":2}]",
        )
    }),
    attack("a key that stands twice, behind 15 MiB", "yaml", || {
        filled("", "- {name: tool, description: some words that fill the file}\n", "- {a: 1, a: 2}\n")
    }),
    attack("a million values", "json", || sized("[", "1,", "1]", NEARLY_TOO_MANY)),
    attack("a million values", "jsonl", || sized("", "1\n", "", NEARLY_TOO_MANY)),
    attack("a million values", "yaml", || sized("[", "1,", "1]", NEARLY_TOO_MANY)),
    attack("a million values in lines", "yaml", || sized("", "- 1\n", "", 2 * NEARLY_TOO_MANY)),
];

/// Returns a list of ten items, and nine lists of ten references to the previous one.
fn alias_bomb(first: &str, item: fn(&str, usize) -> String, [open, close]: [char; 2]) -> Vec<u8> {
    let mut text = format!("a0: &a0 {first}\n");
    for level in 1..10 {
        let alias = format!("*a{}", level - 1);
        let items: Vec<_> = (0..10).map(|number| item(&alias, number)).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "a{level}: &a{level} {open}{}{close}", items.join(", "));
    }
    text.into()
}

/// Returns one value with an anchor, and a list that refers to it many times.
fn aliases(anchored: &str, item: &str, count: usize) -> Vec<u8> {
    format!("a: &a {anchored}\nb: [{}]\n", item.repeat(count)).into()
}

fn nested(open: &str, close: &str) -> Vec<u8> {
    format!("{}1{}", open.repeat(LEVELS), close.repeat(LEVELS)).into()
}

/// Returns as many repetitions of an item as fit below the bound.
fn filled(start: &str, item: &str, end: &str) -> Vec<u8> {
    sized(start, item, end, NEARLY_TOO_LARGE)
}

fn sized(start: &str, item: &str, end: &str, bytes: usize) -> Vec<u8> {
    format!("{start}{}{end}", item.repeat(bytes / item.len())).into()
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}
