//! The similarities of a tool set to requests that it is not for. They are the background against which the similarity
//! of a query is judged: it depends on the embedder, and on the number and the diversity of the tools.

use crate::embedding::Vectors;

/// Requests for things that few tools do. A tool set that does some of them changes the mean little.
const UNRELATED: [&str; 48] = [
    "boil the eggs until they are hard",
    "why does the cat limp since Sunday",
    "hang the picture above the fireplace",
    "learn to juggle with five oranges",
    "my neighbour snores through the thin wall",
    "plant tulips along the gravel path",
    "lend me your umbrella until tomorrow",
    "the soup needs a pinch more salt",
    "count the freckles on her nose",
    "build a sandcastle with a moat",
    "climb over the fence and fetch the ball",
    "which of the twins is the elder",
    "swallow the bitter syrup with honey",
    "hide the presents from the children",
    "knit a scarf out of red wool",
    "the candle burned down during dinner",
    "wake the guard at the northern gate",
    "throw the javelin across the meadow",
    "repair the roof of the henhouse",
    "dry the mushrooms in the attic",
    "is courage more important than wisdom",
    "stir the paint before you open the window",
    "scrub the deck until it shines",
    "the actors forgot their masks backstage",
    "wrap the bandage around the swollen ankle",
    "feed the swans at the pond",
    "tell the tailor that the sleeves are short",
    "carve a whistle from the willow branch",
    "sing a lullaby to the restless baby",
    "pull the splinter out of my thumb",
    "weave a basket from the reeds",
    "do fish sleep with open eyes",
    "grease the axle of the wagon",
    "bake a cake with seven layers",
    "shave the beard of the old sailor",
    "whisper the secret into his ear",
    "sprinkle sand on the icy steps",
    "pack the tent and the sleeping bags",
    "who taught the monks to brew beer",
    "strike the anvil while the iron is hot",
    "hum the tune that you heard at the fair",
    "let the dog sniff at the glove",
    "cross the river before nightfall",
    "the mayor shook hands with the strangers",
    "pour the wax into the mould",
    "gather the apples under the tree",
    "what makes the sea so salty",
    "blow out the lamps in the corridor",
];

/// The fewest of them that an embedder must know.
const MIN_KNOWN: f32 = 24.0;

/// The number of tools whose similarities are sampled for the deviation.
const SAMPLED: usize = 64;

/// The least deviation, for an embedder to which all texts are alike.
const MIN_DEVIATION: f32 = 0.01;

/// The background of a tool set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Background {
    /// The mean similarity of an unrelated request to the tool most similar to it.
    mean: f32,
    /// The standard deviation of the similarity of unrelated requests to single tools.
    deviation: f32,
}

impl Background {
    /// Measures the background. Returns `None` if the embedder does not know enough of the requests.
    pub(crate) fn of(vectors: &Vectors) -> Option<Self> {
        let index = vectors.index();
        let step = index.len().div_ceil(SAMPLED).max(1);
        let rows: Vec<u32> = (0..u32::try_from(index.len()).ok()?).step_by(step).collect();
        let (mut best, mut single) = (Moments::default(), Moments::default());
        for vector in UNRELATED.iter().filter_map(|request| vectors.query(request).ok()) {
            best.extend(index.search(&vector, 1, &|_| true).into_iter().map(|(_, similarity)| similarity));
            single.extend(index.scores(&vector, &rows).into_iter().flatten());
        }
        (best.count >= MIN_KNOWN)
            .then(|| Self { mean: best.mean(), deviation: single.deviation().max(MIN_DEVIATION) })
    }

    /// Returns the amount by which a similarity exceeds that of unrelated requests, in standard deviations.
    pub(crate) fn excess(self, similarity: f32) -> f32 {
        (similarity - self.mean) / self.deviation
    }
}

/// The sums of which the mean and the standard deviation of numbers are computed.
#[derive(Default)]
struct Moments {
    count: f32,
    sum: f32,
    squares: f32,
}

impl Moments {
    fn mean(&self) -> f32 {
        self.sum / self.count.max(1.0)
    }

    fn deviation(&self) -> f32 {
        (self.squares / self.count.max(1.0) - self.mean().powi(2)).max(0.0).sqrt()
    }
}

impl Extend<f32> for Moments {
    fn extend<T: IntoIterator<Item = f32>>(&mut self, numbers: T) {
        for number in numbers {
            self.count += 1.0;
            self.sum += number;
            self.squares += number * number;
        }
    }
}
