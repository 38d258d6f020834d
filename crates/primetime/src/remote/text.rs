//! Names and numbers as people read them. Pure.

use std::borrow::Cow;
use std::fmt::Write;

/// A name that a terminal can be shown: control characters, backslashes and bytes that are no UTF-8 are
/// escaped as in C.
pub(crate) fn escaped(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(is_escaped)
    {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\n' => safe.push_str("\\n"),
                '\t' => safe.push_str("\\t"),
                '\r' => safe.push_str("\\r"),
                '\\' => safe.push_str("\\\\"),
                char if is_escaped(char) => {
                    let mut bytes = [0; 4];
                    char.encode_utf8(&mut bytes).bytes().for_each(|byte| octal(&mut safe, byte));
                }
                char => safe.push(char),
            }
        }
        chunk.invalid().iter().for_each(|byte| octal(&mut safe, *byte));
    }
    Cow::Owned(safe)
}

/// Control characters, and those that turn the direction of writing round.
fn is_escaped(char: char) -> bool {
    char.is_control()
        || char == '\\'
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn octal(to: &mut String, byte: u8) {
    // A String takes everything.
    let _ = write!(to, "\\{byte:03o}");
}

/// The type and mode of an object as ls(1) shows them.
pub(crate) fn mode_string(kind: client::FileType, mode: u32) -> String {
    use client::FileType as Type;
    let mut text = String::with_capacity(10);
    text.push(match kind {
        Type::Regular => '-',
        Type::Directory => 'd',
        Type::Symlink => 'l',
        Type::Block => 'b',
        Type::Character => 'c',
        Type::Fifo => 'p',
        Type::Socket => 's',
    });
    for (shift, special, letters) in
        [(6, 0o4000, ('s', 'S')), (3, 0o2000, ('s', 'S')), (0, 0o1000, ('t', 'T'))]
    {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letters.0,
            (true, false) => letters.1,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// The type of an object in a word.
pub(crate) fn type_name(kind: client::FileType) -> &'static str {
    use client::FileType as Type;
    match kind {
        Type::Regular => "file",
        Type::Directory => "directory",
        Type::Symlink => "symlink",
        Type::Block => "block device",
        Type::Character => "character device",
        Type::Fifo => "fifo",
        Type::Socket => "socket",
    }
}

/// A size in powers of 1024, rounded up, with at most three digits.
pub(crate) fn human_size(bytes: u64) -> String {
    if bytes < 1024 {
        return bytes.to_string();
    }
    let mut unit = 1_u128 << 10;
    for letter in ['K', 'M', 'G', 'T', 'P', 'E'] {
        let bytes = u128::from(bytes);
        let tenths = (bytes * 10).div_ceil(unit);
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        let whole = bytes.div_ceil(unit);
        if whole < 1024 || letter == 'E' {
            return format!("{whole}{letter}");
        }
        unit <<= 10;
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use client::FileType;

    use super::*;

    #[test]
    fn nothing_that_moves_a_cursor_gets_through() {
        assert_eq!(escaped("grün ✓".as_bytes()), "grün ✓");
        assert_eq!(escaped(b"a\n\t\r\x1b[2Jb\\"), "a\\n\\t\\r\\033[2Jb\\\\");
        assert_eq!(escaped(b"\xff\xc3x"), "\\377\\303x");
        assert_eq!(escaped("\u{9b}\u{202e}".as_bytes()), "\\302\\233\\342\\200\\256");
    }

    #[test]
    fn modes_are_written_as_ls_writes_them() {
        assert_eq!(mode_string(FileType::Regular, 0o4755), "-rwsr-xr-x");
        assert_eq!(mode_string(FileType::Directory, 0o1777), "drwxrwxrwt");
        assert_eq!(mode_string(FileType::Symlink, 0o777), "lrwxrwxrwx");
        assert_eq!(mode_string(FileType::Fifo, 0o7000), "p--S--S--T");
    }

    #[test]
    fn sizes_are_rounded_up_as_ls_does() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10 << 10, "10K"),
            ((1 << 20) - 1, "1.0M"),
            (1 << 30, "1.0G"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(human_size(bytes), text, "{bytes}");
        }
    }
}
