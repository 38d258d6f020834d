//! `tar -x`: an archive, compressed or not, onto a server.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, stdin};

use client::TreeOptions;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::Arguments;
use crate::failure::Failure;
use crate::remote::{CopyEnd, Session, Spot, Work, sentence};

const BUFFER_BYTES: usize = 256 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

type Source = Box<dyn Read + Send>;

pub(super) async fn extract(session: &Session, arguments: &Arguments, spot: &Spot) -> Work {
    let source: Source = match arguments.is_standard() {
        true => Box::new(stdin()),
        false => Box::new(File::open(&arguments.file).map_err(|error| {
            Failure::set_up(sentence("read", arguments.file.display(), error.kind(), error))
        })?),
    };
    let making = session.making(&spot.url);
    let options = TreeOptions {
        stop_on_error: !arguments.continue_on_error,
        modes: arguments.preserve_permissions || rustix::process::geteuid().is_root(),
        owners: arguments.same_owner,
        umask: session.umask,
        progress: session.progress.of_tree(),
        ..TreeOptions::default()
    };
    match spot.client.extract_tar(Archive::Raw(source), &spot.path, &options).await {
        Ok(report) => {
            session.report("unpack", &CopyEnd::Remote(spot.url.clone()), &report);
            if report.failures_total == 0 {
                making.made();
            }
        }
        Err(error) => session.failed("unpack the archive into", &spot.url, &error),
    }
    Ok(())
}

/// An archive that is looked at, when it is read first, for how it is compressed.
enum Archive {
    Raw(Source),
    Plain(Source),
}

impl Read for Archive {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Self::Raw(source) = self {
            let source = std::mem::replace(source, Box::new(io::empty()));
            *self = Self::Plain(decompressed(source)?);
        }
        match self {
            Self::Raw(source) | Self::Plain(source) => source.read(into),
        }
    }
}

fn decompressed(mut source: Source) -> io::Result<Source> {
    let mut first = Vec::new();
    source.by_ref().take(ZSTD.len() as u64).read_to_end(&mut first)?;
    let (gzip, zstd) = (first.starts_with(&GZIP), first.starts_with(&ZSTD));
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(first).chain(source));
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(whole)),
        (_, true) => Box::new(StreamingDecoder::new(whole).map_err(io::Error::other)?),
        _ => Box::new(whole),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<u8> {
        let mut all = Vec::new();
        Archive::Raw(Box::new(Cursor::new(bytes))).read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn gzip_archive_is_recognised() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"archive").unwrap();
        assert_eq!(read(encoder.finish().unwrap()), b"archive");
    }

    #[test]
    fn zstd_archive_is_recognised() {
        let compressed =
            ruzstd::encoding::compress_to_vec(&b"archive"[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(read(compressed), b"archive");
    }

    #[test]
    fn all_else_is_read_as_it_is() {
        assert_eq!(read(b"archive".to_vec()), b"archive");
        assert_eq!(read(b"a".to_vec()), b"a");
        assert_eq!(read(Vec::new()), b"");
    }
}
