//! Tests in real directories.
