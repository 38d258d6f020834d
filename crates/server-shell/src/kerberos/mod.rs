//! Kerberos of a server, as a configuration asks for it (RFC 2203, RFC 4121).

mod accounts;
mod surroundings;
mod table;

pub use table::{KerberosTable, PrincipalTable};

use std::sync::Arc;

use gssapi::{Acceptor, Library};
use krb5::KerberosAcceptor;
use rpc::auth::gss::{GssAuthenticator, GssLimits};
use vfs::local::restore_thread_identity;

use accounts::Accounts;
use surroundings::ShellSurroundings;

/// Why there is no Kerberos: one sentence with the cause and the mend.
#[derive(Debug, thiserror::Error)]
pub enum KerberosError {
    /// The library cannot be used, or has no key of the service.
    #[error("Kerberos cannot be used: {0}")]
    Library(#[from] gssapi::Error),
    /// A principal is given to an account that there is not.
    #[error("[kerberos] gives {principal} to {account}, and this host has no such account")]
    NoAccount {
        /// The principal.
        principal: String,
        /// The name of the account.
        account: String,
    },
}

/// Makes the judge of calls with Kerberos. It reads the keytab and asks the name service for accounts that
/// the table names.
pub(super) fn authenticator(table: &KerberosTable) -> Result<Arc<GssAuthenticator>, KerberosError> {
    let library = Library::load()?;
    let acceptor = Acceptor::new(&library, table.service(), table.keytab.as_deref())?;
    let names = Accounts::new(library, &table.user)?;
    let acceptor = KerberosAcceptor::new(acceptor, take_back_identity);
    let surroundings = Arc::new(ShellSurroundings::new());
    let limits = GssLimits::default();
    Ok(Arc::new(GssAuthenticator::new(Arc::new(acceptor), Arc::new(names), surroundings, &limits)))
}

/// A thread that has waited for a caller's request may have the caller's rights.
fn take_back_identity() {
    if let Err(error) = restore_thread_identity() {
        tracing::error!(%error, "a thread keeps the rights of a caller");
    }
}
