//! A build without TLS.

use crate::model::invalid::Invalid;

use super::options::TlsOptions;

/// A build without TLS has no value of this type.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::redis) enum Tls {}

impl Tls {
    #[allow(clippy::unnecessary_wraps, reason = "as in a build with TLS")]
    pub(in crate::redis) fn system() -> Result<Self, Invalid> {
        Err(Invalid::new(
            "rediss:// needs TLS, which this build leaves out; enable the feature `tls` of \
             `redlock-runtime`",
        ))
    }

    pub(in crate::redis) fn load(_: TlsOptions) -> Result<Self, Invalid> {
        Self::system()
    }
}
