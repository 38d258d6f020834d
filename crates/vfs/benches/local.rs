//! What the calls of the local back end cost, in nanoseconds, beside the bare system calls that they rest on.
//!
//! Single thread, page cache, asynchronous durability. `cargo bench -p primetime-vfs --bench local [-- DIR]`
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures real files")]
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures")]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::future::Future;
    use std::hint::black_box;
    use std::os::unix::fs::FileExt;
    use std::time::Instant;

    use bytes::Bytes;
    use futures_util::FutureExt;
    use vfs::local::{Durability, HandleMode, Local, LocalOptions};
    use vfs::{CreateMode, FileSystem, Name, Request, SetAttributes, Stability};

    const ROUNDS: u32 = 200_000;
    const FILES: u32 = 4_000;
    const BLOCK: usize = 4096;

    pub(super) fn main() {
        let parent = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
        let parent = parent.map_or_else(std::env::temp_dir, Into::into);
        let dir = tempfile::tempdir_in(&parent).unwrap();
        println!("in {}, nanoseconds per call", parent.display());
        bare(dir.path());
        for (title, handles) in [("kernel handles", HandleMode::Kernel), ("index", HandleMode::Index)] {
            let export = dir.path().join(title);
            std::fs::create_dir(&export).unwrap();
            let options = LocalOptions { durability: Durability::Async, handles, ..Default::default() };
            match Local::open(export, &options) {
                Ok(fs) => measure(title, &fs),
                Err(error) => println!("{title}: {error}"),
            }
        }
    }

    /// What the same calls cost without us.
    fn bare(dir: &std::path::Path) {
        let path = dir.join("bare");
        let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap();
        let mut block = vec![1; BLOCK];
        file.write_all_at(&block, 0).unwrap();
        println!("bare system calls");
        report("create", FILES, |i| {
            let path = dir.join(format!("bare{i}"));
            black_box(std::fs::OpenOptions::new().write(true).create_new(true).open(path).unwrap());
        });
        report("fstat", ROUNDS, |_| {
            black_box(file.metadata().unwrap());
        });
        report("pread 4 KiB", ROUNDS, |_| file.read_exact_at(&mut block, 0).unwrap());
        report("pwrite 4 KiB", ROUNDS, |_| file.write_all_at(&[1; BLOCK], 0).unwrap());
    }

    fn measure(title: &str, fs: &Local) {
        println!("{title}");
        let request = Request::of_server();
        let root = fs.root();
        let names: Vec<String> = (0..FILES).map(|i| format!("file{i}")).collect();
        let how = CreateMode::Guarded(SetAttributes { mode: Some(0o644), ..Default::default() });
        report("create", FILES, |i| {
            black_box(now(fs.create(request, &root, name(&names[i as usize]), &how)).unwrap());
        });
        let (node, _) = now(fs.lookup(request, &root, name("file7"))).unwrap();
        let handle = fs.handle(&node);
        let data = Bytes::from(vec![1; BLOCK]);
        let mut out = Vec::with_capacity(BLOCK);
        report("resolve", ROUNDS, |_| {
            black_box(now(fs.resolve(request, handle.as_bytes())).unwrap());
        });
        report("resolve + attributes", ROUNDS, |_| {
            let node = now(fs.resolve(request, handle.as_bytes())).unwrap();
            black_box(now(fs.attributes(request, &node)).unwrap());
        });
        report("lookup", ROUNDS, |i| {
            black_box(now(fs.lookup(request, &root, name(&names[(i % FILES) as usize]))).unwrap());
        });
        report("write 4 KiB", ROUNDS, |_| {
            now(fs.write(request, &node, 0, data.clone(), Stability::Unstable)).unwrap();
        });
        report("read 4 KiB", ROUNDS, |_| {
            out.clear();
            now(fs.read(request, &node, 0, BLOCK, &mut out)).unwrap();
        });
        report("read_dir of 64 with objects", FILES, |_| {
            black_box(now(fs.read_dir(request, &root, 0, 64, true)).unwrap());
        });
        report("read_dir of 64 names", FILES, |_| {
            black_box(now(fs.read_dir(request, &root, 0, 64, false)).unwrap());
        });
    }

    fn report(what: &str, rounds: u32, mut call: impl FnMut(u32)) {
        let start = Instant::now();
        for round in 0..rounds {
            call(round);
        }
        println!("  {what:<28} {:>8}", start.elapsed().as_nanos() / u128::from(rounds));
    }

    /// Every call here is answered from memory.
    fn now<T>(future: impl Future<Output = T>) -> T {
        future.now_or_never().expect("ready at the first poll")
    }

    fn name(text: &str) -> Name<'_> {
        Name::new(text.as_bytes()).unwrap()
    }
}
