//! An `impl` block.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, ImplItem, ItemImpl, Meta};

use crate::expansion::{self, described};
use crate::options::{ModuleOptions, ToolOptions};
use crate::signature::Shape;

/// Returns the block as it is, and the conversion of its type into a module.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> syn::Result<TokenStream> {
    let mut block: ItemImpl = syn::parse2(item.clone())
        .map_err(|_| syn::Error::new_spanned(item, "`#[module]` belongs on an `impl` block"))?;
    if let Some((_, of, _)) = &block.trait_ {
        let message = "`#[module]` belongs on an `impl` block without a trait";
        return Err(syn::Error::new_spanned(of, message));
    }
    if !block.generics.params.is_empty() {
        let message = "a module cannot be generic: it is one namespace of tools";
        return Err(syn::Error::new_spanned(&block.generics, message));
    }
    let module = ModuleOptions::parse(options)?;
    let Some(id) = module.id.clone() else {
        let message = "a module needs the name of its namespace: `#[module(id = \"reports\")]`";
        return Err(syn::Error::new(block.impl_token.span, message));
    };
    let form = block.self_ty.clone();
    let place = Ident::new("module", form.span());
    let description = described(module.description.as_ref(), &block.attrs, &place)?;
    let mut tools = Vec::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(position) = method.attrs.iter().position(is_tool) else { continue };
        let attribute = method.attrs.remove(position);
        let mut options = match attribute.meta {
            Meta::Path(_) => ToolOptions::default(),
            Meta::List(list) => ToolOptions::parse(list.tokens)?,
            Meta::NameValue(pair) => {
                return Err(syn::Error::new_spanned(pair, "write `#[tool]` or `#[tool(…)]`"));
            }
        };
        options.sdk = options.sdk.or_else(|| module.sdk.clone());
        let shape = Shape::take(&mut method.sig)?;
        let name = &method.sig.ident;
        if !shape.has_receiver {
            let message = "a tool of a module takes `&self`; a function without is a tool by itself";
            return Err(syn::Error::new(name.span(), message));
        }
        tools.push(expansion::tool(&options, name, &method.attrs, &shape)?);
        method.attrs.push(expansion::allowed());
    }
    if tools.is_empty() {
        let message = "no method of this module is a tool; put `#[tool]` on those that are";
        return Err(syn::Error::new(block.impl_token.span, message));
    }
    let sdk = module.sdk();
    let title = module.title.map(|title| quote!(.with_title(#title)));
    Ok(quote! {
        #block

        impl ::core::convert::From<#form> for #sdk::Module {
            fn from(this: #form) -> Self {
                let this = ::std::sync::Arc::new(this);
                #sdk::Module::new(#id, #description)
                    #title
                    #(.with_tool(#tools))*
            }
        }
    })
}

/// Returns true for the attribute `#[tool]`, by any path.
fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "tool")
}
