//! The code of one tool.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::LitStr;

use crate::options::{ToolOptions, documentation, name_or};
use crate::signature::{Input, Output, Shape, Source};

/// The code that makes a `FunctionTool` of a function. Where that is a method, it is called on `this`, an `Arc` which has to
/// be there.
pub(crate) fn tool(
    options: &ToolOptions,
    function: &Ident,
    attributes: &[syn::Attribute],
    shape: &Shape,
) -> syn::Result<TokenStream> {
    let sdk = options.sdk();
    let name = name_or(options.name.as_ref(), function);
    let description = described(options.description.as_ref(), attributes, function)?;
    let arguments = arguments(shape, &sdk);
    let fields: Vec<&Ident> = shape.arguments().map(|argument| &argument.name).collect();
    let (arguments_form, taken) = shape.all_arguments().map_or_else(
        || (quote!(Arguments), quote!(let Arguments { #(#fields),* } = arguments;)),
        |form| (quote!(#form), quote!(let all = arguments;)),
    );
    let mut filled = Vec::new();
    let mut passed = Vec::new();
    for (at, input) in shape.inputs.iter().enumerate() {
        match input {
            Input::Argument(argument) => {
                let name = &argument.name;
                passed.push(quote!(#name));
            }
            Input::Arguments(_) => passed.push(quote!(all)),
            Input::Context => passed.push(quote!(&inputs.context)),
            Input::Tools => passed.push(quote!(&inputs.tools())),
            Input::Hidden(hidden) => {
                let (variable, form, key) = (format_ident!("hidden_{at}"), &hidden.form, &hidden.source);
                let fill = match hidden.source {
                    Source::Context(_) => quote!(of_context),
                    Source::Config(_) => quote!(of_config),
                };
                filled.push(quote!(let #variable: #form = inputs.#fill(#key)?;));
                passed.push(quote!(#variable));
            }
        }
    }
    let callee = if shape.has_receiver { quote!(this.#function) } else { quote!(#function) };
    let awaited = shape.is_async.then(|| quote!(.await));
    let (output, given) = match &shape.output {
        Output::Fallible(form) => (
            quote!(<#form as #sdk::macros::Outcome>::Result),
            quote!(#sdk::macros::Outcome::into_result(#callee(#(#passed),*) #awaited)),
        ),
        Output::Plain(form) => (
            quote!(#form),
            quote!(::core::result::Result::<_, #sdk::macros::ToolError>::Ok(#callee(#(#passed),*) #awaited)),
        ),
    };
    // Once for the tool, and once for each call.
    let own_this = shape.has_receiver.then(|| quote!(let this = ::std::sync::Arc::clone(&this);));
    let metadata = metadata(options);
    Ok(quote! {{
        #arguments
        #own_this
        #sdk::FunctionTool::with_inputs(
            #name,
            #description,
            move |arguments: #arguments_form, inputs: #sdk::Inputs| {
                #own_this
                async move {
                    #taken
                    #(#filled)*
                    #given
                }
            },
        )
        .with_output::<#output>()
        #metadata
    }})
}

/// Lets a tool be written as a tool has to be: its arguments are owned, it takes `&self`, and it may be `async` and give a
/// `Result` as its neighbours are and do.
pub(crate) fn allowed() -> syn::Attribute {
    syn::parse_quote! {
        #[allow(
            clippy::needless_pass_by_value,
            clippy::unnecessary_wraps,
            clippy::unused_async,
            clippy::unused_self
        )]
    }
}

/// Returns the description: the option, else the doc comment.
pub(crate) fn described(
    option: Option<&LitStr>,
    attributes: &[syn::Attribute],
    what: &Ident,
) -> syn::Result<LitStr> {
    option.cloned().or_else(|| documentation(attributes)).ok_or_else(|| {
        let message = format!("`{what}` needs a doc comment or `description`, by which models find it");
        syn::Error::new(what.span(), message)
    })
}

/// Returns the type of the arguments that stand by themselves.
fn arguments(shape: &Shape, sdk: &TokenStream) -> TokenStream {
    if shape.all_arguments().is_some() {
        return TokenStream::new();
    }
    let fields = shape.arguments().map(|argument| {
        let (name, form, attributes) = (&argument.name, &argument.form, &argument.attributes);
        quote!(#(#attributes)* #name: #form)
    });
    // As texts, since the attributes of these crates take no paths.
    let [serde, schemars] =
        ["serde", "schemars"].map(|name| format!("{sdk}::macros::{name}").replace(' ', ""));
    quote! {
        #[derive(#sdk::macros::serde::Deserialize, #sdk::macros::schemars::JsonSchema)]
        #[serde(crate = #serde, deny_unknown_fields)]
        #[schemars(crate = #schemars)]
        struct Arguments { #(#fields),* }
    }
}

fn metadata(options: &ToolOptions) -> TokenStream {
    let sdk = options.sdk();
    let mut calls = Vec::new();
    let mut add = |key: &str, value: TokenStream| calls.push(quote!(.with_metadata(#key, #value)));
    for (key, text) in [("title", &options.title), ("risk", &options.risk)] {
        if let Some(text) = text {
            add(key, quote!(#text));
        }
    }
    for (key, texts) in
        [("aliases", &options.aliases), ("tags", &options.tags), ("side_effects", &options.side_effects)]
    {
        if !texts.is_empty() {
            add(key, quote!(::std::vec![#(#texts),*]));
        }
    }
    if let Some(seconds) = &options.timeout {
        add("timeout_seconds", quote!(#seconds));
    }
    for (key, value) in &options.json {
        add(key, quote!(#sdk::macros::serde_json::json!(#value)));
    }
    for (key, value) in &options.flags {
        add(key, quote!(#value));
    }
    calls.into_iter().collect()
}
