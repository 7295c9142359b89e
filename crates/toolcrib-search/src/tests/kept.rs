//! What is kept of words on the disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use toolcrib_model::Tool;

use super::tool;
use crate::cache::index_cache::{IndexCache, MAX_CACHED_INDEXES};
use crate::cache::{DIGEST, append_digest};
use crate::embedding::ContentHash;
use crate::keyword::builder::build;
use crate::limits::MIN_CACHED_TOOLS;
use crate::text::Analyzer;
use crate::{Outcome, SearchIndex, SearchOptions, SearchSettings};

const VERBS: [&str; 7] = ["get", "create", "remove", "list", "translate", "send", "计算"];
const THINGS: [&str; 11] = [
    "weather",
    "file",
    "userAccount",
    "invoice",
    "Straße",
    "mail",
    "calendar",
    "song",
    "stock_price",
    "路线",
    "ticket",
];

/// So many tools, of which no two say the same.
fn tools(count: usize) -> Vec<Tool> {
    let tool = |number: usize| {
        let (verb, thing) = (VERBS[number % VERBS.len()], THINGS[number % THINGS.len()]);
        let description = format!("Can {verb} any {thing}, for customer {} only.", number / 3);
        tool(&format!("service_{}::{verb}_{thing}_{number}", number % 13), &description)
    };
    (0..count).map(tool).collect()
}

fn queries() -> impl Iterator<Item = String> {
    let of = |verb| THINGS.iter().map(move |thing| format!("please {verb} the {thing} of customer 77"));
    let odd = ["get_weather_0 and removeFile", "transalte songs", "weath", "计算路线", "nothing like it", ""];
    VERBS.iter().flat_map(of).chain(odd.map(str::to_owned))
}

fn answers(index: &SearchIndex) -> Vec<Outcome> {
    queries().map(|query| index.search(&query, &SearchOptions::default())).collect()
}

fn built(tools: &[Tool], folder: &Path) -> SearchIndex {
    SearchIndex::build_cached(tools, &SearchSettings::default(), Some(folder)).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The file of these tools, however few.
fn kept<R>(tools: &[Tool], folder: &Path, then: impl FnOnce(IndexCache, &[&[&Tool]]) -> R) -> R {
    let tools: Vec<&Tool> = tools.iter().collect();
    let overloads: Vec<&[&Tool]> = tools.chunks(1).collect();
    then(IndexCache::new(folder, &overloads), &overloads)
}

fn write(tools: &[Tool], folder: &Path) {
    kept(tools, folder, |kept, overloads| kept.write(&build(overloads, Analyzer::new()).unwrap()));
}

fn is_kept(tools: &[Tool], folder: &Path) -> bool {
    kept(tools, folder, |kept, overloads| kept.read(overloads.len()).is_some())
}

#[test]
fn words_from_the_disk_answer_every_query_as_those_that_were_built() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("not/there");
    let mut tools = tools(MIN_CACHED_TOOLS);
    // An overload, which is no tool of its own.
    tools.push(tools[7].clone().with_description("Another way to do it, for pelicans."));
    let cold = answers(&SearchIndex::build(&tools).unwrap());
    assert!(cold.iter().filter(|answer| !answer.hits.is_empty()).count() > 60);
    for _ in 0..2 {
        assert_eq!(answers(&built(&tools, &folder)), cold);
    }
    assert_eq!(files(&folder).len(), 1);
    // The order in which they come is none of the words.
    tools.reverse();
    assert_eq!(answers(&built(&tools, &folder)), cold);
}

#[cfg(target_os = "linux")]
#[test]
fn the_posting_lists_of_a_cached_index_are_mapped_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    write(&tools, folder.path());
    let file = files(folder.path()).remove(0);
    let is_mapped = || fs::read_to_string("/proc/self/maps").unwrap().contains(file.to_str().unwrap());
    kept(&tools, folder.path(), |kept, overloads| {
        let index = kept.read(overloads.len()).unwrap();
        assert!(is_mapped());
        drop(index);
        assert!(!is_mapped());
    });
}

#[test]
fn words_of_few_tools_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    built(&tools(MIN_CACHED_TOOLS - 1), folder.path());
    assert_eq!(files(folder.path()).len(), 0);
}

#[test]
fn a_set_of_tools_of_which_anything_changed_has_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    write(&tools, folder.path());
    let changed = |change: &dyn Fn(Tool) -> Tool| {
        let mut tools = tools.clone();
        tools[2] = change(tools[2].clone());
        tools
    };
    let others = [
        changed(&|tool| tool.with_description("Something else.")),
        changed(&|tool| tool.with_metadata("tags", vec!["new".to_owned()])),
        changed(&|tool| tool.with_metadata("aliases", vec!["new".to_owned()])),
        changed(&|tool| tool.with_parameters(serde_json::json!({"properties": {"city": {}}}))),
        tools[..4].to_vec(),
        tools.iter().rev().cloned().collect(),
    ];
    assert!(is_kept(&tools, folder.path()));
    for other in &others {
        assert!(!is_kept(other, folder.path()));
    }
}

#[test]
fn a_file_that_was_cut_or_changed_anywhere_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    write(&tools, folder.path());
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    for place in (0..whole.len()).step_by(11).chain([whole.len() - 1]) {
        fs::write(&file, &whole[..place]).unwrap();
        assert!(!is_kept(&tools, folder.path()), "cut at {place}");
        let mut changed = whole.clone();
        changed[place] ^= 4;
        fs::write(&file, changed).unwrap();
        assert!(!is_kept(&tools, folder.path()), "changed at {place}");
    }
    write(&tools, folder.path());
    assert!(is_kept(&tools, folder.path()), "and is replaced by the next");
}

#[test]
fn a_file_that_agrees_with_its_digest_is_still_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    write(&tools, folder.path());
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    let content = &whole[..whole.len() - DIGEST];
    let first = 8 + DIGEST;
    let lies: [(&str, Vec<u8>); 6] = [
        ("another version", [b"tcwords0", &content[8..]].concat()),
        ("other tools", [&content[..8], &[7; DIGEST], &content[first..]].concat()),
        ("more words than there are", [&content[..first], &[255; 4], &content[first + 4..]].concat()),
        ("a word longer than the file", [&content[..first + 4], &[255; 4], &content[first + 8..]].concat()),
        ("something behind", [content, b"!"].concat()),
        ("an index of nothing", content[..content.len() - 600].to_vec()),
    ];
    for (what, mut lie) in lies {
        append_digest(&mut lie);
        fs::write(&file, lie).unwrap();
        assert!(!is_kept(&tools, folder.path()), "{what}");
    }
    kept(&tools, folder.path(), |kept, overloads| {
        kept.write(&build(overloads, Analyzer::new()).unwrap());
        assert!(kept.read(overloads.len() + 1).is_none(), "another number of names");
    });
}

#[test]
fn what_is_larger_than_its_bound_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    kept(&tools, folder.path(), |kept, overloads| {
        kept.with_max_bytes(1_000).write(&build(overloads, Analyzer::new()).unwrap());
    });
    assert_eq!(files(folder.path()).len(), 0);
}

#[test]
fn there_are_files_for_so_many_sets_and_those_in_use_stay() {
    let folder = tempfile::tempdir().unwrap();
    write(&tools(1), folder.path());
    let of_first = files(folder.path()).remove(0);
    let long_ago = SystemTime::now() - Duration::from_hours(2);
    for count in 2..MAX_CACHED_INDEXES + 4 {
        let file = File::options().append(true).open(&of_first).unwrap();
        file.set_modified(long_ago).unwrap();
        assert!(is_kept(&tools(1), folder.path()), "it was used");
        write(&tools(count), folder.path());
        assert_eq!(files(folder.path()).len(), count.min(MAX_CACHED_INDEXES));
        assert!(is_kept(&tools(count), folder.path()));
    }
}

#[test]
fn what_a_crash_left_half_written_is_not_read_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(5);
    write(&tools, folder.path());
    let file = files(folder.path()).remove(0);
    let half = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let [old, new] = ["old", "new"].map(|name| file.with_extension(format!("words.{name}.0.new")));
    for beside in [&old, &new] {
        fs::write(beside, &half[..half.len() / 2]).unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_hours(2);
    File::options().append(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    assert!(!is_kept(&tools, folder.path()));
    write(&tools, folder.path());
    assert_eq!(files(folder.path()), [file, new], "another process may be writing the newer one");
}

#[test]
fn writers_at_the_same_time_leave_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let tools = tools(MIN_CACHED_TOOLS);
    let expected = answers(&SearchIndex::build(&tools).unwrap());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(answers(&built(&tools, folder.path())), expected));
        }
    });
    assert_eq!(files(folder.path()).len(), 1);
    assert_eq!(answers(&built(&tools, folder.path())), expected);
}

#[test]
fn a_folder_that_cannot_be_used_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let tools = tools(MIN_CACHED_TOOLS);
    assert_eq!(answers(&built(&tools, &file)), answers(&SearchIndex::build(&tools).unwrap()));
}

/// Whoever changes what terms a text gives raises the version in `cache/index_cache.rs`, or old files give old answers.
#[test]
fn the_version_of_the_terms_goes_with_them() {
    let texts = "The quick-brown foxes' HTTPServer2 userIDs naïve Œuvre Straße don't l'adresse 北京的天气 東京タワー \
        ｶﾞｷﾞ ไทย 서울 get_weather getUserById x86_64 3.5 running happily generously organization";
    let terms = Analyzer::new().terms(texts).into_iter().map(|term| term.text).collect::<Vec<_>>().join(" ");
    let digest = format!("{:?}", ContentHash::from_bytes(Sha256::digest(&terms).into()));
    assert_eq!(
        (crate::cache::index_cache::ANALYSIS_VERSION, &digest[..16]),
        (2, "30bbf0186dd0b570"),
        "{terms}"
    );
}
