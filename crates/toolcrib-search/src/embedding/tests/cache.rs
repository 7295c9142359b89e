//! The cache of vectors on disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::vector_cache::VectorCache;
use super::super::vector_index::QuantizedVector;
use super::super::vector_set::VectorSet;
use super::super::{ContentHash, EmbeddingsEnrichment, MAX_CACHED_SETS};
use super::{Fault, Fixture, Words, counts, of, tool};

fn contents(texts: &[&str]) -> Vec<ContentHash> {
    texts.iter().map(|text| ContentHash::of("m", &[text])).collect()
}

/// Returns the set of these texts, of which the empty one has no vector.
fn set(texts: &[&str]) -> VectorSet {
    let vector = |text: &&str| {
        let number = f32::from(u8::try_from(text.len()).unwrap());
        QuantizedVector::of(&[number, 1.0, -1.0]).filter(|_| !text.is_empty())
    };
    let vectors: Vec<_> = texts.iter().map(vector).collect();
    VectorSet::new(3, &contents(texts), vectors.iter().map(|row| row.as_ref().map(QuantizedVector::row)))
}

fn cache(folder: &Path) -> VectorCache {
    VectorCache::new(folder, "m", 3)
}

fn is_cached(folder: &Path, texts: &[&str]) -> bool {
    cache(folder).open(&contents(texts)).is_some_and(|found| found.encode() == set(texts).encode())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_written_set_is_read_again_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("not/there");
    assert!(cache(&folder).open_all().is_empty() && !is_cached(&folder, &["one"]));
    for texts in [&["one", "", "three"][..], &["three"], &[]] {
        let written = cache(&folder).write(set(texts));
        assert_eq!(written.encode(), set(texts).encode());
        assert!(is_cached(&folder, texts));
    }
    assert!(!is_cached(&folder, &["three", "", "one"]), "another order");
    assert_eq!(cache(&folder).open_all().len(), 3);
    for other in [VectorCache::new(&folder, "n", 3), VectorCache::new(&folder, "m", 4)] {
        assert!(other.open_all().is_empty(), "another model, or another dimension");
        assert!(other.open(&contents(&["three"])).is_none());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_vectors_of_a_written_set_are_mapped_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let written = cache(folder.path()).write(set(&["one", "three"]));
    let file = files(folder.path()).remove(0);
    let is_mapped = || fs::read_to_string("/proc/self/maps").unwrap().contains(file.to_str().unwrap());
    assert!(is_mapped());
    drop(written);
    assert!(!is_mapped());
}

#[test]
fn a_file_that_was_cut_or_changed_anywhere_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["one", "three"];
    cache(folder.path()).write(set(&texts));
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(!is_cached(folder.path(), &texts), "cut at {length}");
        let mut changed = whole.clone();
        changed[length] ^= 1;
        fs::write(&file, changed).unwrap();
        assert!(!is_cached(folder.path(), &texts), "changed at {length}");
        assert!(cache(folder.path()).open_all().is_empty(), "changed at {length}");
    }
    cache(folder.path()).write(set(&texts));
    assert!(is_cached(folder.path(), &texts));
}

/// Sets the time of the last use of the file of a set.
fn age(folder: &Path, texts: &[&str], hours: u64) {
    let before = files(folder);
    let elsewhere = tempfile::tempdir().unwrap();
    cache(elsewhere.path()).write(set(texts));
    let name = files(elsewhere.path())[0].file_name().unwrap().to_owned();
    let file = before.iter().find(|file| file.file_name() == Some(&name)).unwrap();
    let time = SystemTime::now() - Duration::from_hours(hours);
    File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn the_least_recently_used_sets_are_deleted_beyond_the_most_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let one = set(&["a"]).encode().len() as u64;
    let write = |texts| cache(folder.path()).with_max_bytes(2 * one).write(set(texts));
    for (texts, hours) in [(&["a"], 1), (&["b"], 3), (&["c"], 2)] {
        write(texts);
        age(folder.path(), texts, hours);
    }
    assert!(is_cached(folder.path(), &["b"]), "which makes it the last one used");
    write(&["d"]);
    let cached = ["a", "b", "c", "d"].map(|text| is_cached(folder.path(), &[text]));
    assert_eq!(cached, [true, true, false, true]);
    let large: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let large: Vec<&str> = large.iter().map(String::as_str).collect();
    write(&large);
    assert!(is_cached(folder.path(), &large), "the set in use counts apart");
    assert_eq!(files(folder.path()).len(), 3);
}

#[test]
fn the_number_of_files_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..MAX_CACHED_SETS + 3 {
        let model = VectorCache::new(folder.path(), &format!("m{number}"), 3);
        model.write(set(&["one"]));
        assert_eq!(files(folder.path()).len(), (number + 1).min(MAX_CACHED_SETS));
        assert_eq!(model.open_all().len(), 1);
    }
}

#[tokio::test]
async fn a_new_start_makes_only_what_is_not_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let start = |tools| {
        let words = Words::new(Fault::None);
        let enrichment = EmbeddingsEnrichment::new(words.clone()).with_cache(folder.path());
        (words, Fixture::new(enrichment, tools))
    };
    let (read, write) = (tool("read", "Reads."), tool("write", "Writes."));
    let (_, first) = start(vec![read.clone()]);
    let (_, embeddings) = first.refresh().await;
    let vector = of(&embeddings, &read);

    let (words, second) = start(vec![read.clone(), write.clone()]);
    let (_, embeddings) = second.refresh().await;
    assert_eq!((words.given(), counts(&embeddings)), (vec!["write\nWrites.".to_owned()], (2, 1)));
    assert_eq!(of(&embeddings, &read), vector);

    for file in files(folder.path()) {
        fs::write(file, "no vectors").unwrap();
    }
    let (words, third) = start(vec![read]);
    let (_, embeddings) = third.refresh().await;
    assert_eq!((words.given().len(), counts(&embeddings), embeddings.degraded()), (1, (1, 1), None));
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let enrichment = EmbeddingsEnrichment::new(Words::new(Fault::None)).with_cache(file.join("below"));
    let (_, embeddings) = Fixture::new(enrichment, vec![tool("read", "Reads.")]).refresh().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((1, 1), None));
}
