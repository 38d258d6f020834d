//! Alters the results of replies as the input says.

/// The input, read from its beginning.
#[derive(Debug)]
pub struct Script {
    bytes: Vec<u8>,
    at: usize,
    pub altered: u32,
}

/// The replies of the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Send,
    Drop,
    Refuse,
}

/// Values that lengths, counts, discriminants and offsets turn on.
const WORDS: [u32; 16] = [
    0,
    1,
    2,
    3,
    7,
    13,
    255,
    256,
    4096,
    0xffff,
    0x0010_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff0,
    0xffff_fffe,
    0xffff_ffff,
];

/// Names that no listing may contain, as XDR strings of eight bytes.
const NAMES: [&[u8; 8]; 4] =
    [b"\0\0\0\x02..\0\0", b"\0\0\0\x04../a", b"\0\0\0\x03a\0b\0", b"\0\0\0\x01/\0\0\0"];

impl Script {
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), at: 0, altered: 0 }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    fn number(&mut self) -> usize {
        usize::from(self.next().unwrap_or(0)) << 8 | usize::from(self.next().unwrap_or(0))
    }

    /// Alters `results`. Once the input is used up, all replies are left as they are.
    pub fn apply(&mut self, results: &mut Vec<u8>) -> Verdict {
        let Some(step) = self.next() else { return Verdict::Send };
        if step < 0x60 {
            return Verdict::Send;
        }
        self.altered += 1;
        let words = (results.len() / 4).max(1);
        match step {
            0x60..=0xa7 => {
                let at = self.number() % words * 4;
                let word = WORDS[usize::from(step & 15)];
                if let Some(place) = results.get_mut(at..at + 4) {
                    place.copy_from_slice(&word.to_be_bytes());
                }
            }
            0xa8..=0xbf => {
                let at = self.number() % results.len().max(1);
                let byte = self.next().unwrap_or(0);
                if let Some(place) = results.get_mut(at) {
                    *place = byte;
                }
            }
            0xc0..=0xc7 => results.truncate(self.number() % words * 4),
            0xc8..=0xcf => results.resize(results.len() + self.number() % 4096 * 4, step),
            0xd0..=0xdf => {
                let at = self.number() % words * 4;
                let name = NAMES[usize::from(step & 3)];
                if let Some(place) = results.get_mut(at..at + 8) {
                    place.copy_from_slice(name);
                }
            }
            0xe0..=0xef => {
                let length = self.number() % 1024 / 4 * 4;
                results.clear();
                for _ in 0..length {
                    let byte = self.next().unwrap_or(0);
                    results.push(byte);
                }
            }
            0xf0..=0xf7 => return Verdict::Drop,
            _ => return Verdict::Refuse,
        }
        Verdict::Send
    }
}
