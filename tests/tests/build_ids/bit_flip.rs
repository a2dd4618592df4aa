//! One wrong bit anywhere: no name appears.
