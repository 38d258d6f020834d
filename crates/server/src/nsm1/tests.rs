//! The status monitor, through the whole path of a call. What a notification does is tested with the lock
//! manager.

use bytes::Bytes;
use proto::nsm1::*;
use rpc::{Credential, Refusal};
use xdr::Encode;

use crate::fixture::Server;

fn call(server: &Server, procedure: u32, arguments: &impl Encode) -> Result<Bytes, Refusal> {
    server.raw((PROGRAM, VERSION, procedure), Credential::None, "127.0.0.1", xdr::to_bytes(arguments))
}

#[test]
fn monitor_requests_are_refused_and_state_is_returned() {
    let server = Server::new();
    let call_back = CallBack { name: "here".into(), program: 1, version: 1, procedure: 1 };
    let id = MonitorId { name: "there".into(), call_back: call_back.clone() };
    let failed = Ok(Bytes::from_static(&[0, 0, 0, 1, 0, 0, 0, 7]));
    assert_eq!(call(&server, 0, &()), Ok(Bytes::new()));
    assert_eq!(call(&server, 1, &MonitoredName("there".into())), failed);
    assert_eq!(call(&server, 2, &MonitorArgs { id: id.clone(), private: [0; 16] }), failed);
    assert_eq!(call(&server, 3, &id), Ok(Bytes::from_static(&[0, 0, 0, 7])));
    assert_eq!(call(&server, 4, &call_back), Ok(Bytes::from_static(&[0, 0, 0, 7])));
    for procedure in [5, 7] {
        assert_eq!(call(&server, procedure, &()), Err(Refusal::ProcedureUnavailable), "{procedure}");
    }
}

#[test]
fn arguments_that_are_none_are_garbage() {
    let server = Server::new();
    let long = StatChange { name: vec![b'x'; 1025].into(), state: 1 };
    assert_eq!(call(&server, 6, &long), Err(Refusal::GarbageArguments));
    for procedure in [1, 2, 3, 4, 6] {
        assert_eq!(call(&server, procedure, &7_u32), Err(Refusal::GarbageArguments), "{procedure}");
    }
}
