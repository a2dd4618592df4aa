//! Names by force: asked for, marked everywhere, never counted as matched.
