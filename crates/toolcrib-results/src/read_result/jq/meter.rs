//! The meter of a program's cost. Each program runs on its own thread, and its meter is thread-local.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use crate::read_result::cancellable_search::CancelFlag;

/// The maximum number of steps of a program, comparisons and copied values included.
const MAX_STEPS: usize = 20_000_000;

/// The maximum size of the values that a program creates, including those that it has dropped: 256 MiB.
const MAX_BYTES: usize = 256 << 20;

/// The maximum growth of the stack while a program runs, in bytes. The rest is reserved for unwinding.
const MAX_STACK_BYTES: usize = 16 << 20;

/// The maximum nesting of values: nested values are dropped recursively, on the stack.
pub(super) const MAX_DEPTH: u16 = 256;

/// The number of steps between two checks for cancellation.
const STEPS_PER_LOOK: usize = 4_096;

/// The number of copied bytes that cost one step.
const BYTES_PER_STEP: usize = 64;

/// The cost limits of a program.
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

/// The reason why a program was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramLimit {
    Steps,
    Bytes,
    Stack,
    Depth,
    /// The request was cancelled.
    CancelFlag,
}

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static STACK: Cell<usize> = const { Cell::new(0) };
    static ASKER: RefCell<Option<CancelFlag>> = const { RefCell::new(None) };
}

/// Starts the meter for the program that runs on this thread.
pub(super) fn start(cancel: CancelFlag, limits: Limits) {
    STEPS.set(limits.steps);
    BYTES.set(limits.bytes);
    STACK.set(stack_address());
    ASKER.set(Some(cancel));
}

/// Spends one step.
pub(super) fn step() {
    steps(1);
    if STACK.get().abs_diff(stack_address()) > MAX_STACK_BYTES {
        end(ProgramLimit::Stack);
    }
}

/// Spends several steps.
pub(super) fn steps(count: usize) {
    let before = STEPS.get();
    let Some(left) = before.checked_sub(count) else { end(ProgramLimit::Steps) };
    STEPS.set(left);
    if before / STEPS_PER_LOOK != left / STEPS_PER_LOOK
        && ASKER.with_borrow(|cancel| cancel.as_ref().is_some_and(CancelFlag::is_cancelled))
    {
        end(ProgramLimit::CancelFlag);
    }
}

/// Spends created bytes, and the steps for creating them.
pub(super) fn bytes(count: usize) {
    let Some(left) = BYTES.get().checked_sub(count) else { end(ProgramLimit::Bytes) };
    BYTES.set(left);
    steps(count / BYTES_PER_STEP);
}

/// Ends the program by unwinding its thread: the interpreter cannot be stopped otherwise, and a program may catch its
/// errors. No panic is reported.
pub(super) fn end(exceeded: ProgramLimit) -> ! {
    resume_unwind(Box::new(exceeded))
}

/// Returns the approximate address of the top of the stack.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}
