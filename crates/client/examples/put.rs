//! Copies a local file to a server, from a plain thread: `cargo run --example put -- FILE
//! nfs://server/export`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use client::blocking::Client;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("what, and where to? put FILE nfs://server/export".into());
    };
    println!("{} bytes", put(Path::new(&file), &address)?);
    Ok(())
}

/// Copies `file` into the directory at the address, under a name that nobody else sees before all of it is
/// there.
pub fn put(file: &Path, address: &str) -> Result<u64, Box<dyn Error>> {
    let name = file.file_name().ok_or("the file has no name")?.as_encoded_bytes();
    let unfinished = [name, b".part"].concat();
    let client = Client::connect(address)?;
    let mut target = client.create(&unfinished)?;
    let count = std::io::copy(&mut std::fs::File::open(file)?, &mut target)?;
    target.close()?;
    client.rename(&unfinished, name)?;
    client.shutdown()?;
    Ok(count)
}
