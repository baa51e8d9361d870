#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oef_fuzz::read("progress", bytes));
