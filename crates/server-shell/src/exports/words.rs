//! The words of a classic table of exports: quotes, octal escapes, comments and lines that go on.

use super::tables::WrongAt;

/// A word, and the line that it begins in, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) line: usize,
    pub(super) bytes: Vec<u8>,
}

impl Word {
    /// For people, and for what is ASCII anyway.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The lines, each with its words.
///
/// # Errors
/// For a quote without an end, and an escape that is none.
pub(super) fn lines(text: &[u8]) -> Result<Vec<Vec<Word>>, WrongAt> {
    let mut reader = Reader { text, at: 0, line: 1 };
    let mut lines = vec![Vec::new()];
    while let Some(byte) = reader.peek() {
        match byte {
            b'\n' => {
                reader.next();
                lines.push(Vec::new());
            }
            b' ' | b'\t' | b'\r' => {
                reader.next();
            }
            b'\\' if reader.text.get(reader.at + 1) == Some(&b'\n') => {
                reader.next();
                reader.next();
            }
            b'#' => {
                while reader.peek().is_some_and(|byte| byte != b'\n') {
                    reader.next();
                }
            }
            _ => {
                let word = reader.word()?;
                if let Some(line) = lines.last_mut() {
                    line.push(word);
                }
            }
        }
    }
    Ok(lines)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn word(&mut self) -> Result<Word, WrongAt> {
        let line = self.line;
        let (mut bytes, mut quoted) = (Vec::new(), false);
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    self.next();
                }
                b'\\' if self.text.get(self.at + 1) == Some(&b'\n') && !quoted => break,
                b'\\' => bytes.push(self.escape()?),
                b'\n' if quoted => return Err((line, "a quoted path has no closing `\"`".to_owned())),
                b' ' | b'\t' | b'\r' | b'\n' | b'#' if !quoted => break,
                byte => {
                    bytes.push(byte);
                    self.next();
                }
            }
        }
        if quoted {
            return Err((line, "a quoted path has no closing `\"`".to_owned()));
        }
        Ok(Word { line, bytes })
    }

    fn escape(&mut self) -> Result<u8, WrongAt> {
        let line = self.line;
        self.next();
        let digits: Vec<_> = (0..3).map_while(|_| self.next()).collect();
        let number = std::str::from_utf8(&digits).ok().filter(|digits| digits.len() == 3);
        let byte = number.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        byte.ok_or_else(|| {
            (line, "after `\\` there are not three octal digits, such as \\040 for a space".to_owned())
        })
    }
}
