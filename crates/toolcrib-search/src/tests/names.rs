//! The exact-name guarantee, over generated names.

use std::collections::BTreeSet;

use toolcrib_model::{QualifiedName, Tool};

use crate::{SearchIndex, SearchOptions};

/// Numbers that are the same in every run (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 40).unwrap() % bound
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const WORDS: &[&str] = &[
    "get", "list", "read", "user", "Weather", "HTTP", "v2", "all", "to", "the", "file", "délai", "天气",
    "ID", "3d", "x", "search", "a", "Ünit", "order", "is", "hello",
];
const JOINTS: &[&str] = &["_", "-", "", "__", "."];

fn name(numbers: &mut Numbers) -> String {
    let parts = 1 + numbers.below(3);
    let joint = numbers.pick(JOINTS);
    (0..parts).map(|_| numbers.pick(WORDS)).collect::<Vec<_>>().join(joint)
}

fn names(numbers: &mut Numbers) -> Vec<QualifiedName> {
    let names: BTreeSet<_> = (0..80)
        .filter_map(|_| QualifiedName::new(name(numbers).replace('.', "_"), name(numbers)).ok())
        .collect();
    names.into_iter().collect()
}

/// What a person or a model may write for a name.
fn spellings(name: &QualifiedName) -> [String; 5] {
    let (namespace, bare) = (name.namespace(), name.name());
    [
        name.to_string(),
        name.dotted(),
        format!("{namespace}__{bare}"),
        format!("{namespace}/{bare}"),
        format!("`{bare}`"),
    ]
}

#[test]
fn any_spelling_of_any_name_puts_its_tool_first() {
    for seed in 0..4 {
        let mut numbers = Numbers(seed);
        let names = names(&mut numbers);
        let tools: Vec<Tool> = names
            .iter()
            .map(|name| Tool::new(name.clone()).with_description("Gets the weather of a user."))
            .collect();
        let index = SearchIndex::build(&tools).unwrap();
        for name in &names {
            let other = &names[numbers.below(names.len())];
            for spelling in spellings(name) {
                for query in [
                    spelling.clone(),
                    format!("what does {spelling} tell of the weather?"),
                    format!("first {spelling} and then `{}`", other.dotted()),
                ] {
                    let outcome =
                        index.search(&query, &SearchOptions { limit: 20, ..SearchOptions::default() });
                    // Names that are spelled alike are all meant.
                    let mut exact = outcome.hits.iter().take_while(|hit| hit.explain.exact);
                    assert!(
                        exact.any(|hit| hit.name == *name),
                        "{query}: {name}: {:?}",
                        outcome.hits.first()
                    );
                }
            }
        }
    }
}
