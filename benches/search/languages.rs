//! Ranking quality of requests in other languages: NDCG@10 by language, to tools that are described in English.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_search::evaluation::{LabelledQuery, ndcg_at};

use crate::data;
use crate::peers::{Finder, Ours};
use crate::quality::DEPTH;

/// The folder of the set.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/multilingual");

/// The language that the others are compared with.
const ENGLISH: &str = "en";

/// The minimum of the mean of the other languages, as a share of English.
const SHARE: f64 = 80.0;

/// The minimum of each of them: ten requests tell little about one.
const SHARE_OF_EACH: f64 = 40.0;

#[derive(Deserialize)]
struct Request {
    lang: String,
    #[serde(flatten)]
    labelled: LabelledQuery,
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("languages, NDCG@10 in percent of that of English");
    let folder = Path::new(FOLDER);
    let finder = Ours::build(&data::tools_in(folder)?)?;
    let mut of_languages: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("queries.jsonl"))?.lines() {
        let Request { lang, labelled } = serde_json::from_str(line)?;
        let figure = ndcg_at(DEPTH, &finder.search(&labelled.query, DEPTH), &labelled.needed);
        let (sum, count) = of_languages.entry(lang).or_default();
        *sum += 100.0 * figure;
        *count += 1.0;
    }
    let (sum, count) = of_languages.remove(ENGLISH).ok_or("the set has no requests in English")?;
    let english = sum / count;
    Row::new("English itself".to_owned(), Figure::Percent(english)).print();
    let (mut sum_of_shares, mut languages) = (0.0, 0.0);
    for (language, (sum, count)) in of_languages {
        let share = 100.0 * sum / count / english;
        let row = Row::new(format!("{language}, {count} requests"), Figure::Percent(share));
        row.at_least(Figure::Percent(SHARE_OF_EACH)).print();
        sum_of_shares += share;
        languages += 1.0;
    }
    let mean = Figure::Percent(sum_of_shares / languages);
    Row::new(format!("mean of {languages} languages"), mean).at_least(Figure::Percent(SHARE)).print();
    Ok(())
}
