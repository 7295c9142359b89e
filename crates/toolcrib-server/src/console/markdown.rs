//! Markdown of agents and servers as part of the page.
//!
//! The Markdown contributes no markup: all tags are constants of this crate, and links are shown as text with their
//! URL.

use maud::{Markup, html};
use toolcrib_document::markdown::{Block, blocks, inline};

use super::html::{text, text_to};

/// The maximum number of blocks that are shown. The rows of tables count as blocks.
const MAX_BLOCKS: usize = 2_000;

/// Renders Markdown, with each of its texts truncated to a maximum length in characters. The numbered list of a plan is
/// shown as its steps. The title may declare the whole text a plan.
pub(super) fn markdown(title: &str, markdown: &str, most: usize) -> Markup {
    let all = blocks(title, markdown);
    let mut size = 0;
    let fits = |block: &&Block<'_>| {
        size += if let Block::Table(rows) = block { rows.len() } else { 1 };
        size <= MAX_BLOCKS
    };
    let count = all.iter().take_while(fits).count();
    html! {
        div class="markdown" {
            @for block in all.iter().take(count) { (self::block(block, most)) }
            @if count < all.len() { p class="dim" { "The rest is in the text below." } }
        }
    }
}

fn block(block: &Block<'_>, most: usize) -> Markup {
    let shown = |text: &str| html! { (text_to(&inline(text), most)) };
    html! {
        @match block {
            Block::Heading { text, .. } => h4 { (shown(text)) },
            Block::Code { lines, .. } => pre { (text_to(&lines.join("\n"), most)) },
            Block::Table(rows) => table {
                @for (number, row) in rows.iter().enumerate() {
                    tr {
                        @for cell in row {
                            @if number == 0 { th { (shown(cell)) } } @else { td { (shown(cell)) } }
                        }
                    }
                }
            },
            Block::Step { number, count, text } => p class="step" {
                b { "Step " (number) " of " (count) } " " (shown(text))
            },
            Block::Item { indent, mark, text: item } => p { (text(indent)) (mark.as_str()) " " (shown(item)) },
            Block::Rule => hr;,
            Block::Line { text: "", .. } => {},
            Block::Line { indent, text: line } => p { (text(indent)) (shown(line)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MAX_BLOCKS;

    fn rendered(title: &str, markdown: &str) -> String {
        super::markdown(title, markdown, 100).into_string()
    }

    #[test]
    fn a_plan_is_shown_step_by_step() {
        let text = "## Plan\n1. Add a *gateway*\n   - with `tests`\n2. Ship\n\n---\n| a | b |\n|---|---|\n| 1 | 2 |\n\
                    ```sh\nmake\nmake install\n```\nSee [the notes](https://a.example/).";
        insta::assert_snapshot!(rendered("Agreed?", text), @r#"
        <div class="markdown"><h4>Plan</h4><p class="step"><b>Step 1 of 2</b> Add a gateway</p><p>   • with `tests`</p><p class="step"><b>Step 2 of 2</b> Ship</p><hr><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre>make
        make install</pre><p>See the notes (https://a.example/).</p></div>
        "#);
    }

    #[test]
    fn markdown_brings_no_markup_and_hides_nothing() {
        let text = "# <script>x</script>\n<img src=x onerror=y>\n[click](javascript:alert(1))\n![a](\"onload=\"z)\n\
                    - <b>&amp;\n<!-- hidden -->\n```<i>\n</pre><script>\n```\n<i>|<u>\n--|--\n\u{202e}a|b";
        let html = rendered("", text);
        let tags = html.split('<').skip(1).map(|rest| rest.split(['>', ' ']).next().unwrap());
        let known = ["div", "h4", "p", "pre", "table", "tr", "th", "td"];
        for tag in tags {
            assert!(known.contains(&tag.trim_start_matches('/')), "{tag} in {html}");
        }
        for shown in ["javascript:alert(1)", "&lt;!-- hidden --&gt;", "\\u{202e}", "&quot;onload=&quot;z"] {
            assert!(html.contains(shown), "{shown} in {html}");
        }
    }

    #[test]
    fn many_blocks_are_cut_with_a_note() {
        let html = rendered("", &"- x\n".repeat(MAX_BLOCKS + 1));
        assert_eq!(html.matches("• x").count(), MAX_BLOCKS);
        assert!(html.contains("The rest is in the text below."), "{html}");
    }
}
