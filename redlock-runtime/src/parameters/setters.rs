//! Macros that make setters from the table of parameters.

/// Makes a setter for each parameter. For example, `for_each_parameter!(setters!(LockBuilder<L>, it => it.0.options));` makes
/// those of `LockBuilder`. The expression is the place of its options.
macro_rules! setters {
    (($owner:ident $(<$of:ident>)?, $it:ident => $options:expr) $(
        $(#[$doc:meta])+
        $name:ident: $type:ty
            $(, from $from:ty)? $(, default $default:expr)? $(, instead of $other:ident)?
            $(, kind $kind:expr)?;
    )+) => {
        impl $(<$of>)? $owner $(<$of>)? {
            $( $crate::parameters::setter! {
                $owner.$name: $crate::parameters::argument!($type $(, from $from)?),
                $it => $options $(, instead of $other)?;
                $(#[$doc])+
            } )+
        }
    };
}

/// Makes one setter. Leaves out `fencing` of `LockBuilder`: it is in `lock.rs`, because it changes the lock's type.
macro_rules! setter {
    (LockBuilder.fencing: $($setter:tt)+) => {};
    (
        $owner:ident.$name:ident: $argument:ty,
        $it:ident => $options:expr $(, instead of $other:ident)?;
        $(#[$doc:meta])+
    ) => {
        $(#[$doc])+
        pub fn $name(mut self, $name: $argument) -> Self {
            let $it = &mut self;
            $options.$name = Some($name.into());
            $( $options.$other = None; )?
            self
        }
    };
}

/// Makes the setters of `SiteBuilder`. They are `const`, because the attribute makes a `Site` in a `static`.
macro_rules! const_setters {
    (($owner:ident) $(
        $(#[$doc:meta])+
        $name:ident: $type:ty
            $(, from $from:ty)? $(, default $default:expr)? $(, instead of $other:ident)?
            $(, kind $kind:expr)?;
    )+) => {
        impl $owner {
            $(
                $(#[$doc])+
                #[must_use]
                pub const fn $name(mut self, $name: $type) -> Self {
                    self.0.options.$name = Some($name);
                    $( self.0.options.$other = None; )?
                    self
                }
            )+
        }
    };
}

/// The argument type of a setter.
macro_rules! argument {
    ($type:ty) => {
        $type
    };
    ($type:ty, from $from:ty) => {
        $from
    };
}

pub(crate) use {argument, const_setters, setter, setters};
