//! What the teacher has said, on the disk: records of a digest and a vector, one behind the other.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

type Key = [u8; 32];

/// The vectors by the texts that they are of.
pub(crate) struct Cache {
    known: HashMap<Key, Vec<f32>>,
    file: BufWriter<File>,
    width: usize,
}

/// The bytes before the records: the width.
const HEAD: usize = 4;

impl Cache {
    /// Reads a cache, or begins one. A record that was not written to its end is written over.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().context("the cache needs a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let bytes = fs::read(path)?;
        let width = bytes
            .get(..HEAD)
            .map_or(0, |head| head.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)));
        let mut known = HashMap::new();
        let mut end = 0;
        if width > 0 {
            let record = size_of::<Key>() + 4 * width;
            end = HEAD;
            for bytes in bytes.get(HEAD..).unwrap_or_default().chunks_exact(record) {
                let (key, numbers) = bytes.split_at(size_of::<Key>());
                let numbers = numbers.chunks_exact(4).filter_map(|four| four.try_into().ok());
                known.insert(key.try_into()?, numbers.map(f32::from_le_bytes).collect());
                end += record;
            }
        }
        file.seek(SeekFrom::Start(end.try_into()?))?;
        Ok(Self { known, file: BufWriter::new(file), width })
    }

    /// How many numbers each vector has; 0 while there is none.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn holds(&self, ids: &[i64]) -> bool {
        self.known.contains_key(&key(ids))
    }

    pub(crate) fn get(&self, ids: &[i64]) -> Result<Vec<f32>> {
        self.known.get(&key(ids)).cloned().context("the teacher has said nothing of a text")
    }

    pub(crate) fn add(&mut self, ids: &[i64], vector: &[f32]) -> Result<()> {
        ensure!(!vector.is_empty(), "the teacher gave an empty vector");
        if self.width == 0 {
            self.width = vector.len();
            self.file.write_all(&u32::try_from(self.width)?.to_le_bytes())?;
        }
        ensure!(self.width == vector.len(), "the teacher gave vectors of several widths");
        let key = key(ids);
        self.file.write_all(&key)?;
        for number in vector {
            self.file.write_all(&number.to_le_bytes())?;
        }
        self.known.insert(key, vector.to_vec());
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.flush().context("could not write the cache")
    }
}

fn key(ids: &[i64]) -> Key {
    let mut digest = Sha256::new();
    for id in ids {
        digest.update(id.to_le_bytes());
    }
    digest.finalize().into()
}
