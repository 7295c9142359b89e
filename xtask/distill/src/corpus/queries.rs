//! Requests as people write them: those of `MetaTool` that are not among its labelled queries.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Corpus;

#[derive(Deserialize)]
struct Line {
    id: String,
    query: String,
}

/// Reads `queries_all_single.jsonl`. Of `queries.jsonl` only what it holds is read, to leave that out.
pub(super) fn read(folder: &Path, corpus: &mut Corpus) -> Result<()> {
    let labelled = lines(&folder.join("queries.jsonl"))?;
    let ids: BTreeSet<&str> = labelled.iter().map(|line| line.id.as_str()).collect();
    let texts: BTreeSet<&str> = labelled.iter().map(|line| line.query.trim()).collect();
    for line in lines(&folder.join("queries_all_single.jsonl"))? {
        if !ids.contains(line.id.as_str()) && !texts.contains(line.query.trim()) {
            corpus.push("requests", &line.query);
        }
    }
    Ok(())
}

fn lines(file: &Path) -> Result<Vec<Line>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str);
    lines.collect::<Result<_, _>>().with_context(|| file.display().to_string())
}
