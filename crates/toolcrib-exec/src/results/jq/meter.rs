//! What a program has cost so far. Each runs on a thread of its own, and its meter belongs to the thread.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use crate::results::seek::Asker;

/// The most steps of a program, comparisons and copied values included.
const MAX_STEPS: usize = 20_000_000;

/// The most bytes of the values that a program makes, those that it has dropped included: 256 MiB.
const MAX_BYTES: usize = 256 << 20;

/// How deep the stack may grow while a program runs, in bytes. The rest is for what ends it.
const MAX_STACK_BYTES: usize = 16 << 20;

/// How deep values may nest: what is inside of another is dropped with it, on the stack.
pub(super) const MAX_DEPTH: u16 = 256;

/// After how many steps it is looked whether anybody still waits.
const STEPS_PER_LOOK: usize = 4_096;

/// Bytes that are copied for the price of a step.
const BYTES_PER_STEP: usize = 64;

/// How much a program may cost.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) steps: usize,
    pub(super) bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: MAX_STEPS, bytes: MAX_BYTES }
    }
}

/// Why a program was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Steps,
    Bytes,
    Stack,
    Depth,
    /// Nobody waits for it.
    Asker,
}

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static STACK: Cell<usize> = const { Cell::new(0) };
    static ASKER: RefCell<Option<Asker>> = const { RefCell::new(None) };
}

/// Begins to count for the program that runs on this thread from here on.
pub(super) fn start(asker: Asker, limits: Limits) {
    STEPS.set(limits.steps);
    BYTES.set(limits.bytes);
    STACK.set(stack_address());
    ASKER.set(Some(asker));
}

/// Pays for one step.
pub(super) fn step() {
    steps(1);
    if STACK.get().abs_diff(stack_address()) > MAX_STACK_BYTES {
        end(Exceeded::Stack);
    }
}

/// Pays for several steps.
pub(super) fn steps(count: usize) {
    let before = STEPS.get();
    let Some(left) = before.checked_sub(count) else { end(Exceeded::Steps) };
    STEPS.set(left);
    if before / STEPS_PER_LOOK != left / STEPS_PER_LOOK
        && ASKER.with_borrow(|asker| asker.as_ref().is_some_and(Asker::is_gone))
    {
        end(Exceeded::Asker);
    }
}

/// Pays for bytes that are made, and for making them.
pub(super) fn bytes(count: usize) {
    let Some(left) = BYTES.get().checked_sub(count) else { end(Exceeded::Bytes) };
    BYTES.set(left);
    steps(count / BYTES_PER_STEP);
}

/// Ends the program by unwinding its thread: the interpreter cannot be told to stop, and a program may catch its errors. No
/// panic is reported.
pub(super) fn end(exceeded: Exceeded) -> ! {
    resume_unwind(Box::new(exceeded))
}

/// About where the stack ends now.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}
