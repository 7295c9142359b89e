//! Descriptions with HTML in them as plain text.

use std::borrow::Cow;

/// The longest tag, entity and comment that are looked at; a longer one is text.
const MAX_TAG_BYTES: usize = 500;
const MAX_ENTITY_BYTES: usize = 12;
const MAX_COMMENT_BYTES: usize = 2_000;

/// Elements that end a line. Only elements that descriptions use are known: `<value>` is a placeholder.
const BLOCKS: [&str; 20] = [
    "p",
    "br",
    "div",
    "ul",
    "ol",
    "table",
    "thead",
    "tbody",
    "tr",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "dl",
    "dd",
    "pre",
];

/// Elements that say nothing about where a line ends.
const INLINE: [&str; 20] = [
    "a", "b", "strong", "i", "em", "u", "s", "span", "font", "small", "sup", "sub", "img", "th", "td", "dt",
    "var", "center", "abbr", "strike",
];

/// Elements whose text is written as code.
const CODE: [&str; 4] = ["code", "tt", "kbd", "samp"];

/// Returns a description without HTML: items of lists begin with `- `, code stands in backticks, entities are characters.
/// Text without tags and entities is returned as it is, and so is what stands in backticks.
///
/// ```
/// use toolcrib_document::plain_text;
/// assert_eq!(plain_text("<p>Returns <b>one</b> user.</p><ul><li>by <code>id</code></li></ul>"), "Returns one user.\n- by `id`");
/// assert_eq!(plain_text("Reads `<p>` of <value> if a < b."), "Reads `<p>` of <value> if a < b.");
/// ```
pub fn plain_text(text: &str) -> Cow<'_, str> {
    if !has_markup(text) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&', '`']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        rest = if from.starts_with('`') {
            let (code, behind) = quoted(from);
            plain.push_str(code);
            behind
        } else if let Some((tag, behind)) = tag(from) {
            element(&tag, &mut plain);
            behind
        } else if let Some((character, behind)) = entity(from) {
            plain.push(character);
            behind
        } else {
            // A mark that begins nothing is itself, and one byte long.
            let (mark, behind) = from.split_at(1);
            plain.push_str(mark);
            behind
        };
    }
    plain.push_str(rest);
    Cow::Owned(lines(&plain))
}

fn has_markup(text: &str) -> bool {
    let mut starts = text.match_indices(['<', '&']).filter_map(|(at, _)| text.get(at..));
    starts.any(|from| tag(from).is_some() || entity(from).is_some())
}

/// Returns the code that begins with backticks, with its end, and what is behind it.
fn quoted(text: &str) -> (&str, &str) {
    let marks = text.len() - text.trim_start_matches('`').len();
    let (fence, inside) = text.split_at(marks);
    match inside.find(fence) {
        Some(end) => text.split_at(marks + end + marks),
        None => text.split_at(marks),
    }
}

/// A tag: its name in lower case, and whether it ends an element.
struct Tag {
    name: String,
    is_end: bool,
}

/// Returns the tag of a known element, or a comment, that a text begins with, and what is behind it.
fn tag(text: &str) -> Option<(Tag, &str)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        let (inside, _) = comment.split_at(comment.floor_char_boundary(MAX_COMMENT_BYTES));
        let behind = comment.get(inside.find("-->")? + "-->".len()..)?;
        return Some((Tag { name: "!".to_owned(), is_end: false }, behind));
    }
    let inside = text.strip_prefix('<')?;
    let limit = inside.floor_char_boundary(MAX_TAG_BYTES);
    let (inside, behind) = inside.split_at(inside.get(..limit)?.find('>')?);
    let is_end = inside.starts_with('/');
    let name: String =
        inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let after_name = inside.trim_start_matches('/').get(name.len()..)?;
    let is_closed = after_name.is_empty() || after_name.starts_with([' ', '/', '\n', '\t', '\r']);
    let known = BLOCKS.iter().chain(&INLINE).chain(&CODE).any(|one| *one == name) || name == "li";
    (is_closed && known).then(|| (Tag { name, is_end }, behind.get(1..).unwrap_or_default()))
}

/// Writes what a tag means.
fn element(tag: &Tag, plain: &mut String) {
    let name = tag.name.as_str();
    if name == "li" {
        plain.push_str(if tag.is_end { "\n" } else { "\n- " });
    } else if BLOCKS.contains(&name) {
        plain.push('\n');
    } else if CODE.contains(&name) {
        plain.push('`');
    } else if matches!(name, "td" | "th") && tag.is_end {
        plain.push(' ');
    }
}

/// Returns the character of the entity that a text begins with, and what is behind it.
fn entity(text: &str) -> Option<(char, &str)> {
    let inside = text.strip_prefix('&')?;
    let limit = inside.floor_char_boundary(MAX_ENTITY_BYTES);
    let end = inside.get(..limit)?.find(';')?;
    let name = inside.get(..end)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" | "rsquo" | "lsquo" => '\'',
        "quot" | "ldquo" | "rdquo" => '"',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "bull" | "middot" => '·',
        "times" => '×',
        "copy" => '©',
        "rarr" => '→',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|character| !character.is_control() || *character == '\n')?
        }
    };
    Some((character, inside.get(end + 1..).unwrap_or_default()))
}

/// Returns the lines that have text, without the spaces around them.
fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "-");
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_plain_text_and_placeholders_stay() {
        let table = [
            ("plain text, a < b & c > d", "plain text, a < b & c > d"),
            ("<p>One.</p>\n<p>Two&nbsp;&amp; three.</p>", "One.\nTwo & three."),
            ("a<br>b<br/>c<BR />d", "a\nb\nc\nd"),
            ("<ul>\n  <li>x</li>\n  <li></li><li><a href=\"https://e.example/\">y</a></li></ul>", "- x\n- y"),
            ("<a href='/x'>link</a> <strong>now</strong>", "link now"),
            ("use <code>a &lt; b</code>", "use `a < b`"),
            ("the <value> of <key>, <your-token>, a<b", "the <value> of <key>, <your-token>, a<b"),
            ("`<p>` and ```\n<b>x</b>\n``` <i>z</i>", "`<p>` and ```\n<b>x</b>\n``` z"),
            ("y<!-- no -->z", "yz"),
            ("&#65;&#x42;&unknown;&#xD800;&#0;", "AB&unknown;&#xD800;&#0;"),
            ("<p unfinished", "<p unfinished"),
            ("<!-- never ends", "<!-- never ends"),
        ];
        for (html, plain) in table {
            assert_eq!(plain_text(html), plain, "{html}");
        }
    }

    #[test]
    fn hostile_markup_takes_no_more_than_linear_time() {
        for text in ["<p ".repeat(100_000), "&#".repeat(100_000), "`".repeat(100_001), "<!--".repeat(50_000)]
        {
            assert!(plain_text(&text).len() <= text.len());
        }
    }
}
