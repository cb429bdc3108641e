// The guide as a module: `redlock-runtime` shows it in its rustdoc, and `redlock-tests` compiles its
// snippets, as its dependencies have all that they use. Both include this file at their roots.
//
// A page is a file, and a name in the list below. It links to other pages by their names,
// `[text][tasks/waiting]`, and ends with the definitions of these names as paths, for mdBook and for
// readers of the file. In rustdoc, definitions that lead to the modules stand before the page: the
// first definition of a name counts. They are left out of doc tests, whose failures then name a page and
// its line. The test program `documents` compares this list, the definitions and `SUMMARY.md`.

macro_rules! pages {
    ($($(#[$about:meta])* $part:ident { $($page:ident)* })*) => {
        macro_rules! links {
            () => {
                concat!($($(
                    "[", stringify!($part), "/", stringify!($page), "]: crate::guide::",
                    stringify!($part), "::", stringify!($page), "\n",
                )*)* "\n")
            };
        }

        #[cfg_attr(not(doctest), doc = links!())]
        #[doc = include_str!("index.md")]
        pub mod guide {
            $(
                $(#[$about])*
                pub mod $part {
                    $(
                        #[cfg_attr(not(doctest), doc = links!())]
                        #[doc = include_str!(concat!(stringify!($part), "/", stringify!($page), ".md"))]
                        pub mod $page {}
                    )*
                }
            )*
        }
    };
}

pages! {
    /// From nothing to a lock in a handler.
    start { choosing first_lock kinds }
    /// A page a task.
    tasks {
        resources parameters waiting skipping permits reading several_keys object_style looking errors losing
        long_work elections nested_calls fencing transactions testing shutdown
    }
    /// What a lock promises, and a page a failure.
    understand {
        promises pause clock_jump restart late_message failover deleted_keys blocking_body debate history
    }
    /// For those who run the service.
    operate {
        servers managed acl tls your_own_client your_own_node replicas sentinel cluster clocks restarted_nodes fleet
        overrides watching readiness sizing runbook
    }
    /// Tables to look things up in.
    reference { attribute configuration lock_errors metrics events wire_format comparison neighbours }
    /// Coming from elsewhere.
    migrate { redlock_hyperf node_redlock rslock redisson shedlock }
}
