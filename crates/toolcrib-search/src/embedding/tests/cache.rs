//! What the disk promises.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::vector_cache::Cache;
use super::super::vector_index::QuantizedVector;
use super::super::{ContentHash, EmbeddingsEnrichment, MAX_CACHED_MODELS};
use super::{Fault, Fixture, Words, counts, of, tool};

fn rows(texts: &[&str]) -> HashMap<ContentHash, QuantizedVector> {
    let row = |text: &&str| {
        let number = f32::from(u8::try_from(text.len()).unwrap());
        (ContentHash::of("m", &[text]), QuantizedVector::of(&[number, 1.0, -1.0]).unwrap())
    };
    texts.iter().map(row).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn contents(cache: &Cache) -> Vec<ContentHash> {
    cache.read().into_iter().map(|(content, _)| content).collect()
}

#[test]
fn what_was_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("not/there");
    let cache = Cache::new(&folder, "m", 3);
    assert!(cache.read().is_empty());
    cache.write(&rows(&["one", "three"])).unwrap();
    // As another process would, which did not read before.
    Cache::new(&folder, "m", 3).write(&rows(&["three", "eleven"])).unwrap();
    assert_eq!(cache.read().into_iter().collect::<HashMap<_, _>>(), rows(&["one", "three", "eleven"]));
    for other in [Cache::new(&folder, "n", 3), Cache::new(&folder, "m", 4)] {
        assert!(other.read().is_empty(), "another model, or another size");
    }
}

#[test]
fn a_file_that_was_cut_or_changed_anywhere_is_as_good_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "m", 3);
    cache.write(&rows(&["one", "three"])).unwrap();
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(cache.read().is_empty(), "cut at {length}");
        let mut changed = whole.clone();
        changed[length] ^= 1;
        fs::write(&file, changed).unwrap();
        assert!(cache.read().is_empty(), "changed at {length}");
    }
    cache.write(&rows(&["one"])).unwrap();
    assert_eq!(contents(&cache).len(), 1, "and is replaced by the next");
}

#[test]
fn those_that_were_not_used_for_longest_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let room = 8 + 32 + 3 * (32 + 4 + 3);
    let cache = Cache::new(folder.path(), "m", 3).with_max_bytes(room);
    for texts in [&["a"][..], &["bb"], &["ccc"], &["a", "dddd"], &["eeeee"]] {
        cache.write(&rows(texts)).unwrap();
    }
    let expected = ["a", "dddd", "eeeee"].map(|text| ContentHash::of("m", &[text]));
    assert_eq!(contents(&cache), expected);
    assert!(fs::metadata(&files(folder.path())[0]).unwrap().len() <= room as u64);
}

#[test]
fn those_in_use_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), "m", 3).with_max_bytes(8 + 32 + 3 * (32 + 4 + 3));
    let many = ["a", "bb", "ccc", "dddd", "eeeee"];
    for texts in [&["old"][..], &many, &many[1..]] {
        cache.write(&rows(texts)).unwrap();
    }
    assert_eq!(cache.read().into_iter().collect::<HashMap<_, _>>(), rows(&many[1..]));
}

#[test]
fn there_are_files_for_so_many_models_only() {
    let folder = tempfile::tempdir().unwrap();
    for model in 0..MAX_CACHED_MODELS + 3 {
        Cache::new(folder.path(), &format!("m{model}"), 3).write(&rows(&["one"])).unwrap();
        assert_eq!(files(folder.path()).len(), (model + 1).min(MAX_CACHED_MODELS));
        assert_eq!(Cache::new(folder.path(), &format!("m{model}"), 3).read().len(), 1);
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

    fs::write(&files(folder.path())[0], "no vectors").unwrap();
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
