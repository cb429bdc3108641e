//! A build without TLS.

use std::io;

use ::redis::{ConnectionAddr, RedisError};

use crate::model::invalid::Invalid;

use super::TlsOptions;

/// A build without TLS has no value of this type.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::redis) enum Tls {}

impl Tls {
    pub(in crate::redis) fn load(_: TlsOptions) -> Result<Self, Invalid> {
        Err(Invalid::new(
            "TLS is not part of this build; enable the feature `tls` of `redlock-runtime`",
        ))
    }

    pub(in crate::redis) fn address(&self, _: &str, _: u16) -> Result<ConnectionAddr, RedisError> {
        match *self {}
    }
}

pub(in crate::redis) fn provide_cryptography() {}

pub(in crate::redis) fn tls_error(_: &io::Error) -> Option<String> {
    None
}
