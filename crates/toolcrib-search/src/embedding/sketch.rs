//! A sketch of vectors: one bit for each number, to preselect rows among very many vectors.
//!
//! A bit is set if the number is above zero. The product of a query with these signs approximates that of the query and
//! the vector, and reads a thirty-second of the bytes. The query is quantized to integers of four bits and split into
//! bit planes, so that the product is a count of common bits.

use pulp::Arch;

use super::both::both;

/// The bits of a number of the query.
const PLANES: usize = 4;

/// The largest number of the query.
const LARGEST: f32 = 7.0;

/// The number of rows whose product is computed for each row that is requested, if the signs of the query preselect them.
const COARSE_SHARE: usize = 5;

/// The number of rows from which on the signs of the query preselect rows, and two threads share the work. Below it,
/// the product of every row takes less than a millisecond.
const MIN_PRESELECTED_ROWS: usize = 200_000;

/// The offset that makes every number of the query positive.
const MIDDLE: i32 = 8;

/// The largest product of one number of the query.
const LARGEST_PRODUCT: i32 = 8;

/// Returns the number of bits of a row.
fn most_bits(width: usize) -> i32 {
    i32::try_from(width * u64::BITS as usize).unwrap_or(i32::MAX / LARGEST_PRODUCT)
}

/// The signs of vectors, row by row.
#[derive(Clone, Default)]
pub(super) struct Sketch {
    /// The number of words of a row.
    width: usize,
    words: Vec<u64>,
}

impl Sketch {
    /// Creates the sketch of rows of bytes, each in two's complement.
    pub(super) fn of(dimension: usize, bytes: &[u8]) -> Self {
        let width = dimension.div_ceil(u64::BITS as usize);
        let rows = bytes.chunks_exact(dimension.max(1));
        let mut words = Vec::with_capacity(width * rows.len());
        for row in rows {
            words.extend(
                row.chunks(u64::BITS as usize)
                    .map(|part| signs(part.iter().map(|byte| byte.cast_signed() > 0))),
            );
        }
        Self { width, words }
    }

    /// Returns the rows that may be among the best for a query, in order: `most` of them, or more if several have the
    /// same product.
    pub(super) fn candidates(&self, query: &[i16], most: usize) -> Vec<u32> {
        let (planes, signs) = (planes(query), signs_of(query));
        let (first, second) = self.words.split_at(self.len() / 2 * self.width);
        let is_large = self.len() >= MIN_PRESELECTED_ROWS;
        let coarse = is_large.then(|| most.saturating_mul(COARSE_SHARE));
        let of = |words, offset| Half { words, width: self.width, offset }.products(&planes, &signs, coarse);
        let (mut found, last) = both(is_large, || of(first, 0), || of(second, self.len() / 2));
        found.rows.extend(last.rows);
        found.products.extend(last.products);
        selected(found.rows.into_iter(), &found.products, most, LARGEST_PRODUCT * most_bits(self.width))
    }

    /// Returns the number of rows.
    fn len(&self) -> usize {
        self.words.len() / self.width.max(1)
    }
}

/// Rows, each with its product with a query.
struct Products {
    rows: Vec<u32>,
    products: Vec<i32>,
}

/// One half of the rows.
///
/// The rows are always halved, whether or not two threads share them, so that every machine finds the same.
struct Half<'a> {
    words: &'a [u64],
    width: usize,
    /// The number of the first row.
    offset: usize,
}

impl Half<'_> {
    /// Returns the products of all rows, or of as many as `coarse` whose signs agree best with those of the query.
    fn products(&self, planes: &[Vec<u64>; PLANES], signs: &[u64], coarse: Option<usize>) -> Products {
        let all = self.words.chunks_exact(self.width.max(1));
        let offset = u32::try_from(self.offset).unwrap_or(u32::MAX);
        let Some(coarse) = coarse else {
            let mut products = vec![0; all.len()];
            Arch::new().dispatch(|| products_of(all.clone(), planes, &mut products));
            return Products { rows: (offset..).take(products.len()).collect(), products };
        };
        let mut rows = self.preselected(signs, coarse);
        let row = |row: &u32| {
            let start = *row as usize * self.width;
            self.words.get(start..start + self.width).unwrap_or_default()
        };
        let mut products = vec![0; rows.len()];
        Arch::new().dispatch(|| products_of(rows.iter().map(row), planes, &mut products));
        for row in &mut rows {
            *row += offset;
        }
        Products { rows, products }
    }

    /// Returns the rows whose signs differ least from those of the query: `most` of them, or more if several differ as
    /// much.
    fn preselected(&self, signs: &[u64], most: usize) -> Vec<u32> {
        let rows = self.words.chunks_exact(self.width.max(1));
        let mut differing = vec![0_u16; rows.len()];
        let mut counts = vec![0_usize; self.width * u64::BITS as usize + 1];
        Arch::new().dispatch(|| differing_of(rows, signs, &mut differing, &mut counts));
        let mut reached = 0;
        let is_enough = |count: &usize| {
            reached += count;
            reached >= most
        };
        let largest = counts.iter().position(is_enough).and_then(|place| u16::try_from(place).ok());
        let largest = largest.unwrap_or(u16::MAX);
        (0..).zip(differing).filter(|(_, differing)| *differing <= largest).map(|(row, _)| row).collect()
    }
}

/// Returns the rows with the largest products: `most` of them, or more if several have the same. No product is further
/// from zero than `bound`.
fn selected(rows: impl Iterator<Item = u32>, products: &[i32], most: usize, bound: i32) -> Vec<u32> {
    let least = least(products, most, bound);
    rows.zip(products).filter(|(_, product)| **product >= least).map(|(row, _)| row).collect()
}

/// Computes the number of signs of each row that differ from those of the query, and how many rows have each number.
///
/// Inlined, so that it is compiled for the features of each processor.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would leave the processor's features behind")]
fn differing_of<'a>(
    rows: impl Iterator<Item = &'a [u64]>,
    signs: &[u64],
    differing: &mut [u16],
    counts: &mut [usize],
) {
    for (row, slot) in rows.zip(differing) {
        let number: u32 = row.iter().zip(signs).map(|(row, query)| (row ^ query).count_ones()).sum();
        if let Some(count) = counts.get_mut(number as usize) {
            *count += 1;
        }
        *slot = u16::try_from(number).unwrap_or(u16::MAX);
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

/// Returns a bit for each number of the query that is above zero.
fn signs_of(query: &[i16]) -> Vec<u64> {
    query.chunks(u64::BITS as usize).map(|part| signs(part.iter().map(|one| *one > 0))).collect()
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
fn products_of<'a>(rows: impl Iterator<Item = &'a [u64]>, planes: &[Vec<u64>; PLANES], products: &mut [i32]) {
    let [ones, twos, fours, eights] = planes.each_ref().map(Vec::as_slice);
    for (row, product) in rows.zip(products) {
        let query = ones.iter().zip(twos).zip(fours.iter().zip(eights));
        *product = row.iter().zip(query).fold(0, |sum, (row, ((one, two), (four, eight)))| {
            let common = |plane: &u64| (row & plane).count_ones() as i32;
            sum + common(one) + 2 * common(two) + 4 * common(four) + 8 * common(eight)
                - MIDDLE * row.count_ones() as i32
        });
    }
}

/// Returns the largest product that at least `most` rows reach.
fn least(products: &[i32], most: usize, bound: i32) -> i32 {
    let place = |product: i32| usize::try_from(product + bound).unwrap_or_default();
    let mut counts = vec![0_usize; place(bound) + 1];
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
    reached.last().and_then(|(place, _)| i32::try_from(place).ok()).map_or(-bound, |place| place - bound)
}
