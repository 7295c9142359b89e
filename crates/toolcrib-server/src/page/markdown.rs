//! Markdown of agents and servers as part of the page.
//!
//! The Markdown contributes no markup: all tags are constants of this crate, and links are shown as text with their
//! URL.

use toolcrib_document::markdown::{Block, blocks, inline};

use super::html::Html;

/// The maximum number of blocks that are shown. The rows of tables count as blocks.
const MAX_BLOCKS: usize = 2_000;

impl Html {
    /// Adds Markdown, with each of its texts truncated to a maximum length in characters. The numbered list of a plan
    /// is shown as its steps. The title may declare the whole text a plan.
    pub(super) fn markdown(&mut self, title: &str, markdown: &str, most: usize) -> &mut Self {
        self.markup("<div class=\"markdown\">\n");
        let mut left = MAX_BLOCKS;
        for block in blocks(title, markdown) {
            let size = if let Block::Table(rows) = &block { rows.len() } else { 1 };
            let Some(rest) = left.checked_sub(size) else {
                self.markup("<p class=\"dim\">The rest is in the text below.</p>\n");
                break;
            };
            left = rest;
            self.block(&block, most);
        }
        self.markup("</div>\n")
    }

    fn block(&mut self, block: &Block<'_>, most: usize) {
        match block {
            Block::Heading { text, .. } => {
                self.markup("<h4>").text_to(&inline(text), most).markup("</h4>\n");
            }
            Block::Code { lines, .. } => {
                self.markup("<pre>").text_to(&lines.join("\n"), most).markup("</pre>\n");
            }
            Block::Table(rows) => self.table(rows, most),
            Block::Step { number, count, text } => {
                self.markup("<p class=\"step\"><b>Step ").show(number).markup(" of ").show(count);
                self.markup("</b> ").text_to(&inline(text), most).markup("</p>\n");
            }
            Block::Item { indent, mark, text } => {
                self.markup("<p>").text(indent).markup(mark.as_str()).markup(" ");
                self.text_to(&inline(text), most).markup("</p>\n");
            }
            Block::Rule => {
                self.markup("<hr>\n");
            }
            Block::Line { text: "", .. } => {}
            Block::Line { indent, text } => {
                self.markup("<p>").text(indent).text_to(&inline(text), most).markup("</p>\n");
            }
        }
    }

    fn table(&mut self, rows: &[Vec<&str>], most: usize) {
        self.markup("<table>\n");
        for (number, row) in rows.iter().enumerate() {
            let (opening, closing) = if number == 0 { ("<th>", "</th>") } else { ("<td>", "</td>") };
            self.markup("<tr>");
            for cell in row {
                self.markup(opening).text_to(&inline(cell), most).markup(closing);
            }
            self.markup("</tr>\n");
        }
        self.markup("</table>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Html, MAX_BLOCKS};

    fn rendered(title: &str, markdown: &str) -> String {
        let mut html = Html::default();
        html.markdown(title, markdown, 100);
        html.finish()
    }

    #[test]
    fn a_plan_is_shown_step_by_step() {
        let text = "## Plan\n1. Add a *gateway*\n   - with `tests`\n2. Ship\n\n---\n| a | b |\n|---|---|\n| 1 | 2 |\n\
                    ```sh\nmake\nmake install\n```\nSee [the notes](https://a.example/).";
        insta::assert_snapshot!(rendered("Agreed?", text), @r#"
        <div class="markdown">
        <h4>Plan</h4>
        <p class="step"><b>Step 1 of 2</b> Add a gateway</p>
        <p>   • with `tests`</p>
        <p class="step"><b>Step 2 of 2</b> Ship</p>
        <hr>
        <table>
        <tr><th>a</th><th>b</th></tr>
        <tr><td>1</td><td>2</td></tr>
        </table>
        <pre>make
        make install</pre>
        <p>See the notes (https://a.example/).</p>
        </div>
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
