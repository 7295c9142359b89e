//! Positions in a value, converted to text only when needed.

use toolcrib_model::text::pointer_part;

/// The most bytes of a pointer that are shown.
const MAX_POINTER_BYTES: usize = 300;

/// The way from the whole value to a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: PathStep<'a>,
}

#[derive(Clone, Copy, Debug)]
enum PathStep<'a> {
    Name(&'a str),
    Position(usize),
}

impl<'a> Path<'a> {
    pub(crate) const ROOT: Path<'static> = Path { above: None, step: PathStep::Position(0) };

    pub(crate) fn name(&'a self, name: &'a str) -> Path<'a> {
        Path { above: Some(self), step: PathStep::Name(name) }
    }

    pub(crate) fn position(&'a self, position: usize) -> Path<'a> {
        Path { above: Some(self), step: PathStep::Position(position) }
    }

    /// Returns the JSON pointer, cut where it is too long.
    pub(crate) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut here = self;
        while let Some(above) = here.above {
            steps.push(here.step);
            here = above;
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            pointer.push('/');
            match step {
                PathStep::Name(name) => pointer.push_str(&pointer_part(name)),
                PathStep::Position(position) => pointer.push_str(&position.to_string()),
            }
            if pointer.len() > MAX_POINTER_BYTES {
                pointer.truncate(pointer.floor_char_boundary(MAX_POINTER_BYTES));
                pointer.push('…');
                break;
            }
        }
        pointer
    }
}
