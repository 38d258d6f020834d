#![no_main]

#[path = "../sequences/mod.rs"]
mod sequences;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sequences::sequences(data);
});
