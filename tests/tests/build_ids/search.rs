//! Where files are found and fetched, and what is inside of packed ones: b37 b39 b43 b45, and the
//! places of issue.
