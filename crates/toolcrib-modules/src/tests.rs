//! What the table of modules and `hello` promise.
