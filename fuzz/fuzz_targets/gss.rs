#![no_main]

#[path = "../gss.rs"]
mod gss;

libfuzzer_sys::fuzz_target!(|data: &[u8]| gss::gss(data));
