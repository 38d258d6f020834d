//! Tokens of MIT Kerberos 1.20.1 (Debian 12), byte for byte.
//!
//! `gss_init_sec_context` and `gss_accept_sec_context` made the contexts with tickets of a KDC, and
//! `gss_krb5_export_lucid_sec_context` gave their keys. The contexts without mutual authentication have no
//! subkey of the acceptor.

use gss_krb5::{CONFOUNDER_BYTES, Confounder, Context, Enctype, Role, WrapProtection};

use crate::hex::hex;
use crate::sides::message;

const MESSAGE: &[u8] = b"The quick brown fox jumps over the lazy dog.";

/// A context and the tokens that MIT made with it.
struct Answers {
    enctype: Enctype,
    acceptor_subkey: bool,
    key: &'static str,
    initiator: Tokens,
    acceptor: Tokens,
}

/// The tokens of one side for [`MESSAGE`].
struct Tokens {
    mic: &'static str,
    /// A Wrap token without confidentiality.
    plain: &'static str,
    /// A Wrap token with confidentiality.
    sealed: &'static str,
}

const ANSWERS: [Answers; 8] = [
    Answers {
        enctype: Enctype::Aes128Sha1,
        acceptor_subkey: true,
        key: "2adcc1dede3484c60744c3adeb4f3e50",
        initiator: Tokens {
            mic: "040404ffffffffff0000000027e77ad8 8577c029e8aa214a05f3b2cc",
            plain: "050404ff000c00000000000027e77ad9 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e4af51912 \
             eb59a71e74026e69",
            sealed: "050406ff000000000000000027e77ada a003d7ecb919b95f3e574a8ebee9d91c \
             d4b100ae415929fca7b125ebf6128c80 6e22fade5f77212f9453e7ecda2642ff \
             8365f7b2f18f7c6d24d64e1c60e7ebf0 6cfc914b366354927567dd4f6a645812 \
             86b85781129effe2",
        },
        acceptor: Tokens {
            mic: "040405ffffffffff0000000034d1ba9d f51a2ce6ab66e66d4fff713c",
            plain: "050405ff000c00000000000034d1ba9e 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e3b9ac6e3 \
             17229d711c56f651",
            sealed: "050407ff000000000000000034d1ba9f 76e7b8a270066414b843daeff02cbf5e \
             435b0a869d6fd348a4a7f73ebb245b7f 097712d406ba00afc6a6ba9f836e3165 \
             7d30789697c24f10ddf5092c7495730f c1007f5f9462daa5a9a244b0b069bb45 \
             318f24ddf09fc5f7",
        },
    },
    Answers {
        enctype: Enctype::Aes128Sha1,
        acceptor_subkey: false,
        key: "e267108c193fddbec668db3883840e5b",
        initiator: Tokens {
            mic: "040400ffffffffff0000000029b7bcb5 d38840ae8a106bf0e18be8e9",
            plain: "050400ff000c00000000000029b7bcb6 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e89d0b3f7 \
             a86476527bce8343",
            sealed: "050402ff000000000000000029b7bcb7 610d6eff2b1db72144f4e0c595635b21 \
             b01ab32eda596dc4fbd062d4dd27107f a9cd49ce8161c2f04fe41eb737e00bdf \
             d5cce17992688772d5cd22d9f9531251 cee9ad096f8f2dca70529c34d8986191 \
             886693ad575d33cb",
        },
        acceptor: Tokens {
            mic: "040401ffffffffff0000000029b7bcb5 76b26a1484faefbb9d242ade",
            plain: "050401ff000c00000000000029b7bcb6 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672ee2384e6c \
             700ea1b134410408",
            sealed: "050403ff000000000000000029b7bcb7 621efe686da37e4e5bd8cccb0fccfcf2 \
             821e92f68d64f7296238e0a6726ae8c3 7338acb088070a7d70006918dbbf866a \
             41df5ec6b979861f8b3978b6583aca5c 5ec87839da8fae19fd878d2492bf4e0a \
             ea851c2ca6eef0eb",
        },
    },
    Answers {
        enctype: Enctype::Aes256Sha1,
        acceptor_subkey: true,
        key: "f100821a0a8a66a25de82a1e0e157bf7 4db4ff8078134d83d6724b73781c3b6e",
        initiator: Tokens {
            mic: "040404ffffffffff0000000011d98710 4b14d3dbae740d0b8ff210ba",
            plain: "050404ff000c00000000000011d98711 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672ed0f8d7e0 \
             046fc54706c8bea0",
            sealed: "050406ff000000000000000011d98712 ce852b68a4b10bb7713d57f7d01d75b2 \
             c7f46fdfcd4caafd8c2e69006ef40f31 c6989494ca0e4d22def5b79a55bdec3f \
             8f8e482a828d27922b11766f99367a44 e37dc53476760cd95612bc3fde89b793 \
             2ba3f1ba408391d8",
        },
        acceptor: Tokens {
            mic: "040405ffffffffff0000000033ec78d7 62e9890463dd346c932991c6",
            plain: "050405ff000c00000000000033ec78d8 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e799e4db3 \
             7d82f92f83ad6b93",
            sealed: "050407ff000000000000000033ec78d9 8f50689b772d55bc046d8ecc7a18548a \
             0e58861b72c5fab54a9659209836430c 48a4544a47aa7bc0f64415a23966f3d1 \
             ae9f8fd9f0188b66acba08af56bfe37d 3f5543695bec82f9c9045b7abcd69568 \
             17625dadda72db97",
        },
    },
    Answers {
        enctype: Enctype::Aes256Sha1,
        acceptor_subkey: false,
        key: "eaf8dcd8c565539e101049ec64ff551b c4efc773d7c8b568fe75bf1b055d64ce",
        initiator: Tokens {
            mic: "040400ffffffffff000000002ff9fd0c eb5208a1dba6d5b4902aa9ad",
            plain: "050400ff000c0000000000002ff9fd0d 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672ed149cf40 \
             3b6f2ebe97f9b7a6",
            sealed: "050402ff00000000000000002ff9fd0e f1ca867b48665bd6c50781b05f658153 \
             f1ef5debe2f11f59740d4d34e858d41a bac779710e2ac89b720537fb88a2dffd \
             20f54e6b15c257b90549cca95eab4a86 4ad5f5408a0192c95d9c0c394468e82b \
             e152462eb4dfdf63",
        },
        acceptor: Tokens {
            mic: "040401ffffffffff000000002ff9fd0c 653af56446239e0f4ef4326c",
            plain: "050401ff000c0000000000002ff9fd0d 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672ebe6cf199 \
             260cefe1c06d249c",
            sealed: "050403ff00000000000000002ff9fd0e 1f49a04ac6b0955fc0c22dd3af05948a \
             dab7beb021de7664ff25e8dbb46eb948 adffff6bebeb814638a33967a5c8d8ae \
             69c199f85d494867f011c5c3cfd66caf 66b8b1d3e84fd3c42838b693a0bd7286 \
             7af329231e1cc6a1",
        },
    },
    Answers {
        enctype: Enctype::Aes128Sha256,
        acceptor_subkey: true,
        key: "fb44330828bdbcd1c04b9bacdcc370db",
        initiator: Tokens {
            mic: "040404ffffffffff000000001ff3358a 2ba482be500227c77746836869a11c1e",
            plain: "050404ff00100000000000001ff3358b 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e23ee4af9 \
             0d21dfa115eae939f567b28a",
            sealed: "050406ff00000000000000001ff3358c fd2a0275d08ebcdee67e77f94cd89e58 \
             0ce541d0a959bd934c52e9ac3183405e b826d8a2d4881fa24facd8e34e710025 \
             c108dbadf88a7d1656bfc8a295f0e9c6 87eadb2de08a19a07eadc39fa176a469 \
             e730d28344eb5bba194159f5",
        },
        acceptor: Tokens {
            mic: "040405ffffffffff000000000bdc772b ef8dacdd16e71c3c6120d303ef9402a6",
            plain: "050405ff00100000000000000bdc772c 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e40b49584 \
             6b1413d719aa76aab692e6f0",
            sealed: "050407ff00000000000000000bdc772d e57d7b6f09bcc302668333d6d1f7d387 \
             d42825e974e689fe88c8df5ebdf5ae91 34e5c3a5b16eb20796e115d7236c70b3 \
             5a185e5d843fcc153a9112892afa33d7 dffbda903214c398813113d44f14c814 \
             f273cad25411d3a88f72cf2b",
        },
    },
    Answers {
        enctype: Enctype::Aes128Sha256,
        acceptor_subkey: false,
        key: "5fe03f2bd1ee50db65177f088f3531e8",
        initiator: Tokens {
            mic: "040400ffffffffff00000000363dc4fe 92e60b231dd7348bc6b75bb3da47a634",
            plain: "050400ff0010000000000000363dc4ff 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e76ed849b \
             50c9a0bfb7e02964795eb4fa",
            sealed: "050402ff0000000000000000363dc500 59a97f19afddbe43c7800cc8925b7229 \
             0345eda7690484fb3d0da4e00b524d97 7770af619b4cde0dda4c79e26bae421f \
             05e624a2d6b384726414bad82b7259fd 902224d993f4bf87050fb0f509e1f77e \
             8f773bb820d3e951d4278fc9",
        },
        acceptor: Tokens {
            mic: "040401ffffffffff00000000363dc4fe 408e656698327fb0e30c4779414b0503",
            plain: "050401ff0010000000000000363dc4ff 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e8a4db79c \
             efa9cdb692c769d78f404e61",
            sealed: "050403ff0000000000000000363dc500 6324ff0a1e288f8e9ec3bae8ff8c8401 \
             0eea2977d921ca654969d0251cf85c51 c5ccb5d666b21306a59f3dad1cad15f1 \
             1afff839c459f10b1bd5c7df313bb623 7fb0e3dbec26b408105537b3ed0674ad \
             3829eb6c58a586b7d50951b9",
        },
    },
    Answers {
        enctype: Enctype::Aes256Sha384,
        acceptor_subkey: true,
        key: "5f2545f6dfec81dd0c587d03254dfce3 45a9607f1a1d4a6ad7ff5de76df0fe24",
        initiator: Tokens {
            mic: "040404ffffffffff0000000037323263 80b101f32f2259c6a074d6eca760ae0d \
             6184d10a8766926a",
            plain: "050404ff001800000000000037323264 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672edbcfc76e \
             8a3855334a213d6123b39023ab6b05e9 17b3ea02",
            sealed: "050406ff000000000000000037323265 7db40be62522bf1bd38b811d312e24d6 \
             9f9a2d2836d4efd97f8dbf1b985fcbb0 435495d05ce4923094de9c3749890879 \
             ecfa0648083f288eacb1617cccfd1441 c90489002677d1dce5b214bc5b5f4c30 \
             8a92199fc4d801879e8f6539e766d672 05676add",
        },
        acceptor: Tokens {
            mic: "040405ffffffffff000000003c77b7b3 93d56c51b612f13e62f6fbd9ac2fe1ca \
             8559166c8b2e3beb",
            plain: "050405ff00180000000000003c77b7b4 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672ec57f2b61 \
             f26a4ed4eaf859bba522166a55d9e6a5 161b174a",
            sealed: "050407ff00000000000000003c77b7b5 c22984b45742c1098ee71cf30b23cef2 \
             3bfe9417968449b40658ec72bf0647af 2dd3f0d5a86a9d25a1eaa6065578340d \
             97266550c6ceeb3dea0650793acb3902 b2dd4e4a94def8499c8ade3bc3fbc930 \
             746344d75f288b9db8496467cea6dc02 1a79a9a6",
        },
    },
    Answers {
        enctype: Enctype::Aes256Sha384,
        acceptor_subkey: false,
        key: "94d8c8aedd56f17f8b6ee38d4c218fcb 5bf1d91e00b3efa2d5751dfbf8c55af4",
        initiator: Tokens {
            mic: "040400ffffffffff0000000022ea34be bbda4a28a4e663fec75af887b6b883e6 \
             3bc94ed8337bd4f7",
            plain: "050400ff001800000000000022ea34bf 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672e4a49012b \
             e21ab295414067b9707ffdceb51d9dd5 8c63bb4e",
            sealed: "050402ff000000000000000022ea34c0 653c03a24d8ff6d45365938968ba41c5 \
             2161932efe5d1a820391143c126b1a10 df9a638c14a95089de88c173e945ea72 \
             d570ebee22266b9b059780eb0ae056b0 c369f56143746645100496d7c4c3a89b \
             efeba08212a869876bdf499cd92ebe59 12f8fdc4",
        },
        acceptor: Tokens {
            mic: "040401ffffffffff0000000022ea34be aae410e5cc432302a8cd7e9a6e406081 \
             7a21aa130c264635",
            plain: "050401ff001800000000000022ea34bf 54686520717569636b2062726f776e20 \
             666f78206a756d7073206f7665722074 6865206c617a7920646f672edba53d00 \
             7f211385fdc17db9f0c05c8c152929d0 c9150f11",
            sealed: "050403ff000000000000000022ea34c0 b4422068037708112d88ad817ea0d935 \
             7bb5efcc2cb2e431537c9a727287f453 b9e241b957132a9d88b969af3c19491a \
             4e4c55c59cc7bc587114c2b368831957 169b4f3929f15371b0194a0cbe10a142 \
             0a86a76c492c60ee5eda375d80a37131 df7a0ecc",
        },
    },
];

/// A sealed token of the initiator for a message of 20,000 bytes.
struct LargeAnswer {
    /// The index of the context in [`ANSWERS`].
    context: usize,
    sequence: u64,
    confounder: &'static str,
    /// The last 64 bytes, which depend on all bytes before them.
    end: &'static str,
}

const LARGE_ANSWERS: [LargeAnswer; 4] = [
    LargeAnswer {
        context: 0,
        sequence: 0x27e7_7adb,
        confounder: "c65f966c9030f41752cd0cc8730f6bfd",
        end: "1498d4f8a8161f2fb1de1080a6553a86 3b2aa71ee372ae07c9aa797017db9d3a \
         7410c70088832759cdad36b74baf8945 fb2354b9e95108c38d5e62c2c8570cff",
    },
    LargeAnswer {
        context: 2,
        sequence: 0x11d9_8713,
        confounder: "af6589cfee2518d399b74b8c16d3457e",
        end: "cb07494e181d85984b01054a095243e2 5d0b8fa32b3b616f3c34707108f3ba2b \
         46f7d8ad1317456b5653d5315478534b dfd97a89f2e23f388e0f0bd72eaf35f3",
    },
    LargeAnswer {
        context: 4,
        sequence: 0x1ff3_358d,
        confounder: "b8dbd7ece4371276bbebaf21ff7b1d0c",
        end: "be391f1705973625fddd29e6410f9fe9 e82d567ddabbdd937c15dc65d244dd2e \
         c79529d25222271436b52c2fd51b2974 57d2b1f882a8857fe4cb026b1a4ee9e9",
    },
    LargeAnswer {
        context: 6,
        sequence: 0x3732_3266,
        confounder: "a88b50dd0c83a7a2a2ad521f15a3d45d",
        end: "c5a3bd91939b131d66f9ca0228206454 45e5dadf837d9c40c0e081c462526d8f \
         badcaeb6b44bac9d59b272c2a4dd3563 73bff3ceeb4927e4e80e55ef7003f527",
    },
];

fn side(answers: &Answers, role: Role) -> Context {
    Context::new(role, answers.enctype, &hex(answers.key), answers.acceptor_subkey, 0).unwrap()
}

/// Checks that `receiver` accepts the tokens of MIT's sender and that `sender` makes the same.
fn check(sender: &Context, receiver: &Context, tokens: &Tokens) {
    let mic = hex(tokens.mic);
    let sequence = receiver.verify_mic(&mic, MESSAGE).unwrap();
    assert_eq!(sender.mic(sequence, MESSAGE), mic);

    let plain = hex(tokens.plain);
    let opened = receiver.unwrap_in_place(&mut plain.clone()).unwrap();
    assert_eq!((&plain[opened.message], opened.is_private, opened.sequence), (MESSAGE, false, sequence + 1));
    assert_eq!(sender.wrap(sequence + 1, MESSAGE, WrapProtection::Integrity), plain);

    let sealed = hex(tokens.sealed);
    let mut decrypted = sealed.clone();
    let opened = receiver.unwrap_in_place(&mut decrypted).unwrap();
    let begin = opened.message.start;
    let confounder: Confounder = decrypted[begin - CONFOUNDER_BYTES..begin].try_into().unwrap();
    assert_eq!(
        (&decrypted[opened.message], opened.is_private, opened.sequence),
        (MESSAGE, true, sequence + 2)
    );
    assert_eq!(sender.wrap(sequence + 2, MESSAGE, WrapProtection::Privacy(confounder)), sealed);
}

#[test]
fn tokens_are_those_of_mit() {
    for answers in &ANSWERS {
        let (initiator, acceptor) = (side(answers, Role::Initiator), side(answers, Role::Acceptor));
        check(&initiator, &acceptor, &answers.initiator);
        check(&acceptor, &initiator, &answers.acceptor);
    }
}

#[test]
fn sealed_token_of_a_large_message_is_that_of_mit() {
    for answer in LARGE_ANSWERS {
        let initiator = side(&ANSWERS[answer.context], Role::Initiator);
        let acceptor = side(&ANSWERS[answer.context], Role::Acceptor);
        let message = message(20_000);
        let confounder = hex(answer.confounder).try_into().unwrap();
        let token = initiator.wrap(answer.sequence, &message, WrapProtection::Privacy(confounder));
        assert_eq!(token[token.len() - 64..], hex(answer.end));
        assert_eq!(acceptor.unwrap(&token), Ok((message, true)));
    }
}
