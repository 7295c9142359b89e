//! A sketch of vectors: one bit for each number, to preselect rows among very many vectors.
//!
//! A bit is set if the number is above zero. The product of a query with these signs approximates that of the query and
//! the vector, and reads a thirty-second of the bytes. The query is quantized to integers of four bits and split into
//! bit planes, so that the product is a count of common bits.

use pulp::Arch;

/// The bits of a number of the query.
const PLANES: usize = 4;

/// The largest number of the query.
const LARGEST: f32 = 7.0;

/// The offset that makes every number of the query positive.
const MIDDLE: i32 = 8;

/// The signs of vectors, row by row.
#[derive(Clone, Default)]
pub(super) struct Sketch {
    /// The number of words of a row.
    width: usize,
    words: Vec<u64>,
}

impl Sketch {
    /// Creates the sketch of rows of bytes.
    pub(super) fn of(dimension: usize, bytes: &[i8]) -> Self {
        let width = dimension.div_ceil(u64::BITS as usize);
        let rows = bytes.chunks_exact(dimension.max(1));
        let mut words = Vec::with_capacity(width * rows.len());
        for row in rows {
            words.extend(row.chunks(u64::BITS as usize).map(|part| signs(part.iter().map(|byte| *byte > 0))));
        }
        Self { width, words }
    }

    /// Returns the rows that may be among the best for a query, in order: `most` of them, or more if several have the
    /// same product.
    pub(super) fn candidates(&self, query: &[i16], most: usize) -> Vec<u32> {
        let planes = planes(query);
        let mut products = vec![0; self.words.len() / self.width.max(1)];
        Arch::new().dispatch(|| products_of(&self.words, &planes, self.width, &mut products));
        let least = least(&products, most);
        let rows = (0_u32..).zip(&products).filter(|(_, product)| **product >= least);
        rows.map(|(row, _)| row).collect()
    }
}

/// Returns the bit planes of a query, whose numbers are made positive by adding [`MIDDLE`] to each.
fn planes(query: &[i16]) -> [Vec<u64>; PLANES] {
    let largest = query.iter().map(|number| f32::from(*number).abs()).fold(1.0, f32::max);
    #[expect(clippy::cast_possible_truncation, reason = "from 1 to 15")]
    let number = |number: i16| (f32::from(number) / largest * LARGEST).round() as i32 + MIDDLE;
    std::array::from_fn(|plane| {
        let word = |part: &[i16]| signs(part.iter().map(|one| number(*one) >> plane & 1 == 1));
        query.chunks(u64::BITS as usize).map(word).collect()
    })
}

fn signs(bits: impl Iterator<Item = bool>) -> u64 {
    (0..u64::BITS).zip(bits).fold(0, |word, (place, bit)| word | u64::from(bit) << place)
}

/// Computes the product of each row's signs and the query: the sum of the query's numbers at which the row is above
/// zero.
///
/// Inlined, so that it is compiled for the features of each processor.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would leave the processor's features behind")]
#[expect(clippy::cast_possible_wrap, reason = "there are no more bits than numbers of a vector")]
fn products_of(words: &[u64], planes: &[Vec<u64>; PLANES], width: usize, products: &mut [i32]) {
    let [ones, twos, fours, eights] = planes.each_ref().map(Vec::as_slice);
    for (row, product) in words.chunks_exact(width.max(1)).zip(products) {
        let query = ones.iter().zip(twos).zip(fours.iter().zip(eights));
        *product = row.iter().zip(query).fold(0, |sum, (row, ((one, two), (four, eight)))| {
            let common = |plane: &u64| (row & plane).count_ones() as i32;
            sum + common(one) + 2 * common(two) + 4 * common(four) + 8 * common(eight)
                - MIDDLE * row.count_ones() as i32
        });
    }
}

/// Returns the largest product that at least `most` rows reach.
fn least(products: &[i32], most: usize) -> i32 {
    let lowest = products.iter().copied().min().unwrap_or_default();
    let place = |product: i32| usize::try_from(product - lowest).unwrap_or_default();
    let mut counts = vec![0_usize; place(products.iter().copied().max().unwrap_or_default()) + 1];
    for product in products {
        if let Some(count) = counts.get_mut(place(*product)) {
            *count += 1;
        }
    }
    let mut left = most;
    let downwards = counts.iter().enumerate().rev();
    let reached = downwards.take_while(|(_, count)| {
        let goes_on = left > 0;
        left = left.saturating_sub(**count);
        goes_on
    });
    reached.last().and_then(|(place, _)| i32::try_from(place).ok()).map_or(lowest, |place| lowest + place)
}
