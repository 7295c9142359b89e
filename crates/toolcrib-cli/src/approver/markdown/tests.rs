//! Markdown on a terminal.

use super::rendered;

#[test]
fn headings_lists_emphasis_code_and_rules_read_well_as_plain_text() {
    let text = "# Release *1.0*\nBuild **all** of it, see [the notes](https://a.example/x_y_z) and `cargo **build**`.\n\n\
                - first\n  * __second__\n- [ ] open\n- [x] done\n+ snake_case and 2*3*4 stay\n\n---\n### Notes\n\
                > quoted\n![a chart](chart.png) \\*as written\\* <b>html</b>";
    insta::assert_snapshot!(rendered("", text), @r"
    Release 1.0
    ═══════════
    Build all of it, see the notes (https://a.example/x_y_z) and `cargo **build**`.

    • first
      • second
    ☐ open
    ☑ done
    • snake_case and 2*3*4 stay

    ────────────────────────
    Notes
    ·····
    > quoted
    image: a chart (chart.png) *as written* <b>html</b>
    ");
}

#[test]
fn code_stays_as_it_is_written() {
    let text = "```python\n# no heading\n1. no step **at all**\n~~~\n```\nafter\n````\n```\nunclosed";
    insta::assert_snapshot!(rendered("The plan", text), @r"
    (python)
        # no heading
        1. no step **at all**
        ~~~
    after
        ```
        unclosed
    ");
}

#[test]
fn the_numbered_list_of_a_plan_is_shown_as_its_steps() {
    let text = "## Plan\n1. Add a *gateway*\n   - with tests\n2) Ship\n\n10. Tell everybody\n## Costs\n1. Time\n2. Money";
    insta::assert_snapshot!(rendered("Agreed?", text), @r"
    Plan
    ────
    Step 1 of 3: Add a gateway
       • with tests
    Step 2 of 3: Ship

    Step 3 of 3: Tell everybody
    Costs
    ─────
    1. Time
    2. Money
    ");
    assert_eq!(rendered("Review these steps?", "1. A\n2. B"), "Step 1 of 2: A\nStep 2 of 2: B");
    assert_eq!(rendered("Planets?", "1. A\n2. B"), "1. A\n2. B");
    assert_eq!(rendered("A plan", "1. Only this"), "1. Only this");
}

#[test]
fn a_table_has_columns_that_line_up() {
    let text = "| file | **size** |\n|:--|--:|\n| a\\|b.txt | 1 |\n| `c` |\n| d | 22 | 3 |\nno row";
    insta::assert_snapshot!(rendered("", text), @r"
    file     size
    ───────  ────  ─
    a|b.txt  1
    `c`
    d        22    3
    no row
    ");
    assert_eq!(rendered("", "a | b\nno rule"), "a | b\nno rule");
}

#[test]
fn hostile_markdown_costs_little_and_is_not_lost() {
    for part in ["**", "[", "![](", "`", "``` ", "|", "_a", "| - |\n", "# ", "1. ", "\\", "a*b_"] {
        let text = part.repeat(20_000 / part.len());
        let shown = rendered("plan", &text);
        assert!(shown.len() < 16 * text.len() + 1024, "{part:?}: {} bytes", shown.len());
        let line = format!("{}|{}", "x".repeat(10_000), "y".repeat(10_000));
        let table = format!("{line}\n--|--\n{}", "a|b\n".repeat(400));
        assert!(rendered("", &table).len() < 100_000);
    }
}
