//! Resources: the names under which locks are taken.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::model::invalid::Invalid;

/// The longest name of a resource, in bytes. The key prefix does not count.
pub const MAX_RESOURCE_BYTES: usize = 1024;

/// The largest number of names of one lock. A server checks all of them in one command, and serves no other client
/// during that time.
pub const MAX_NAMES: usize = 128;

/// The prefix of the library's own keys.
pub const RESERVED_PREFIX: &[u8] = b"redlock:";

/// Names that are locked together, or not at all. Any bytes are allowed.
///
/// Several names are kept in one canonical order without duplicates. So callers that name the same resources in
/// different orders ask the nodes the same question.
///
/// A [name](crate::request::ResourceName), an array, a slice or a `Vec` of names becomes a resource by `From`. An
/// iterator becomes one by [`Resource::all`].
///
/// # Example: a text, bytes, several
/// ```
/// use redlock_core::Resource;
///
/// assert_eq!(Resource::from("order:42"), Resource::from(b"order:42".as_slice()));
/// assert_eq!(Resource::from(["a", "b"]), Resource::from(["b", "a", "b"]));
///
/// let ids = [7, 8];
/// let items = Resource::all(ids.iter().map(|id| format!("item:{id}")));
/// assert_eq!(items, Resource::from(vec!["item:8", "item:7"]));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(SmallVec<[Arc<[u8]>; 1]>);

impl Resource {
    /// Makes a resource of all `names`.
    pub fn all<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| Arc::from(name.as_ref()));
        Self::of(names)
    }

    /// Makes a resource that shares all `names`.
    pub(crate) fn of(names: impl IntoIterator<Item = Arc<[u8]>>) -> Self {
        let mut names: SmallVec<_> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    pub(crate) fn shared_names(&self) -> &[Arc<[u8]>] {
        &self.0
    }

    /// Returns the names, in canonical order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.shared_names().iter().map(|name| &**name)
    }

    /// Returns the keys on the nodes: this resource with `prefix` before each name.
    #[must_use]
    pub fn with_prefix(&self, prefix: &[u8]) -> Self {
        if prefix.is_empty() {
            return self.clone();
        }
        // Names with a common prefix stay in order.
        Self::all(self.names().map(|name| [prefix, name].concat()))
    }

    /// Checks the limits of the wire format.
    ///
    /// # Errors
    /// [`Invalid`] if the resource has no names or more than [`MAX_NAMES`]. A name is invalid if it is empty, longer
    /// than [`MAX_RESOURCE_BYTES`], or begins with [`RESERVED_PREFIX`].
    pub fn check(&self) -> Result<(), Invalid> {
        let count = self.names().len();
        if count == 0 {
            return Err(Invalid::new(
                "the resource is an empty list; name at least one",
            ));
        }
        if count > MAX_NAMES {
            return Err(Invalid::new(format!(
                "the resource `{self}` has more than the {MAX_NAMES} names allowed, as a server \
                 serves no other client while it checks them all; lock what they have in common, or \
                 fewer of them at a time",
            )));
        }
        for name in self.names() {
            if name.is_empty() {
                return Err(Invalid::new(
                    "the resource's name is empty; give it 1 to 1024 bytes",
                ));
            }
            if name.len() > MAX_RESOURCE_BYTES {
                return Err(Invalid::new(format!(
                    "the resource `{}` has {} bytes, more than the {MAX_RESOURCE_BYTES} allowed; \
                     write its long part as `{{name:part}}`, or make it with `Resource::part`",
                    Shown(name),
                    name.len(),
                )));
            }
            if name.starts_with(RESERVED_PREFIX) {
                return Err(Invalid::new(format!(
                    "the resource `{}` begins with `redlock:`, which is reserved for the \
                     library's own keys; choose another name",
                    Shown(name),
                )));
            }
        }
        Ok(())
    }
}

/// Writes the names for people: printable, shortened, and joined by ` + `.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names().enumerate() {
            if index > 0 {
                f.write_str(" + ")?;
            }
            if index == 4 {
                return write!(f, "… ({} in all)", self.names().len());
            }
            Shown(name).fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({self})")
    }
}

/// Bytes from outside, made safe for a log line. Control characters, quotes and invalid UTF-8 are escaped, and long
/// names are cut.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.0, 96)
    }
}

/// Writes at most `most` characters of `bytes`. Control characters, backticks and invalid UTF-8 are escaped.
pub(crate) fn write_escaped(f: &mut fmt::Formatter<'_>, bytes: &[u8], most: usize) -> fmt::Result {
    let mut shown = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if shown == most {
                return f.write_str("…");
            }
            shown += 1;
            if c.is_control() || c == '`' {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        for byte in chunk.invalid() {
            if shown == most {
                return f.write_str("…");
            }
            shown += 1;
            write!(f, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_names_are_ordered_and_collapsed() {
        let resource = Resource::all(["b", "a", "b"]);
        assert_eq!(resource.names().collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(Resource::all(["x", "x"]), Resource::from("x"));
        assert_ne!(Resource::all(["ab", "c"]), Resource::all(["a", "bc"]));
    }

    #[test]
    fn names_outside_the_limits_are_refused_with_a_reason() {
        let refusal = |resource: Resource| resource.check().unwrap_err().to_string();
        assert!(refusal("".into()).contains("empty"));
        assert!(refusal(Vec::<String>::new().into()).contains("an empty list"));
        assert!(refusal(Resource::all(["a", ""])).contains("empty"));
        assert!(refusal(vec![b'x'; 1025].into()).contains("1025 bytes"));
        assert!(refusal("redlock:mark".into()).contains("reserved"));
        assert!(Resource::from(vec![0xff; 1024]).check().is_ok());
        assert!(Resource::from("redlock").check().is_ok());

        let of = |count: usize| Resource::all((0..count).map(|n| n.to_string()));
        assert!(of(MAX_NAMES).check().is_ok());
        assert_eq!(
            refusal(of(MAX_NAMES + 1)),
            "the resource `0 + 1 + 10 + 100 + … (129 in all)` has more than the 128 names allowed, \
             as a server serves no other client while it checks them all; lock what they have in \
             common, or fewer of them at a time",
        );
        let twice = (0..2 * MAX_NAMES).map(|n| (n % MAX_NAMES).to_string());
        assert!(Resource::all(twice).check().is_ok(), "no name counts twice");
    }

    #[test]
    fn a_hostile_name_is_shown_on_one_short_line() {
        let shown = Resource::from(b"a\n\x1b[31m\xff`".as_slice()).to_string();
        assert_eq!(shown, "a\\u{a}\\u{1b}[31m\\xff\\u{60}");
        assert!(Resource::from(vec![b'x'; 1_000_000]).to_string().len() < 128);
        let many = Resource::all((0..100).map(|n| n.to_string()));
        assert!(many.to_string().contains("100 in all"));
    }
}
