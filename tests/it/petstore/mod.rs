//! The pet store, driven by the real binary: all its operations, all its errors, and what goes with calls unseen.

mod calls;
mod credentials;
mod retries;
mod shop;
