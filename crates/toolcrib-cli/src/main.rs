//! The toolcrib command.

fn main() {}
