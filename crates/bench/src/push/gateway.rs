//! Where results are pushed to.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use hyper::header::HeaderValue;

/// The port of a Pushgateway.
const PORT: u16 = 9091;
/// What every path has that names a group.
const GROUP: &str = "/metrics/job/";
/// The group of who names none.
const JOB: &str = "primetime";

/// The group of a Pushgateway that results go to: `http://host:9091/metrics/job/primetime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway(Box<Parts>);

/// What an address says, as requests need it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    host: String,
    port: u16,
    host_header: HeaderValue,
    /// Path alone.
    uri: Uri,
}

/// Why an address is none of a Pushgateway, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// Not of the form.
    #[error("write http://host:{PORT}, or http://host:{PORT}{GROUP}NAME for a group of one's own")]
    Form,
    /// Encrypted.
    #[error("only http is spoken here; name an address with http, for example of a proxy that encrypts")]
    Scheme,
}

impl Gateway {
    /// Name or address, without brackets.
    pub(super) fn host(&self) -> &str {
        &self.0.host
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port
    }

    pub(super) fn host_header(&self) -> HeaderValue {
        self.0.host_header.clone()
    }

    /// What stands in the request.
    pub(super) fn uri(&self) -> &Uri {
        &self.0.uri
    }
}

impl FromStr for Gateway {
    type Err = GatewayError;

    fn from_str(text: &str) -> Result<Self, GatewayError> {
        let uri: Uri = text.parse().map_err(|_| GatewayError::Form)?;
        if uri.scheme_str() == Some("https") {
            return Err(GatewayError::Scheme);
        }
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let authority =
            authority.filter(|authority| !authority.host().is_empty()).ok_or(GatewayError::Form)?;
        if uri.scheme_str() != Some("http") || uri.query().is_some() {
            return Err(GatewayError::Form);
        }
        let path = uri.path().trim_end_matches('/');
        let path = if path.contains(GROUP) { path.to_owned() } else { format!("{path}{GROUP}{JOB}") };
        let (host, port) = (authority.host(), authority.port_u16().unwrap_or(PORT));
        Ok(Self(Box::new(Parts {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            host_header: HeaderValue::from_str(&format!("{host}:{port}")).map_err(|_| GatewayError::Form)?,
            uri: path.parse().map_err(|_| GatewayError::Form)?,
        })))
    }
}

impl fmt::Display for Gateway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host_header.to_str().unwrap_or(&self.0.host);
        write!(formatter, "http://{host}{}", self.0.uri.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_taken_as_it_is_and_made_where_there_is_none() {
        for (text, whole) in [
            ("http://gateway", "http://gateway:9091/metrics/job/primetime"),
            ("http://gateway:80/", "http://gateway:80/metrics/job/primetime"),
            ("http://[::1]:9091/push/", "http://[::1]:9091/push/metrics/job/primetime"),
            ("http://g/metrics/job/nightly/instance/a", "http://g:9091/metrics/job/nightly/instance/a"),
        ] {
            let gateway: Gateway = text.parse().unwrap();
            assert_eq!(gateway.to_string(), whole);
            assert_eq!(whole.parse(), Ok(gateway));
        }
        assert_eq!("http://[::1]".parse::<Gateway>().unwrap().host(), "::1");
    }

    #[test]
    fn invalid_gateway_address_is_refused() {
        assert_eq!("https://gateway".parse::<Gateway>(), Err(GatewayError::Scheme));
        for text in [
            "",
            "gateway",
            "gateway:9091",
            "/metrics",
            "ftp://gateway",
            "http://u:p@gateway",
            "http://g/?a=b",
            "http://",
        ] {
            assert_eq!(text.parse::<Gateway>(), Err(GatewayError::Form), "{text}");
        }
    }
}
