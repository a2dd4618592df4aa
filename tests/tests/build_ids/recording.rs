//! What is recorded of files: their identity as mapped.
