//! The ledger: what the clients were promised, and what the tools have done, by the id of each piece of work.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;

/// The number of mistakes that are shown.
const SHOWN: usize = 20;

/// What a client knows of the effect of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It was never answered, or the answer leaves it open.
    AtMostOnce,
    /// Its answer says that it was done.
    Once,
    /// The schedule of it was acknowledged. A run whose outcome is unknown has to be reported as such.
    Scheduled,
}

/// The ledger.
pub(super) struct Ledger {
    /// The file to which tools append a line for each effect.
    path: PathBuf,
    expected: Mutex<BTreeMap<String, Expected>>,
    read: Mutex<Effects>,
}

#[derive(Default)]
struct Effects {
    position: u64,
    /// The beginning of a line that is not written to its end.
    rest: String,
    counts: HashMap<String, u32>,
}

/// The sums of a ledger.
pub(super) struct Sums {
    pub(super) work: usize,
    pub(super) done: usize,
    pub(super) once: usize,
    pub(super) scheduled: usize,
}

impl Ledger {
    pub(super) fn new(path: PathBuf) -> Result<Self> {
        File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(Self { path, expected: Mutex::default(), read: Mutex::default() })
    }

    /// Records what is known of a piece of work.
    pub(super) fn expect(&self, id: &str, expected: Expected) {
        self.expected.lock().insert(id.to_owned(), expected);
    }

    /// Returns how often a piece of work was done.
    pub(super) fn count(&self, id: &str) -> Result<u32> {
        let mut effects = self.read.lock();
        effects.read(&self.path)?;
        Ok(effects.counts.get(id).copied().unwrap_or_default())
    }

    /// Returns the scheduled work that was not done yet.
    pub(super) fn open(&self) -> Result<Vec<String>> {
        let mut effects = self.read.lock();
        effects.read(&self.path)?;
        let expected = self.expected.lock();
        let is_open = |(id, expected): &(&String, &Expected)| {
            **expected == Expected::Scheduled && !effects.counts.contains_key(id.as_str())
        };
        Ok(expected.iter().filter(is_open).map(|(id, _)| id.clone()).collect())
    }

    /// Returns the sums, or an error that lists the mistakes.
    pub(super) fn check(&self) -> Result<Sums> {
        let mut effects = self.read.lock();
        effects.read(&self.path)?;
        let expected = self.expected.lock();
        let mut wrong = Vec::new();
        for (id, count) in &effects.counts {
            match expected.get(id) {
                None => wrong.push(format!("{id} was done, and nobody has asked for it")),
                Some(_) if *count > 1 => wrong.push(format!("{id} was done {count} times")),
                Some(_) => {}
            }
        }
        for (id, known) in expected.iter() {
            if *known != Expected::AtMostOnce && !effects.counts.contains_key(id) {
                wrong.push(format!("{id} was acknowledged ({known:?}), and not done"));
            }
        }
        if !wrong.is_empty() {
            let mut text = format!("{} mistakes:", wrong.len());
            wrong.iter().take(SHOWN).for_each(|mistake| _ = write!(text, "\n  {mistake}"));
            anyhow::bail!(text);
        }
        let of = |kind| expected.values().filter(|known| **known == kind).count();
        Ok(Sums {
            work: expected.len(),
            done: effects.counts.len(),
            once: of(Expected::Once),
            scheduled: of(Expected::Scheduled),
        })
    }
}

impl Effects {
    /// Reads the lines that were appended since.
    fn read(&mut self, path: &Path) -> Result<()> {
        let mut file = File::open(path).context("could not open the ledger")?;
        file.seek(SeekFrom::Start(self.position))?;
        let mut added = String::new();
        let bytes = file.read_to_string(&mut added).context("could not read the ledger")?;
        self.position += u64::try_from(bytes)?;
        self.rest.push_str(&added);
        if let Some((lines, rest)) = self.rest.rsplit_once('\n') {
            for line in lines.lines() {
                *self.counts.entry(line.to_owned()).or_default() += 1;
            }
            self.rest = rest.to_owned();
        }
        Ok(())
    }
}
