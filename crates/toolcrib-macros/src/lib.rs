//! `#[module]` and `#[tool]`: the declaration of a Rust function makes its tool.
//!
//! They are written against `toolcrib-sdk`, which offers them as `toolcrib_sdk::{module, tool}` together with all that
//! the code they make needs. What they do is described there; here it is only how:
//!
//! - `options` reads what stands in the parentheses of an attribute, and names a mistake at its place;
//! - `signature` tells arguments from what is filled in, and both from what cannot be a tool;
//! - `expansion` writes the code of one tool, `module` that of an `impl` block, `function` that of a free function.
//!
//! Nothing here runs when a tool is called.

mod options;
mod signature;

mod expansion;
mod function;
mod module;

use proc_macro::TokenStream;

/// Makes a module of an `impl` block: its methods with `#[tool]` are the tools. See the documentation of `toolcrib-sdk`.
#[proc_macro_attribute]
pub fn module(options: TokenStream, item: TokenStream) -> TokenStream {
    module::expand(options.into(), &item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a tool of a function: a method in a block with `#[module]`, or a free function. See the documentation of
/// `toolcrib-sdk`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(options.into(), &item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
