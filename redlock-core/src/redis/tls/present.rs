//! TLS by the `redis` crate, with the certificates of the present files.

use std::io;

use ::redis::{Client, ConnectionAddr, RedisError, TlsCertificates};
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{CertificateError, Error};

use crate::env::caught::log;
use crate::model::invalid::Invalid;

use super::TlsOptions;
use super::files::certificates;

/// The TLS settings of the connections to a node's servers.
pub(in crate::redis) struct Tls {
    options: TlsOptions,
    /// The content of the files when it last made sense, and the last logged fault of newer files.
    last: Mutex<(TlsCertificates, String)>,
}

impl Tls {
    /// Reads the files.
    pub(in crate::redis) fn load(options: TlsOptions) -> Result<Self, Invalid> {
        let last = Mutex::new((certificates(&options)?, String::new()));
        Ok(Self { options, last })
    }

    /// What the crate has to know to connect to the server at `host`.
    pub(in crate::redis) fn address(
        &self,
        host: &str,
        port: u16,
    ) -> Result<ConnectionAddr, RedisError> {
        let address = ConnectionAddr::TcpTls {
            host: host.to_owned(),
            port,
            insecure: false,
            tls_params: None,
        };
        let client = Client::build_with_tls(address, self.present())?;
        Ok(client.get_connection_info().addr().clone())
    }

    /// The present files. If they cannot be used, the last usable ones: a certificate that is being
    /// replaced must not take a node away.
    pub(in crate::redis) fn present(&self) -> TlsCertificates {
        let read = certificates(&self.options);
        let (last, logged) = &mut *self.last.lock();
        let fault = read.map(|present| *last = present).err();
        let fault = fault.map_or_else(String::new, |fault| fault.to_string());
        if !fault.is_empty() && *logged != fault {
            log!(warn, reason = %fault, "the TLS files could not be loaded; the previous ones stay in use");
        }
        *logged = fault;
        last.clone()
    }
}

/// Two values with the same options are equal.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Eq for Tls {}

/// The crate takes the process's provider of cryptography, and rustls panics if there is none and the features of
/// the build do not single one out. So `ring` is provided, unless the application has chosen.
pub(in crate::redis) fn provide_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // It fails if another thread was faster, and then there is a provider too.
        let _ = ring::default_provider().install_default();
    }
}

/// `None` if the error is not one of TLS. The text has no time: the log omits a line that is the same as the last one.
pub(in crate::redis) fn tls_error(error: &io::Error) -> Option<String> {
    let reason = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => {
            "invalid peer certificate: it has expired".to_owned()
        }
        Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => {
            "invalid peer certificate: it is not valid yet".to_owned()
        }
        error => error.to_string(),
    };
    Some(format!("the TLS connection failed: {reason}"))
}
