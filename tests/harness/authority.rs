//! Certificates of a test's own.

use crate::temp_dir::TempDir;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A certificate authority, with a directory of its own for what it issues. It has to outlive the
/// servers that use the files.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    ca: PathBuf,
    issued: AtomicU32,
    dir: TempDir,
}

/// A certificate and its private key, as PEM files.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Identity {
    /// Puts `other`'s certificate and key into these files, as a rotation does.
    pub fn replace_by(&self, other: &Self) {
        replace(&self.certificate, &other.certificate);
        replace(&self.key, &other.key);
    }
}

impl Authority {
    /// A new authority that no client trusts yet.
    pub fn new() -> Self {
        let dir = TempDir::new();
        let key = KeyPair::generate().expect("randomness");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let names = &mut params.distinguished_name;
        names.push(
            DnType::CommonName,
            format!("CA at {}", dir.path().display()),
        );
        let certificate = params.self_signed(&key).expect("good parameters");
        let ca = write(dir.path(), "ca.pem", &certificate.pem());
        Self {
            issuer: Issuer::new(params, key),
            ca,
            issued: AtomicU32::new(0),
            dir,
        }
    }

    /// Returns the file with its own certificate.
    pub fn ca(&self) -> &Path {
        &self.ca
    }

    /// Returns a certificate for a server with these names and addresses, or for a client.
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.sign(names, |_| {})
    }

    /// Returns a certificate that expired years ago.
    pub fn issue_expired(&self, names: &[&str]) -> Identity {
        self.sign(names, |params| params.not_after = date_time_ymd(2020, 1, 1))
    }

    fn sign(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("good names");
        change(&mut params);
        let key = KeyPair::generate().expect("randomness");
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.expect("good parameters");
        let n = self.issued.fetch_add(1, Ordering::Relaxed);
        Identity {
            certificate: write(self.dir.path(), &format!("{n}.pem"), &certificate.pem()),
            key: write(self.dir.path(), &format!("{n}.key"), &key.serialize_pem()),
        }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).expect("the authority's directory can be written");
    path
}

fn replace(file: &Path, by: &Path) {
    fs::copy(by, file).expect("the authority's directory can be written");
}
