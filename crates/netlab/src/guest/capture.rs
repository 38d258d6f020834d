//! Reads what a guest prints, with a bound on what is kept.

use std::io::{self, PipeReader, Read};
use std::thread::{self, JoinHandle};

/// Kept of one stream; what comes after it is read and dropped, so that the guest never waits for us.
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// A stream that is being read by a thread of its own. Dropping it, like [`Capture::finish`], waits until the
/// last writer is gone.
#[derive(Debug)]
pub(super) struct Capture(Option<JoinHandle<Vec<u8>>>);

impl Capture {
    pub(super) fn start(pipe: PipeReader) -> io::Result<Capture> {
        thread::Builder::new()
            .name("guest-output".into())
            .spawn(|| read(pipe))
            .map(|reader| Capture(Some(reader)))
    }

    pub(super) fn finish(mut self) -> String {
        String::from_utf8_lossy(&self.join()).into_owned()
    }

    fn join(&mut self) -> Vec<u8> {
        let reader = self.0.take();
        reader.map(|reader| reader.join().expect("the reader does not panic")).unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.join();
    }
}

fn read(mut pipe: PipeReader) -> Vec<u8> {
    let mut kept = Vec::new();
    // An error ends the stream like its end does: the writer is gone either way.
    let complete = (&mut pipe).take(KEPT_BYTES_MAX).read_to_end(&mut kept);
    if complete.is_ok() && kept.len() as u64 == KEPT_BYTES_MAX {
        let dropped = io::copy(&mut pipe, &mut io::sink()).unwrap_or(0);
        if dropped > 0 {
            kept.extend_from_slice(format!("\n[{dropped} more bytes]\n").as_bytes());
        }
    }
    kept
}
