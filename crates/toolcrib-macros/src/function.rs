//! A free function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use crate::expansion;
use crate::options::ToolOptions;
use crate::signature::Shape;

/// The function as it is, and a type of its name whose `tool()` makes the tool: types and functions have names of their
/// own in Rust, so the two do not meet.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> syn::Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item.clone())
        .map_err(|_| syn::Error::new_spanned(item, "`#[tool]` belongs on a function with a body"))?;
    let options = ToolOptions::parse(options)?;
    let sdk = options.sdk();
    let shape = Shape::take(&mut function.sig)?;
    let name = function.sig.ident.clone();
    if shape.has_receiver {
        let message = "a method is a tool in an `impl` block with `#[toolcrib_sdk::module]`";
        return Err(syn::Error::new(name.span(), message));
    }
    let tool = expansion::tool(&options, &name, &function.attrs, &shape)?;
    function.attrs.push(expansion::allowed());
    let visibility = &function.vis;
    let about = format!("The tool of the function [`{name}`](fn@{name}).");
    Ok(quote! {
        #function

        #[doc = #about]
        #[allow(non_camel_case_types)]
        #visibility enum #name {}

        impl #name {
            /// Makes the tool.
            #visibility fn tool() -> #sdk::FunctionTool #tool
        }
    })
}
