//! What the scan promises.

use proptest::prelude::*;

use super::super::VectorIndex;
use super::super::vector_index::QuantizedVector;

/// Numbers that look thrown together, the same on each run.
fn numbers(seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f32::from(i16::try_from(state % 2_001).unwrap() - 1_000) / 1_000.0
    })
}

fn unit(dimension: usize, seed: u64) -> Vec<f32> {
    let vector: Vec<f32> = numbers(seed).take(dimension).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.into_iter().map(|number| number / length).collect()
}

fn index_of(dimension: usize, vectors: &[Vec<f32>]) -> VectorIndex {
    let rows: Vec<Option<QuantizedVector>> =
        vectors.iter().map(|vector| QuantizedVector::of(vector)).collect();
    VectorIndex::new(dimension, rows.iter().map(|row| row.as_ref().map(QuantizedVector::row)))
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn the_nearest_come_first_and_their_scores_are_cosines() {
    for dimension in [1, 7, 32, 256, 384, 1_024] {
        let vectors: Vec<_> = (0..200).map(|seed| unit(dimension, seed)).collect();
        let index = index_of(dimension, &vectors);
        for seed in 500..520 {
            let query = unit(dimension, seed);
            let found = index.search(&query, 10, &|_| true);
            assert!(found.is_sorted_by(|one, other| one.1 >= other.1));
            for (row, score) in &found {
                let exact = cosine(&query, &vectors[*row as usize]);
                assert!((score - exact).abs() < 0.01, "{dimension}: {score} {exact}");
            }
            let least = found.last().unwrap().1;
            let missed = (0..200_u32).filter(|row| !found.iter().any(|found| found.0 == *row));
            for row in missed {
                assert!(cosine(&query, &vectors[row as usize]) < least + 0.01, "{dimension}: {row}");
            }
        }
    }
}

#[test]
fn the_largest_numbers_of_the_most_dimensions_do_not_overflow() {
    let vector = vec![1.0; super::super::MAX_DIMENSION];
    let index = index_of(vector.len(), &[vector.clone(), vector.iter().map(|number| -number).collect()]);
    let found = index.search(&vector, 2, &|_| true);
    assert!((found[0].1 - 4_096.0).abs() < 1.0 && (found[1].1 + 4_096.0).abs() < 1.0, "{found:?}");
}

#[test]
fn what_is_hidden_or_has_no_vector_is_not_found() {
    let vectors = [vec![1.0, 0.0], vec![0.0, 0.0], vec![0.9, 0.1], vec![f32::NAN, 1.0], vec![0.0, 1.0]];
    let index = index_of(2, &vectors);
    let rows = |limit, filter: &dyn Fn(u32) -> bool| -> Vec<u32> {
        index.search(&[1.0, 0.0], limit, filter).into_iter().map(|(row, _)| row).collect()
    };
    assert_eq!((index.len(), index.present()), (5, 3));
    assert_eq!(rows(9, &|_| true), [0, 2, 4]);
    assert_eq!(rows(1, &|row| row != 0), [2]);
    assert_eq!(rows(9, &|_| false), [0; 0]);
    assert_eq!(rows(0, &|_| true), [0; 0]);
    assert_eq!((index.vector(1), index.vector(5)), (None, None));
    assert_eq!(index.scores(&[0.0, 1.0], &[4, 1, 5, 0]), [Some(1.0), None, None, Some(0.0)]);
}

#[test]
fn equals_come_in_the_order_of_their_rows() {
    let index = index_of(2, &vec![vec![0.6, 0.8]; 50]);
    let rows: Vec<u32> = index.search(&[0.6, 0.8], 3, &|_| true).into_iter().map(|(row, _)| row).collect();
    assert_eq!(rows, [0, 1, 2]);
}

#[test]
fn a_query_of_another_size_or_that_points_nowhere_finds_nothing() {
    let index = index_of(2, &[vec![0.6, 0.8]]);
    for query in [&[][..], &[1.0], &[1.0, 0.0, 0.0], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
        assert_eq!(index.search(query, 5, &|_| true), [], "{query:?}");
        assert_eq!(index.scores(query, &[0]), [None], "{query:?}");
    }
    assert_eq!(VectorIndex::default().search(&[], 5, &|_| true), []);
}

#[test]
fn a_scan_that_two_threads_share_finds_the_same() {
    let dimension = 1_024;
    let rows: Vec<QuantizedVector> =
        (0..50).map(|seed| QuantizedVector::of(&unit(dimension, seed)).unwrap()).collect();
    let many = (0..9_001).map(|row| rows.get(row % rows.len()).map(QuantizedVector::row));
    let (few, many) = (
        VectorIndex::new(dimension, rows.iter().map(|row| Some(row.row()))),
        VectorIndex::new(dimension, many),
    );
    let query = unit(dimension, 77);
    let best = few.search(&query, 1, &|_| true)[0];
    let found = many.search(&query, 1_000, &|_| true);
    let equals = (0..9_001).filter(|row| row % 50 == best.0).map(|row| (row, best.1));
    assert_eq!(found.into_iter().take(180).collect::<Vec<_>>(), equals.collect::<Vec<_>>()[..180]);
}

#[test]
fn of_very_many_rows_the_best_are_found_and_those_behind_hidden_ones_too() {
    let dimension = 64;
    let rows: Vec<QuantizedVector> =
        (0..50).map(|seed| QuantizedVector::of(&unit(dimension, seed)).unwrap()).collect();
    let many = (0..50_050).map(|row| rows.get(row % rows.len()).map(QuantizedVector::row));
    let (few, many) = (
        VectorIndex::new(dimension, rows.iter().map(|row| Some(row.row()))),
        VectorIndex::new(dimension, many),
    );
    for seed in 0..20 {
        // Near one of them; of vectors that have nothing in common a sketch says little.
        let noise = unit(dimension, 500 + seed);
        let query: Vec<f32> =
            unit(dimension, seed).iter().zip(noise).map(|(one, other)| one + other / 2.0).collect();
        let order = few.search(&query, 50, &|_| true);
        for (place, is_visible) in [(0, None), (49, Some(order[49].0))] {
            let (row, score) = order[place];
            let found = many.search(&query, 100, &|row| is_visible.is_none_or(|visible| row % 50 == visible));
            let expected: Vec<_> = (0..100).map(|copy| (row + 50 * copy, score)).collect();
            assert_eq!(found, expected, "{seed}");
        }
    }
}

proptest! {
    #[test]
    fn the_best_of_any_rows_are_those_with_the_highest_scores(
        seeds in prop::collection::vec(0_u64..20, 0..60), limit in 0_usize..70, hidden in 0_u32..8,
    ) {
        let vectors: Vec<_> = seeds.iter().map(|seed| unit(16, *seed)).collect();
        let index = index_of(16, &vectors);
        let query = unit(16, 99);
        let visible = |row: u32| row % 8 != hidden;
        let rows: Vec<u32> = (0..u32::try_from(seeds.len()).unwrap()).filter(|row| visible(*row)).collect();
        let mut expected: Vec<(u32, f32)> =
            rows.iter().copied().zip(index.scores(&query, &rows).into_iter().flatten()).collect();
        expected.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        expected.truncate(limit);
        prop_assert_eq!(index.search(&query, limit, &visible), expected);
    }
}
