//! n-fold: stretches or shrinks bytes to a length (RFC 3961 §5.1).

/// Rotation of each copy of the input against the one before it, in bits.
const ROTATION_BITS: usize = 13;

/// Folds `input` into the length of `output`. Neither is empty.
///
/// Copies of the input, each rotated to the right by 13 bits more, fill the least common multiple of both
/// lengths. Its parts of the length of `output` are added in ones' complement.
pub(super) fn n_fold(input: &[u8], output: &mut [u8]) {
    assert!(!input.is_empty() && !output.is_empty(), "n-fold needs bytes");
    let length = output.len();
    let total = input.len() / greatest_common_divisor(input.len(), length) * length;
    let mut sums = vec![0_u32; length];
    for index in 0..total {
        let copy = index / input.len();
        sums[index % length] += u32::from(rotated_byte(input, copy * ROTATION_BITS, index % input.len()));
    }
    let mut carry = 0;
    loop {
        for sum in sums.iter_mut().rev() {
            *sum += carry;
            carry = *sum >> 8;
            *sum &= 0xff;
        }
        if carry == 0 {
            break;
        }
    }
    for (byte, sum) in output.iter_mut().zip(sums) {
        *byte = sum as u8;
    }
}

/// Returns byte `index` of `input` rotated to the right by `bits`.
fn rotated_byte(input: &[u8], bits: usize, index: usize) -> u8 {
    let bits_total = input.len() * 8;
    let position = (index * 8 + bits_total - bits % bits_total) % bits_total;
    let high = u16::from(input[position / 8]);
    let low = u16::from(input[(position / 8 + 1) % input.len()]);
    (((high << 8) | low) >> (8 - position % 8)) as u8
}

fn greatest_common_divisor(mut left: usize, mut right: usize) -> usize {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::n_fold;
    use crate::hex::hex;

    #[test]
    fn folds_are_those_of_rfc_3961() {
        let answers = [
            ("012345", "be072631276b1955"),
            ("password", "78a07b6caf85fa"),
            ("Rough Consensus, and Running Code", "bb6ed30870b7f0e0"),
            ("password", "59e4a8ca7c0385c3c37b3f6d2000247cb6e6bd5b3e"),
            ("MASSACHVSETTS INSTITVTE OF TECHNOLOGY", "db3b0d8f0b061e603282b308a50841229ad798fab9540c1b"),
            ("Q", "518a54a215a8452a518a54a215a8452a518a54a215"),
            ("ba", "fb25d531ae8974499f52fd92ea9857c4ba24cf297e"),
            ("kerberos", "6b65726265726f73"),
            ("kerberos", "6b65726265726f737b9b5b2b93132b93"),
            ("kerberos", "8372c236344e5f1550cd0747e15d62ca7a5a3bcea4"),
            ("kerberos", "6b65726265726f737b9b5b2b93132b935c9bdcdad95c9899c4cae4dee6d6cae4"),
        ];
        for (input, answer) in answers.map(|(input, answer)| (input, hex(answer))) {
            let mut output = vec![0; answer.len()];
            n_fold(input.as_bytes(), &mut output);
            assert_eq!(output, answer, "{}-fold({input:?})", answer.len() * 8);
        }
    }
}
