//! Makes the table of the built-in embedder: a row of numbers for each token, so that the sum of the rows of a text points
//! where a sentence transformer, the teacher, says that it points.
//!
//! 1. [`corpus`]: the texts of tools, operations and requests on which the table is to agree with the teacher.
//! 2. [`teacher`]: its vectors of these texts, and of every token by itself. They are kept below `target/`, since they
//!    take nine tenths of the time.
//! 3. [`projection`]: from the teacher's width to that of the table, so that as little as can be is lost.
//! 4. [`training`]: rows start as the vectors of their tokens, and are moved until sums agree.
//! 5. [`output`]: the table in eight bits for each number, and the record of how it was made.
//!
//! [`multilingual`] makes the second table, that of other languages.
//!
//! The same teacher's vectors give the same bytes, on any number of processors. The vectors themselves may differ in
//! their last digits between kinds of processors; the record has their digest.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program owns its terminal")]

mod arguments;

mod corpus;
mod projection;
mod teacher;
mod training;

mod output;

mod multilingual;

mod random;
mod vectors;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::arguments::{Arguments, Task};
use crate::corpus::Corpus;
use crate::output::Made;
use crate::projection::Projection;
use crate::teacher::{Teacher, Vocabulary};
use crate::training::{Lesson, Settings};

fn main() -> ExitCode {
    let done = Task::read(std::env::args().skip(1)).and_then(|task| match task {
        Task::English(arguments) => run(&arguments),
        Task::Multilingual(recipe) => multilingual::run(&recipe),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("distill: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let settings = Settings { epochs: arguments.epochs, ..Settings::default() };
    let mut corpus = Corpus::read(&arguments.corpus).context("could not read the corpus")?;
    corpus.thin_out(arguments.every);
    println!("corpus: {} texts, {} of them held out", corpus.texts.len(), corpus.held_out().count());

    let vocabulary = Vocabulary::read(&arguments.teacher)?;
    let mut teacher = Teacher::new(&arguments.teacher, &arguments.cache)?;
    let table = vocabulary.bare_table()?;
    let texts: Vec<Vec<_>> = corpus.texts.iter().map(|text| table.tokens(&text.content)).collect();
    let of_texts = teacher.vectors(&texts.iter().map(|tokens| vocabulary.ids(tokens)).collect::<Vec<_>>())?;
    let of_tokens = teacher.vectors(&vocabulary.each_alone())?;

    let taught = || corpus.texts.iter().zip(of_texts.iter()).filter(|(text, _)| !text.held_out);
    let projection = Projection::of(taught().map(|(_, vector)| vector), settings.dimension);
    println!("projection: keeps {:.4} of the teacher", projection.kept());

    let lessons: Vec<Lesson> = corpus
        .texts
        .iter()
        .zip(texts)
        .zip(of_texts.iter())
        .map(|((text, tokens), vector)| Lesson::new(tokens, vector, &projection, text.held_out))
        .collect();
    let (trained, losses) = training::train(&lessons, &of_tokens, &projection, &settings);
    let made = Made {
        table: vocabulary.table(&trained)?,
        vectors_digest: teacher::digest_of(&[&of_texts, &of_tokens]),
        losses,
        kept: projection.kept(),
        settings,
    };
    output::write(&made, &corpus, &vocabulary, &teacher, &lessons, &arguments.out)
}
