//! Sites: the annotated functions, collected at link time, and the places of locks in the object style.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

use parking_lot::RwLock;
use redlock_core::Resource;
use redlock_core::error::Invalid;

use crate::parameters::prelude::*;

/// A function under `#[redlock]`, as the attribute describes it. In the object style: the locks of one
/// [name](crate::LockBuilder::name), or of one place in the source.
///
/// Two values are the same site if they are equal. All instances of a generic function share one site. So do the copies
/// that another attribute makes of a function, such as `#[axum::debug_handler]`. One call of a `macro_rules!` macro can
/// make several sites on one line.
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
/// let site = sites.iter().find(|site| site.name().ends_with("::tidy")).expect("it is linked");
/// assert_eq!(site.resource_template(), "shelf:{id}");
/// ```
#[derive(PartialEq)]
pub struct Site {
    /// The function's path, `module::function`, even if the site has another name; `None` for the object style.
    pub(crate) function: Option<&'static str>,
    name: &'static str,
    file: &'static str,
    line: u32,
    column: u32,
    resource: &'static str,
    pools: Option<&'static [&'static str]>,
    /// The parameters whose values are expressions. Only the call knows these values.
    at_call: &'static [&'static str],
    /// True if `if_locked = "skip"` is set.
    pub(crate) skips: bool,
    /// The function's parameters, if the resource is an expression.
    parameters: &'static [&'static str],
    /// True if the resource is a list of several templates.
    has_several_names: bool,
    pub(crate) options: LockOptions,
}

/// Writes setters of `SiteBuilder`. A row has the setter's documentation and argument, and the field with its value.
macro_rules! site_setters {
    ($($(#[$doc:meta])+ $name:ident($($of:ident: $type:ty)?) sets $field:ident to $value:expr;)+) => { $(
        $(#[$doc])+
        #[must_use]
        pub const fn $name(mut self $(, $of: $type)?) -> Self {
            self.0.$field = $value;
            self
        }
    )+ };
}

/// Makes a site in a `static`, value by value.
// Hidden, because only the expansion of the attribute names this type.
#[doc(hidden)]
pub struct SiteBuilder(Site);

for_each_parameter!(const_setters!(SiteBuilder));

impl SiteBuilder {
    /// Begins the site of the function with the path `function`. `resource` is the template, or the expression as written.
    #[must_use]
    pub const fn new(
        function: &'static str,
        file: &'static str,
        line: u32,
        column: u32,
        resource: &'static str,
    ) -> Self {
        let (pools, options) = (None, LockOptions::NONE);
        Self(Site {
            function: Some(function),
            name: function,
            file,
            line,
            column,
            resource,
            pools,
            at_call: &[],
            parameters: &[],
            skips: false,
            has_several_names: false,
            options,
        })
    }

    #[must_use]
    pub const fn site(self) -> Site {
        self.0
    }

    site_setters! {
        /// Names the site.
        name(name: &'static str) sets name to name;

        /// Names the parameters whose values are expressions, which each call evaluates.
        at_call(names: &'static [&'static str]) sets at_call to names;

        /// Names the pools of the lock.
        pools(pools: &'static [&'static str]) sets pools to Some(pools);

        /// Says that the resource is an expression, and names the function's parameters.
        parameters(names: &'static [&'static str]) sets parameters to names;

        /// Says that the resource is a list of several templates.
        several_names() sets has_several_names to true;

        /// Says that a call is skipped while another caller holds the lock.
        skip_if_locked() sets skips to true;
    }
}

/// The text that the macro writes between the templates of several names.
const SEVERAL: &str = " + ";

/// Identifies a site in the object style.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SiteKey {
    name: Option<&'static str>,
    file: &'static str,
    line: u32,
    column: u32,
}

/// The sites in the object style that were used so far.
static USED: RwLock<BTreeMap<SiteKey, &'static Site>> = RwLock::new(BTreeMap::new());

/// Sites in the object style. Each site is made once and kept until the process ends. Their number is bounded by the places
/// and the names in the source.
impl Site {
    /// Returns the site of an unnamed call at this place of the source. Its name is the file and the line.
    pub(crate) fn at(at: &'static Location<'static>) -> &'static Self {
        SiteKey {
            name: None,
            file: at.file(),
            line: at.line(),
            column: at.column(),
        }
        .site()
    }

    /// Returns the site with this name at the place of `self`.
    pub(crate) fn named(&self, name: &'static str) -> &'static Self {
        SiteKey {
            name: Some(name),
            file: self.file,
            line: self.line,
            column: self.column,
        }
        .site()
    }
}

impl SiteKey {
    /// Returns the site of this key, and makes it at the first use.
    fn site(self) -> &'static Site {
        if let Some(site) = USED.read().get(&self) {
            return site;
        }
        let Self { file, line, .. } = self;
        USED.write().entry(self).or_insert_with(|| {
            let name = self.name.unwrap_or_else(|| format!("{file}:{line}").leak());
            Box::leak(Box::new(Site {
                function: None,
                ..SiteBuilder::new(name, file, line, self.column, "").site()
            }))
        })
    }
}

impl Site {
    /// Refuses the text of an expression that was meant as a template. Such a text has a parameter's name in braces, so all
    /// calls would share one lock.
    ///
    /// # Errors
    /// [`Invalid`], with the placeholder and what to write.
    pub(crate) fn check_replaced(&self, resource: &Resource) -> Result<(), Invalid> {
        let is_parameter = |inside: &&str| {
            let root = inside.split(['.', ':']).next().unwrap_or_default().trim();
            let root = root.strip_prefix("r#").unwrap_or(root);
            self.parameters.contains(&root)
        };
        let texts = resource.names().filter(|_| !self.parameters.is_empty());
        let found = texts.filter_map(|name| {
            let text = std::str::from_utf8(name).ok()?;
            let inside = text.split('{').skip(1);
            let mut inside = inside.filter_map(|rest| Some(rest.split_once('}')?.0));
            inside.find(is_parameter)
        });
        found.take(1).try_for_each(|inside| {
            Err(Invalid::new(format!(
                "`{{{inside}}}` in it is plain text, because only a literal in the attribute is a template, so \
                 all calls would share one lock; write the template as the literal `resource = \"…{{{inside}}}\"`, \
                 or use `format!`",
            )))
        })
    }

    /// Returns the address of the `static`. Equal sites may have different addresses.
    pub(crate) fn address(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns the site's name in configuration and logs. The attribute's `name` or
    /// [`LockBuilder::name`](crate::LockBuilder::name) sets it. The default is the function's path, `module::function`, and
    /// in the object style the file and the line, `src/orders.rs:12`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the place in the source, such as `src/orders.rs:12:1`.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// Returns the source file of the attribute, or of the call of [`lock`](crate::lock()).
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// Returns the line of the attribute, or of the call of [`lock`](crate::lock()).
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the resource's template as written, or the expression that makes the resource. The text is empty in the
    /// object style.
    pub fn resource_template(&self) -> &'static str {
        self.resource
    }

    /// Returns the names of the parameters whose values are expressions, which each call evaluates.
    pub fn parameters_at_call(&self) -> &'static [&'static str] {
        self.at_call
    }

    /// Returns the pools that the attribute names, or `None` if the lock uses the default pools.
    pub fn pools(&self) -> Option<&'static [&'static str]> {
        self.pools
    }
}

impl Site {
    /// Returns a resource for checks before any call. If the attribute lists several names, the resource has their
    /// templates as its names, because the number of names matters.
    pub(crate) fn sample_resource(&self) -> Resource {
        if self.has_several_names {
            Resource::all(self.resource.split(SEVERAL))
        } else {
            Resource::from("check")
        }
    }

    /// Returns the parameters that the attribute sets.
    pub(crate) fn own_options(&self) -> LockOptions {
        let options = self.options;
        if self.skips {
            // A caller that may skip the work makes a single attempt, unless the attribute says otherwise.
            return options.above(LockOptions::new().retry_count(0));
        }
        options
    }
}

/// Shows name and place, as `` `shop::charge` (src/orders.rs:12:1) ``. Without a name, shows the place alone.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        if place.starts_with(self.name) {
            write!(f, "`{place}`")
        } else {
            write!(f, "`{}` ({place})", self.name)
        }
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
// Hidden, because only the expansion of the attribute names this type.
#[doc(hidden)]
pub struct Registration(pub &'static Site);

inventory::collect!(Registration);

/// Returns all annotated functions that are linked into this program, in the order of their source.
///
/// ```
/// for site in redlock_runtime::registry::sites() {
///     println!("{site} locks {}", site.resource_template());
/// }
/// ```
pub fn sites() -> Vec<&'static Site> {
    let mut sites = Vec::new();
    for site in statics() {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    sites.sort_by_key(|site| (site.file, site.line, site.column, site.name()));
    sites
}

/// Returns the `static` of each annotated function. A copy that another attribute made of a function has its own.
pub(crate) fn statics() -> impl Iterator<Item = &'static Site> {
    let registered = inventory::iter::<Registration>();
    registered.into_iter().map(|site| site.0)
}
