//! A sequence of calls on few names, so that they meet each other's traces.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use rustix::fs::OFlags;

use super::{open, stat, told, truncate};

/// Each of so many calls comes to the same `here` and `there`.
pub fn end_alike(here: &Path, there: &Path, steps: usize) {
    let names = ["a", "b", "c", "a/x", "b/x", "c/y", "a/x/z"];
    let mut seed = 0x5eed_u64;
    let mut random = move |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    for step in 0..steps {
        let (what, one, two) = (random(11), names[random(names.len())], names[random(names.len())]);
        let number = random(5000);
        let [one_side, other_side] = [here, there].map(|root| {
            let (first, second) = (root.join(one), root.join(two));
            match what {
                0 => told(fs::create_dir(&first)),
                1 => told(fs::write(&first, number.to_string())),
                2 => told(fs::remove_file(&first)),
                3 => told(fs::remove_dir(&first)),
                4 => told(fs::rename(&first, &second)),
                5 => told(fs::hard_link(&first, &second)),
                6 => told(symlink(two, &first)),
                7 => told(truncate(&first, number as u64)),
                8 => told(fs::read(&first)),
                9 => {
                    told(open(&first, OFlags::WRONLY).and_then(|file| file.write_at(b"data", number as u64)))
                }
                _ => told(stat(&first)),
            }
        });
        assert_eq!(one_side, other_side, "step {step}: call {what} of {one} and {two}");
    }
}
