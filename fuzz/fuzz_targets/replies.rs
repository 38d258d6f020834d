#![no_main]

#[path = "../replies/mod.rs"]
mod replies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // Virtual time: a timeout of the client costs no time of the machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    replies::replies(&runtime.expect("a runtime"), data);
});
