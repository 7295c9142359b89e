//! Which signal ends what.

use super::{Effect, Interrupts, Signal};

#[test]
fn ctrl_c_ends_the_turn_and_the_next_one_is_fresh() {
    let interrupts = Interrupts::default();
    let turn = interrupts.turn();
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::TurnEnds);
    assert!(turn.cancel().is_cancelled() && !interrupts.has_left());
    drop(turn);
    let turn = interrupts.turn();
    assert!(!turn.cancel().is_cancelled());
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::TurnEnds);
}

#[test]
fn ctrl_c_between_turns_leaves() {
    let interrupts = Interrupts::default();
    drop(interrupts.turn());
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::ProcessLeaves);
    assert!(interrupts.has_left());
}

#[test]
fn ctrl_c_twice_leaves_at_once() {
    let interrupts = Interrupts::default();
    let turn = interrupts.turn();
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::TurnEnds);
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::ProcessEndsAtOnce);
    drop(turn);

    let interrupts = Interrupts::default();
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::ProcessLeaves);
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::ProcessEndsAtOnce);
}

#[test]
fn sigterm_ends_the_turn_and_the_process_in_order() {
    let interrupts = Interrupts::default();
    let turn = interrupts.turn();
    assert_eq!(interrupts.heed(Signal::Terminate), Effect::ProcessLeaves);
    assert!(turn.cancel().is_cancelled() && interrupts.has_left());
    assert_eq!(interrupts.heed(Signal::Terminate), Effect::ProcessEndsAtOnce);
}

#[test]
fn sigterm_after_ctrl_c_still_ends_in_order() {
    let interrupts = Interrupts::default();
    let _turn = interrupts.turn();
    assert_eq!(interrupts.heed(Signal::Interrupt), Effect::TurnEnds);
    assert_eq!(interrupts.heed(Signal::Terminate), Effect::ProcessLeaves);
}
