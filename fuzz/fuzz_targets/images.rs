//! `perftab_tests::fuzz::images` says what is fuzzed here.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perftab_tests::fuzz::images(bytes));
