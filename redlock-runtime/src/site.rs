//! Annotated functions, known at link time.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::OnceLock;

use parking_lot::RwLock;
use redlock_core::Resource;

use crate::parameters::prelude::*;
use crate::text::function_path;

/// One function under `#[redlock]`, as the attribute describes it; or the locks of one
/// [name](crate::Lock::name) in the object style.
///
/// A site is its address: it is a `static` of the function, and all instances of a generic function share
/// it. Several sites may have the same name, and those that one call of a `macro_rules!` macro makes are
/// on the same line too.
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
pub struct Site {
    /// The compiler's name of an item in the function.
    item: fn() -> &'static str,
    path: OnceLock<String>,
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
    /// True if the ttl is an expression.
    pub(crate) has_own_ttl: bool,
    /// True if `if_locked = "skip"` is set.
    pub(crate) skips: bool,
    /// True if the resource is a list of several templates.
    has_several_names: bool,
    pub(crate) options: LockOptions,
}

for_each_parameter!(const_setters!(Site));

/// Makes a site in a `static`, value by value.
// Hidden: only the expansion of the attribute calls them.
#[doc(hidden)]
impl Site {
    /// `here` is a closure in the function. The name of its type tells the path of the function.
    #[must_use]
    pub const fn new<F: Copy>(
        _here: F,
        module: &'static str,
        function: &'static str,
        file: &'static str,
        line: u32,
        column: u32,
        resource: &'static str,
    ) -> Self {
        let (name, pools, options) = (None, None, LockOptions::NONE);
        Self {
            item: type_name::<F>,
            path: OnceLock::new(),
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
            has_several_names: false,
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
    pub const fn several_names(mut self) -> Self {
        self.has_several_names = true;
        self
    }

    #[must_use]
    pub const fn skip_if_locked(mut self) -> Self {
        self.skips = true;
        self
    }
}

/// What the macro writes between the templates of several names.
const SEVERAL: &str = " + ";

type Place = (&'static str, &'static str, u32, u32);

/// The sites of the names in the object style that were used so far.
static NAMED: RwLock<BTreeMap<Place, &'static Site>> = RwLock::new(BTreeMap::new());

/// Names of the object style.
impl Site {
    /// The site of locks in the object style that have this name, at this place of the source. The site is
    /// made once and kept: there are no more sites than the source has places and names.
    pub(crate) fn named(name: &'static str, at: &'static Location<'static>) -> &'static Self {
        let place = (name, at.file(), at.line(), at.column());
        if let Some(site) = NAMED.read().get(&place) {
            return site;
        }
        let mut named = NAMED.write();
        named.entry(place).or_insert_with(|| {
            let (file, line, column) = (at.file(), at.line(), at.column());
            let site = Self::new(|| (), "", "", file, line, column, "").name(name);
            Box::leak(Box::new(site))
        })
    }
}

impl Site {
    /// The address, which tells the site from other sites. Two `static`s never have the same address.
    pub(crate) fn address(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The site's name, as configuration and logs have it: what the attribute's `name` says, or the path
    /// of the function. The path is `module::function`, for a method `module::Type::method`, and for a
    /// function in another one `module::outer::function`. It has no generic arguments, and of the methods
    /// of a trait only the default ones have the trait's name, in the place of the type's.
    ///
    /// ```
    /// # #[redlock_runtime::redlock(resource = "shelf:{id}", retry_count = 0)]
    /// # async fn tidy(id: u32) -> Result<(), redlock_runtime::LockError> { Ok(()) }
    /// # let sites = redlock_runtime::registry::sites();
    /// # let site = sites.iter().find(|site| site.site_name().ends_with("::tidy")).unwrap();
    /// assert!(site.site_name().ends_with("::tidy"));
    /// ```
    pub fn site_name(&self) -> &str {
        self.name.or_else(|| self.path()).unwrap_or_default()
    }

    /// The path of the function, also if it has a name; `None` for a [named](Self::named) lock.
    pub(crate) fn path(&self) -> Option<&str> {
        let path = || function_path((self.item)(), self.module, self.function);
        let is_function = !self.function.is_empty();
        is_function.then(|| self.path.get_or_init(path).as_str())
    }

    /// `src/orders.rs:12:1`
    pub(crate) fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// The compiler's name of the function, with generic arguments.
    pub(crate) fn full_path(&self) -> &'static str {
        let item = (self.item)();
        if let Some(end) = item.rfind(&format!("::{}::", self.function)) {
            return &item[..end + 2 + self.function.len()];
        }
        let around = item
            .rsplit_once("::__SITE")
            .map_or(item, |(around, _)| around);
        around.trim_end_matches("::{{closure}}")
    }

    /// The source file of the attribute, or of the call of [`Lock::name`](crate::Lock::name).
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

    /// The line of the attribute, or of the call of [`Lock::name`](crate::Lock::name).
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

    /// The resource's template, or the expression that makes it, as written. Empty for a name of the
    /// object style.
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
    /// The resource for a check before any call. The names are templates, and as many as a call has if the
    /// attribute lists several.
    pub(crate) fn sample_resource(&self) -> Resource {
        if self.has_several_names {
            Resource::all(self.resource.split(SEVERAL))
        } else {
            Resource::from("check")
        }
    }

    /// The parameters that the attribute sets.
    pub(crate) fn own_options(&self) -> LockOptions {
        let options = self.options;
        if self.skips {
            // A caller that skips the work does not wait for the lock, unless the attribute says so.
            return options.above(LockOptions::new().retry_count(0));
        }
        options
    }
}

/// `shop::charge (src/orders.rs:12:1)`
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.site_name(), self.place())
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

/// Puts a site into the list of all sites.
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
    let registered = inventory::iter::<Registration>();
    let mut sites: Vec<_> = registered.into_iter().map(|site| site.0).collect();
    sites.sort_by_key(|site| (site.file, site.line, site.column, site.site_name()));
    sites
}
