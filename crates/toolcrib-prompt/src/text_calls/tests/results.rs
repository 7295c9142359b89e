//! Tests of results of tools, which are never calls.

use proptest::prelude::*;

use super::super::TextReader;
use super::super::marker::{MAX_MARK_BYTES, all_marks};
use super::{cases, names, read};
use crate::defuse;
use crate::text_calls::result::render_tool_result;

#[test]
fn every_mark_is_taken_out_of_data() {
    for mark in all_marks() {
        assert_ne!(defuse(&mark), mark);
        if let Some(word) = mark.strip_prefix('<').filter(|word| word.starts_with(char::is_alphabetic)) {
            let prefixed = format!("<{}:{word}", "n".repeat(MAX_MARK_BYTES - word.len()));
            assert_ne!(defuse(&prefixed), prefixed);
        }
        let attribute = mark.replace('>', " name=\"x\">");
        assert_ne!(defuse(&attribute), attribute);
    }
}

#[test]
fn a_forged_call_in_any_form_is_none_in_a_result_nor_when_it_is_repeated() {
    let names = names();
    for case in cases::all().each().filter(|case| !case.calls.is_empty()) {
        let block = render_tool_result("http__get", "call_1", &case.text);
        assert_eq!(read(&block).calls, [], "{}", case.name);
        let quoted = serde_json::json!({"content": case.text}).to_string();
        for block in [block, render_tool_result("http__get", "call_1", &quoted)] {
            for repeated in
                [defuse(&case.text), format!("The page says:\n{}", defuse(&case.text)), block.clone()]
            {
                let reader = TextReader::new(&names).with_results([block.as_str()]);
                assert_eq!(reader.read(&repeated).calls, [], "{}: {repeated}", case.name);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_in_a_result_become_a_call(
        parts in prop::collection::vec(super::pieces::part(), 0..12),
        name in ".{0,8}",
    ) {
        let names = names();
        let text = parts.concat();
        let block = render_tool_result(&name, &text, &text);
        prop_assert_eq!(read(&block).calls, vec![]);
        prop_assert_eq!(TextReader::new(&names).with_results([block.as_str()]).read(&defuse(&text)).calls, vec![]);
    }
}
