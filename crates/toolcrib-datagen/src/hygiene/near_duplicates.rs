//! Near duplicates, by the similarity of their shingles.

use std::collections::{HashMap, HashSet};

use super::{hash, words};
use crate::conversation::Conversation;

/// The number of words of a shingle.
const SHINGLE_WORDS: usize = 3;

/// The number of minimum hashes of a conversation.
const HASHES: usize = 64;

/// The number of minimum hashes in a band. Two conversations are compared if they share a band: with 16 bands of 4,
/// 99.98 % of pairs with a similarity of 0.8 are.
const BAND: usize = 4;

/// The default similarity from which on two conversations are near duplicates.
pub(crate) const DEFAULT_SIMILARITY: f64 = 0.8;

/// An index of conversations that finds near duplicates: pairs whose shingles of three words have at least a Jaccard
/// similarity, estimated by 64 minimum hashes. It keeps 512 bytes for each conversation.
///
/// ```
/// use toolcrib_datagen::conversation::{Conversation, Kind, Message};
/// use toolcrib_datagen::hygiene::NearDuplicates;
///
/// let say = |id: &str, text: &str| Conversation {
///     messages: vec![Message::user(text)],
///     ..Conversation::new(id, Kind::Irrelevant)
/// };
/// let mut seen = NearDuplicates::default();
/// assert_eq!(seen.add(&say("a", "Please tell me a short story about a small red fox in the wood.")), None);
/// assert_eq!(seen.add(&say("b", "Please, tell me a short story about a small red fox in the wood!")), Some("a"));
/// assert_eq!(seen.add(&say("c", "Will it rain in Oslo tomorrow afternoon or in the evening?")), None);
/// ```
#[derive(Clone, Debug)]
pub struct NearDuplicates {
    similarity: f64,
    ids: Vec<String>,
    signatures: Vec<[u64; HASHES]>,
    /// The conversations by band and hashes of the band.
    bands: HashMap<(usize, [u64; BAND]), Vec<usize>>,
}

impl Default for NearDuplicates {
    fn default() -> Self {
        Self::new(DEFAULT_SIMILARITY)
    }
}

impl NearDuplicates {
    /// Creates an empty index; conversations with at least this similarity, from 0 to 1, are near duplicates.
    pub fn new(similarity: f64) -> Self {
        Self { similarity, ids: Vec::new(), signatures: Vec::new(), bands: HashMap::new() }
    }

    /// Adds a conversation. If it is a near duplicate of an earlier one, it is not added, and the identifier of the
    /// earlier one is returned.
    pub fn add(&mut self, conversation: &Conversation) -> Option<&str> {
        let signature = signature(&words(conversation));
        if let Some(earlier) = self.find(&signature) {
            return self.ids.get(earlier).map(String::as_str);
        }
        let at = self.ids.len();
        for key in bands(&signature) {
            self.bands.entry(key).or_default().push(at);
        }
        self.ids.push(conversation.id.clone());
        self.signatures.push(signature);
        None
    }

    fn find(&self, signature: &[u64; HASHES]) -> Option<usize> {
        let mut compared = HashSet::new();
        let candidates = bands(signature).filter_map(|key| self.bands.get(&key)).flatten().copied();
        candidates.filter(|at| compared.insert(*at)).find(|at| {
            let equal = |other: &[u64; HASHES]| signature.iter().zip(other).filter(|(a, b)| a == b).count();
            #[expect(clippy::cast_precision_loss, reason = "at most 64")]
            let similarity = |equal: usize| equal as f64 / HASHES as f64;
            self.signatures.get(*at).is_some_and(|other| similarity(equal(other)) >= self.similarity)
        })
    }
}

/// Returns the minimum of each hash function over all shingles.
fn signature(words: &[String]) -> [u64; HASHES] {
    let mut signature = [u64::MAX; HASHES];
    let width = SHINGLE_WORDS.min(words.len()).max(1);
    for shingle in words.windows(width) {
        let mut hashed = hash(shingle);
        for minimum in &mut signature {
            hashed = mixed(hashed);
            *minimum = (*minimum).min(hashed);
        }
    }
    signature
}

/// Returns the next hash of a shingle: the finalizer of `SplitMix64`.
fn mixed(hash: u64) -> u64 {
    let hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

fn bands(signature: &[u64; HASHES]) -> impl Iterator<Item = (usize, [u64; BAND])> {
    signature.as_chunks::<BAND>().0.iter().copied().enumerate()
}
