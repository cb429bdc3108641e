//! What an operator can do about a TLS connection that failed.

use std::io;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

use crate::model::resource::Shown;

/// This number of a certificate's names identifies it for readers.
const MOST_NAMES: usize = 4;

/// `None` if the error has nothing to do with TLS.
pub(in crate::redis) fn explain(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(reason) => certificate(reason),
        Error::AlertReceived(alert) => refusal(*alert),
        Error::InvalidMessage(_) => {
            "the server does not speak TLS on this port; write redis:// if that is intended"
                .to_owned()
        }
        Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => too_old(),
        other => format!("the TLS connection failed: {other}"),
    })
}

fn certificate(reason: &CertificateError) -> String {
    let server = "the server's certificate";
    match reason {
        CertificateError::UnknownIssuer => format!(
            "{server} is not trusted, its issuer is unknown; give the issuer's certificate as \
             `tls_ca` (if that is set, it has another issuer's)"
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<_> = presented
                .iter()
                .take(MOST_NAMES)
                .map(|name| bare(name))
                .collect();
            let names = match names.len() {
                0 => "nobody".to_owned(),
                _ => names.join(", "),
            };
            format!(
                "{server} is for {names}, not for {}; if that is the right server, give its name as \
                 `tls_server_name`",
                expected.to_str(),
            )
        }
        CertificateError::NotValidForName => {
            format!("{server} is for another host; see `tls_server_name`")
        }
        // Without the time: the log omits a line that is the same as the last one.
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("{server}, or that of its issuer, has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("{server} is not valid yet; is this host's clock right?")
        }
        // The usual result of `openssl req -x509`.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("{server} is that of a CA itself; give the server one that the CA issued")
        }
        other => format!("{server} is not valid: {other}"),
    }
}

/// `DnsName("host")` becomes `host`. The server chose the text, so it may contain anything.
fn bare(name: &str) -> String {
    let inner = name
        .split_once('(')
        .map_or(name, |(_, inner)| inner.strip_suffix(')').unwrap_or(inner));
    Shown(inner.trim_matches('"').as_bytes()).to_string()
}

fn refusal(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "the server wants a client certificate; give `tls_cert` and `tls_key`".to_owned()
        }
        // The alert of a TLS 1.2 server if the client's certificate is missing.
        AlertDescription::HandshakeFailure => {
            "the server refused the TLS handshake: it may want a client certificate, which \
             `tls_cert` and `tls_key` give, or the two have no cipher in common"
                .to_owned()
        }
        AlertDescription::ProtocolVersion => too_old(),
        AlertDescription::UnrecognisedName => {
            "the server has no certificate for this name; see `tls_server_name`".to_owned()
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            format!("the server does not accept the client certificate of `tls_cert`: {alert:?}")
        }
        other => format!("the server ended the TLS connection: {other:?}"),
    }
}

fn too_old() -> String {
    "the server speaks neither TLS 1.2 nor TLS 1.3".to_owned()
}
