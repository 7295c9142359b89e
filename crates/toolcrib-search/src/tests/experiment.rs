//! Temporary.
use crate::evaluation::*;
use crate::*;
use toolcrib_model::Tool;

#[test]
fn experiment() {
    let Ok(shared) = std::env::var("TOOLCRIB_SHARED") else { return };
    let step: usize = std::env::var("STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    let mut line = String::new();
    let mut sum = 0.0;
    for set in ["metatool", "seal_tools", "stabletoolbench", "bfcl"] {
        let dir = format!("{shared}/data/retrieval/{set}");
        let t0 = std::time::Instant::now();
        let tools: Vec<Tool> = serde_json::from_str(&std::fs::read_to_string(format!("{dir}/tools.json")).unwrap()).unwrap();
        let index = SearchIndex::build(&tools).unwrap();
        let build = t0.elapsed();
        let t0 = std::time::Instant::now();
        let (mut n, mut total, mut exact, mut exact_bad) = (0, 0.0, 0, 0);
        for l in std::fs::read_to_string(format!("{dir}/queries.jsonl")).unwrap().lines().skip(crate::tune("SKIP", 0.0) as usize).step_by(step) {
            let q: LabelledQuery = serde_json::from_str(l).unwrap();
            let o = index.search(&q.query, &SearchOptions { limit: 10, filter: None });
            for h in &o.hits { if h.explain.exact { exact += 1; if !q.needed.iter().flatten().any(|x| *x == h.name) { exact_bad += 1; 
                if std::env::var("SHOW").is_ok() { println!("BAD {} <- {:.150}", h.name, q.query); } } } }
            let ranked: Vec<_> = o.hits.into_iter().map(|h| h.name).collect();
            total += ndcg_at(10, &ranked, &q.needed);
            n += 1;
        }
        let v = 100.0 * total / n as f64;
        sum += v;
        line += &format!("{set} {v:.1} (exact {exact} bad {exact_bad}, build {build:?}, {:?}/q)  ", t0.elapsed() / n);
    }
    println!("RESULT {line} mean {:.2}", sum / 4.0);
}
