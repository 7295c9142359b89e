//! An answer at several widths, and in pieces.

use super::MarkdownStream;

const ANSWER: &str = "\
# Prices of *lamps*

There are **two lamps** in stock, and `shop.price` says that the cheaper one costs less than the table that it stands on.

- a desk lamp with a very long description that does not fit in a line of sixty columns
  - which is nested
1. first take the one that is the cheapest of all the lamps that the shop has in stock
10. then pay

| item | price |
|---|--:|
| desk lamp | 20 |
| floor lamp | 45 |

```sh
echo \"a line of code that is longer than the terminal is wide is not broken into parts by us\"
```
---
The end";

fn rendered(columns: usize, is_colourful: bool) -> String {
    let mut stream = MarkdownStream::new(columns, is_colourful);
    stream.push(ANSWER) + &stream.finish()
}

#[test]
fn an_answer_is_laid_out_for_the_width_of_the_terminal() {
    insta::assert_snapshot!("plain_at_60", rendered(60, false));
    insta::assert_snapshot!("plain_at_30", rendered(30, false));
    insta::assert_snapshot!("coloured_at_80", rendered(80, true).replace('\u{1b}', "ESC"));
}

#[test]
fn an_answer_in_pieces_is_shown_as_the_same_text() {
    let whole = rendered(60, true);
    for size in [1, 2, 7, 64] {
        let mut stream = MarkdownStream::new(60, true);
        let chars: Vec<char> = ANSWER.chars().collect();
        let mut shown: String =
            chars.chunks(size).map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
        shown.push_str(&stream.finish());
        assert_eq!(shown, whole, "pieces of {size}");
    }
}

#[test]
fn a_block_is_shown_as_soon_as_it_is_whole() {
    let mut stream = MarkdownStream::new(60, false);
    assert_eq!(stream.push("Hel"), "");
    assert_eq!(stream.push("lo\n```\na"), "Hello\n");
    assert_eq!(stream.push("\n``"), "");
    assert_eq!(stream.push("`\n"), "    a\n");
}

#[test]
fn a_block_without_an_end_is_shown_in_parts() {
    let mut stream = MarkdownStream::new(60, false);
    assert_eq!(stream.push("```\n"), "");
    let shown = stream.push(&"a line of code\n".repeat(5_000));
    assert_eq!(shown.lines().count(), 5_000);
    assert_eq!(stream.finish(), "");
}
