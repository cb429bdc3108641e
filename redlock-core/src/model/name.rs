//! The types that can become a resource.

use std::borrow::Cow;
use std::fmt;

use crate::model::resource::Resource;

/// A name of a resource: a text or bytes, owned or borrowed. The library defines this trait so that `Vec<u8>` can be
/// one name and `Vec<String>` several.
///
/// ```
/// use redlock_core::Resource;
///
/// let (from, to) = (format!("account:{}", 1), format!("account:{}", 2));
/// let borrowed = Resource::from([&from, &to]);
/// assert_eq!(borrowed, Resource::from(vec![to, from]));
/// assert_eq!(borrowed, Resource::from([b"account:1".as_slice(), b"account:2"]));
/// ```
pub trait ResourceName {
    /// Returns the bytes of the name.
    fn as_name(&self) -> &[u8];
}

macro_rules! names {
    ($([$($generic:tt)*] $name:ty;)*) => {
        $(
            impl<$($generic)*> ResourceName for $name {
                fn as_name(&self) -> &[u8] {
                    self.as_ref()
                }
            }
        )*
    };
}

names! {
    [] str;
    [] String;
    [] [u8];
    [] Vec<u8>;
    [const N: usize] [u8; N];
}

impl<T: ResourceName + ?Sized> ResourceName for &T {
    fn as_name(&self) -> &[u8] {
        (**self).as_name()
    }
}

impl ResourceName for Cow<'_, str> {
    fn as_name(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<N: ResourceName> From<N> for Resource {
    fn from(name: N) -> Self {
        Self::all([name.as_name()])
    }
}

macro_rules! lists {
    ($([$($generic:tt)*] $list:ty;)*) => {
        $(
            impl<N: ResourceName, $($generic)*> From<$list> for Resource {
                fn from(names: $list) -> Self {
                    Self::all(names.iter().map(ResourceName::as_name))
                }
            }
        )*
    };
}

lists! {
    [const COUNT: usize] [N; COUNT];
    [const COUNT: usize] &[N; COUNT];
    [] &[N];
    [] Vec<N>;
    [] &Vec<N>;
}

/// Makes a name from a template: `Resource::from(format_args!("order:{id}"))`.
///
/// # Panics
/// If [`format!`] panics, because a value fails to format.
impl From<fmt::Arguments<'_>> for Resource {
    fn from(template: fmt::Arguments<'_>) -> Self {
        Self::from(fmt::format(template))
    }
}

impl From<&Resource> for Resource {
    fn from(resource: &Resource) -> Self {
        resource.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_is_several_and_bytes_are_one() {
        let both = Resource::all(["a", "b"]);
        let owned = vec!["b".to_owned(), "a".to_owned()];
        let part: Cow<'_, str> = Cow::Borrowed("a");
        for several in [
            Resource::from(["a", "b"]),
            Resource::from(&["a", "b"]),
            Resource::from(["a".to_owned(), "b".to_owned()]),
            Resource::from([&owned[0], &owned[1]]),
            Resource::from(&owned),
            Resource::from(&owned[..]),
            Resource::from(vec!["a", "b"]),
            Resource::from([b"a", b"b"]),
            Resource::from(vec![b"a".to_vec(), b"b".to_vec()]),
            Resource::from([part, Cow::Owned("b".to_owned())]),
            Resource::from(owned),
        ] {
            assert_eq!(several, both);
        }
        let one = Resource::all(["ab"]);
        for bytes in [
            Resource::from(b"ab"),
            Resource::from(&b"ab"[..]),
            Resource::from(b"ab".to_vec()),
            Resource::from(vec![b'a', b'b']),
            Resource::from(["ab"]),
            Resource::from(format_args!("a{}", "b")),
        ] {
            assert_eq!(bytes, one);
        }
    }
}
