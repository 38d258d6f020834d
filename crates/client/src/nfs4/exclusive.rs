//! Exclusive creation (RFC 8881 §18.16.3): OPEN with EXCLUSIVE4_1, and SETATTR of the times in the same
//! COMPOUND.
//!
//! Servers keep the verifier in the times of the new file until they are set. Once they are, a repeated
//! OPEN is answered NFS4ERR_EXIST, so the server is asked to keep the reply. A server that has lost it with
//! the session is asked again with the same verifier: it makes the file, or finds that it has made it, and
//! sets the times; or it has set them before, and the outcome is uncertain.

use proto::nfs4::attributes::{AttributeValues, SetTime};
use proto::nfs4::{CreateHow, OpenArgs, Operation, StateId, Status};

use super::compound::status_of;
use super::send::Kind;
use crate::error::{Error, Result};
use crate::open::OpenOptions;

/// The times that replace the verifier: those of the server.
pub(super) fn times() -> AttributeValues {
    AttributeValues {
        time_access_set: Some(SetTime::Server),
        time_modify_set: Some(SetTime::Server),
        ..AttributeValues::default()
    }
}

/// The attempts of one OPEN.
pub(super) struct Attempt {
    is_exclusive: bool,
    /// Why it is not known whether the file was made by an earlier attempt.
    doubt: Option<Error>,
}

impl Attempt {
    pub(super) fn new(options: &OpenOptions) -> Self {
        Self { is_exclusive: options.exclusive, doubt: None }
    }

    /// To open twice, as the same owner, is the same as once; an exclusive creation with SETATTR is not.
    pub(super) fn kind(&self) -> Kind {
        if self.is_exclusive { Kind::once(Operation::Open) } else { Kind::repeatable(Operation::Open) }
    }

    /// Prepares another attempt after an error.
    ///
    /// # Errors
    /// The error of the OPEN when another attempt is of no use.
    pub(super) fn after(
        &mut self,
        error: Error,
        args: &mut OpenArgs,
        set: &mut Option<(StateId, AttributeValues)>,
    ) -> Result<()> {
        if !self.is_exclusive {
            return Err(error);
        }
        match (status_of(&error), self.doubt.take()) {
            (Some(Status::Exists), Some(doubt)) => Err(doubt),
            // The server cannot set the mode together with the verifier (suppattr_exclcreat): SETATTR does.
            (Some(Status::AttributeNotSupported), doubt) => {
                let Some(CreateHow::Exclusive41(_, values)) = args.create.as_deref_mut() else {
                    return Err(error);
                };
                let Some(mode) = values.mode.take() else { return Err(error) };
                if let Some((_, values)) = set {
                    values.mode = Some(mode);
                }
                self.doubt = doubt;
                Ok(())
            }
            (None, None) if matches!(error, Error::UncertainOutcome { .. }) => {
                self.doubt = Some(error);
                Ok(())
            }
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proto::nfs4::attributes::AttributeValues;

    use super::super::open::open_args;
    use super::*;

    fn attempt() -> (Attempt, OpenArgs, Option<(StateId, AttributeValues)>) {
        let options = OpenOptions::new().write(true).create_new(true).mode(0o640).checked().unwrap();
        let args = open_args(&Bytes::from_static(b"f"), &options, 1, 0);
        (Attempt::new(&options), args, Some((StateId::ANONYMOUS, times())))
    }

    fn exists() -> Error {
        Error::server("OPEN", Status::Exists)
    }

    fn doubt() -> Error {
        Error::UncertainOutcome { operation: "OPEN" }
    }

    #[test]
    fn an_attempt_in_doubt_is_repeated_once_and_then_uncertain() {
        let (mut attempt, mut args, mut set) = attempt();
        assert!(!attempt.kind().repeatable, "the server keeps the reply");
        assert!(matches!(attempt.after(exists(), &mut args, &mut set), Err(Error::Server { .. })));
        let before = args.clone();
        attempt.after(doubt(), &mut args, &mut set).unwrap();
        assert_eq!(args, before, "with the same verifier");
        let outcome = attempt.after(exists(), &mut args, &mut set);
        assert!(matches!(outcome, Err(Error::UncertainOutcome { .. })), "the times were set before");
        attempt.after(doubt(), &mut args, &mut set).unwrap();
        assert!(attempt.after(doubt(), &mut args, &mut set).is_err(), "not for ever");
    }

    #[test]
    fn a_mode_that_the_server_cannot_create_with_is_set_with_the_times() {
        let (mut attempt, mut args, mut set) = attempt();
        attempt.after(Error::server("OPEN", Status::AttributeNotSupported), &mut args, &mut set).unwrap();
        let Some(CreateHow::Exclusive41(_, values)) = args.create.as_deref() else { panic!("{args:?}") };
        assert_eq!(*values, AttributeValues::default());
        assert_eq!(set.as_ref().unwrap().1, AttributeValues { mode: Some(0o640), ..times() });
        assert!(
            attempt.after(Error::server("OPEN", Status::AttributeNotSupported), &mut args, &mut set).is_err()
        );
    }
}
