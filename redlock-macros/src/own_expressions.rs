//! What a block returns and awaits itself: not in a closure, an `async` block or an item in it.

use proc_macro2::{Span, TokenStream};
use syn::parse::Parser as _;
use syn::visit::{self, Visit};
use syn::{Block, ExprAsync, ExprAwait, ExprClosure, ExprReturn, Item};

#[derive(Default)]
pub(crate) struct OwnExpressions {
    /// The first `return`.
    pub first_return: Option<Span>,
    pub has_await: bool,
}

impl OwnExpressions {
    /// Those of these statements. None if syn cannot read them.
    pub(crate) fn of(statements: TokenStream) -> Self {
        let mut own = Self::default();
        for statement in Block::parse_within.parse2(statements).unwrap_or_default() {
            own.visit_stmt(&statement);
        }
        own
    }
}

impl<'ast> Visit<'ast> for OwnExpressions {
    fn visit_expr_return(&mut self, expression: &'ast ExprReturn) {
        let span = expression.return_token.span;
        self.first_return.get_or_insert(span);
        visit::visit_expr_return(self, expression);
    }

    fn visit_expr_await(&mut self, expression: &'ast ExprAwait) {
        self.has_await = true;
        visit::visit_expr_await(self, expression);
    }

    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'ast ExprAsync) {}

    fn visit_item(&mut self, _: &'ast Item) {}
}
