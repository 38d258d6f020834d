//! Contexts with a KDC: both sides in one process, in the environment of a realm.

#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

use gssapi::{Accepted, Acceptor, Error, Initiated, Initiator, Library};
use testkit::kdc::{Kdc, REALM, told_inside};

#[test]
fn contexts_of_every_enctype_have_the_same_key_on_both_sides() {
    let types = [
        ("aes128-cts-hmac-sha1-96", 17),
        ("aes256-cts-hmac-sha1-96", 18),
        ("aes128-cts-hmac-sha256-128", 19),
        ("aes256-cts-hmac-sha384-192", 20),
    ];
    for (name, number) in types {
        let Some(kdc) = Kdc::start_with(&[name]) else { return };
        let service = kdc.add("nfs/localhost");
        let tickets = kdc.tickets("ann", &kdc.add("ann"), 600);
        let told = format!("{} {} {number}", service.display(), tickets.display());
        kdc.run_inside("both_sides_in_this_process", &told);
    }
}

/// The part of [`contexts_of_every_enctype_have_the_same_key_on_both_sides`] in the realm. Alone it has
/// nothing to do.
#[test]
fn both_sides_in_this_process() {
    let Some(told) = told_inside() else { return };
    let [keytab, tickets, number] = told.split(' ').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let library = Library::load().unwrap();
    let acceptor = Acceptor::new(&library, None, Some(Path::new(keytab))).unwrap();
    let initiator = Initiator::new(&library, "nfs@localhost", Some(Path::new(tickets))).unwrap();
    let mut step = initiator.step(None).unwrap();
    let mut accepting = None;
    let (client, server) = loop {
        match step {
            Initiated::Continue { token, initiator } => match acceptor.accept(accepting, &token).unwrap() {
                Accepted::Continue { token, context } => {
                    step = initiator.step(Some(&token)).unwrap();
                    accepting = Some(context);
                }
                Accepted::Complete { token, established } => {
                    let Initiated::Complete { established: client, .. } =
                        initiator.step(Some(&token)).unwrap()
                    else {
                        panic!("the client wants more than the server has")
                    };
                    break (client, established);
                }
            },
            Initiated::Complete { .. } => panic!("mutual authentication ends with the server's token"),
        }
    };
    assert_eq!(server.principal, format!("ann@{REALM}"));
    assert_eq!(server.key.enctype.to_string(), number);
    assert_eq!(client.key.key, server.key.key);
    assert_eq!((client.key.is_initiator, server.key.is_initiator), (true, false));
    assert_eq!(client.key.is_acceptor_subkey, server.key.is_acceptor_subkey);
    // The acceptor allows the clocks to differ by five minutes.
    assert!(client.lifetime.unwrap().as_secs() <= 600 && server.lifetime.unwrap().as_secs() <= 900);
    // A token of nonsense is an error with the library's words.
    let error = acceptor.accept(None, b"nonsense").unwrap_err();
    assert!(matches!(&error, Error::Failed { message, .. } if !message.is_empty()), "{error}");
}

#[test]
fn missing_keys_are_one_sentence() {
    let Ok(library) = Library::load() else { return };
    let error = Acceptor::new(&library, Some("nfs"), Some(Path::new("/no/such/keytab"))).unwrap_err();
    assert!(error.to_string().starts_with("the key of the service: "), "{error}");
}
