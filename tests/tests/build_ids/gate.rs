//! What passes the gate and what does not, and how it is said.
