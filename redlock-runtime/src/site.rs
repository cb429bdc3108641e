//! Annotated functions, known at link time.

use std::borrow::Cow;
use std::fmt;

use crate::parameters::prelude::*;

/// One function under `#[redlock]`, as the attribute describes it.
///
/// ```
/// use redlock_runtime::{LockError, redlock};
///
/// #[redlock(resource = "shelf:{id}", retry_count = 0)]
/// async fn tidy(id: u32) -> Result<(), LockError> {
///     Ok(())
/// }
///
/// let sites = redlock_runtime::registry::sites();
/// let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).expect("it is linked");
/// assert_eq!(site.resource_template(), "shelf:{id}");
/// ```
#[derive(Clone, Copy)]
pub struct Site {
    module: &'static str,
    function: &'static str,
    file: &'static str,
    line: u32,
    column: u32,
    resource: &'static str,
    name: Option<&'static str>,
    pools: Option<&'static [&'static str]>,
    /// The parameters whose values are expressions. Only the call knows these values.
    at_call: &'static [&'static str],
    /// The ttl is one of them.
    pub(crate) has_own_ttl: bool,
    /// `if_locked = "skip"`.
    pub(crate) skips: bool,
    pub(crate) options: LockOptions,
}

for_each_parameter!(const_setters!(Site));

/// The attribute's side: made in a `static`, value by value.
// Hidden: only the expansion of the attribute calls them.
#[doc(hidden)]
impl Site {
    #[must_use]
    pub const fn new(
        module: &'static str,
        function: &'static str,
        file: &'static str,
        line: u32,
        column: u32,
        resource: &'static str,
    ) -> Self {
        let (name, pools, options) = (None, None, LockOptions::NONE);
        Self {
            module,
            function,
            file,
            line,
            column,
            resource,
            name,
            pools,
            at_call: &[],
            has_own_ttl: false,
            skips: false,
            options,
        }
    }

    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// The values of these parameters are given at the call.
    #[must_use]
    pub const fn at_call(mut self, names: &'static [&'static str]) -> Self {
        self.at_call = names;
        let mut index = 0;
        while index < names.len() {
            self.has_own_ttl |= matches!(names[index].as_bytes(), b"ttl");
            index += 1;
        }
        self
    }

    #[must_use]
    pub const fn pools(mut self, pools: &'static [&'static str]) -> Self {
        self.pools = Some(pools);
        self
    }

    #[must_use]
    pub const fn skip_if_locked(mut self) -> Self {
        self.skips = true;
        self
    }
}

/// Where a site is: the same for all instances of a generic function. Numbers come first, as they are
/// quick to compare.
pub(crate) type SourceLocation = (u32, u32, &'static str, &'static str, &'static str);

impl Site {
    pub(crate) fn place(&self) -> SourceLocation {
        (
            self.line,
            self.column,
            self.file,
            self.function,
            self.module,
        )
    }

    /// The site's name, as configuration and logs have it: what the attribute's `name` says, or
    /// `module_path::function`.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert!(site.site_name().ends_with("::tidy"));
    /// ```
    pub fn site_name(&self) -> Cow<'static, str> {
        match self.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("{}::{}", self.module, self.function)),
        }
    }

    /// `module_path::function`, whatever its name is.
    pub(crate) fn path(&self) -> impl fmt::Display {
        struct Path(&'static str, &'static str);

        impl fmt::Display for Path {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}::{}", self.0, self.1)
            }
        }

        Path(self.module, self.function)
    }

    /// The source file, as the compiler names it.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// println!("{}:{}", site.file(), site.line());
    /// ```
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line of the attribute.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert!(site.line() > 0);
    /// ```
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The resource's template, or the expression that makes it, as written.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert_eq!(site.resource_template(), "shelf:{id}");
    /// ```
    pub fn resource_template(&self) -> &'static str {
        self.resource
    }

    /// The parameters whose values are expressions, evaluated at each call.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert!(site.names_at_call().is_empty());
    /// ```
    pub fn names_at_call(&self) -> &'static [&'static str] {
        self.at_call
    }

    /// The pools that the attribute names; `None` means the default pools.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert_eq!(site.pool_names(), None);
    /// ```
    pub fn pool_names(&self) -> Option<&'static [&'static str]> {
        self.pools
    }
}

impl Site {
    /// What the attribute says.
    pub(crate) fn own_options(&self) -> LockOptions {
        let options = self.options;
        if self.skips {
            // Whoever skips the work does not wait for it, unless the attribute says so itself.
            return options.above(LockOptions::new().retry_count(0));
        }
        options
    }
}

/// `shop::charge (src/orders.rs:12:1)`
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` ({}:{}:{})",
            self.site_name(),
            self.file,
            self.line,
            self.column
        )
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Site({self}, resource: {:?}, pools: {:?})",
            self.resource, self.pools
        )
    }
}

/// How a site gets into the list.
// Hidden: only the expansion of the attribute names it.
#[doc(hidden)]
pub struct Registration(pub &'static Site);

inventory::collect!(Registration);

/// All functions under `#[redlock]` that are linked into this program, in the order of their
/// source.
///
/// ```
/// for site in redlock_runtime::registry::sites() {
///     println!("{site} locks {}", site.resource_template());
/// }
/// ```
pub fn sites() -> Vec<&'static Site> {
    let mut sites: Vec<_> = inventory::iter::<Registration>()
        .map(|site| site.0)
        .collect();
    sites.sort_by_key(|site| (site.file, site.place()));
    // A generic function registers once for each instance that the compiler makes of it.
    sites.dedup_by_key(|site| site.place());
    sites
}
