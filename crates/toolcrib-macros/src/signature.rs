//! Analysis of function signatures.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, LitStr, Meta, Pat, PatType, ReturnType, Signature, Type};

/// The parameters and the return type of a function.
pub(crate) struct Shape {
    /// True for a method.
    pub(crate) has_receiver: bool,
    pub(crate) is_async: bool,
    /// In the order in which it takes them.
    pub(crate) inputs: Vec<Input>,
    pub(crate) output: Output,
}

/// One thing that a function takes.
pub(crate) enum Input {
    /// An argument of the call.
    Argument(Box<Argument>),
    /// All arguments of the call at once, as one type.
    Arguments(Box<Type>),
    /// The context of the call.
    Context,
    /// The tools that it may call in turn.
    Tools,
    /// A value that the runtime fills in.
    Hidden(Box<Hidden>),
}

/// An argument of the call.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) form: Type,
    /// The attributes of the parameter: its documentation, and those for `serde` and `schemars`.
    pub(crate) attributes: Vec<Attribute>,
}

/// A value that the runtime fills in, which no model sees.
pub(crate) struct Hidden {
    pub(crate) form: Type,
    pub(crate) source: Source,
}

/// The source of a hidden value.
pub(crate) enum Source {
    /// A value of the call's context.
    Context(LitStr),
    /// The configuration of the module.
    Config(LitStr),
}

/// The return type of a function.
pub(crate) enum Output {
    /// A `Result`.
    Fallible(Box<Type>),
    /// Anything else.
    Plain(Box<Type>),
}

/// The names of the values of a call's context.
const KNOWN: &[&str] = &["session", "conversation", "user", "message", "thread", "agent", "scope"];

/// The prefix of values that an embedder defines.
const OWN: &str = "scope.";

/// The syntax of hidden values, for errors.
const HIDDEN: &str = "write `#[hidden(context = \"session\")]`, with one of session, conversation, user, message, thread, \
                      agent, scope, scope.KEY, or `#[hidden(config = \"key\")]`";

impl Shape {
    /// Reads a signature, and takes away the attributes that are ours.
    pub(crate) fn take(signature: &mut Signature) -> syn::Result<Self> {
        if !signature.generics.params.is_empty() {
            let message = "a tool cannot be generic: its arguments have one schema";
            return Err(syn::Error::new_spanned(&signature.generics, message));
        }
        let mut has_receiver = false;
        let mut inputs = Vec::new();
        for input in &mut signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    if receiver.reference.is_none() || receiver.mutability.is_some() {
                        let message = "a tool takes `&self`: its calls run side by side";
                        return Err(syn::Error::new_spanned(receiver, message));
                    }
                    has_receiver = true;
                }
                FnArg::Typed(input) => inputs.push(take_input(input)?),
            }
        }
        let all = inputs.iter().filter(|input| matches!(input, Input::Arguments(_))).count();
        let single = inputs.iter().filter(|input| matches!(input, Input::Argument(_))).count();
        if all > 1 || (all == 1 && single > 0) {
            let message = "`#[arguments]` receives all arguments, so there can be no other parameter";
            return Err(syn::Error::new_spanned(&signature.inputs, message));
        }
        let output = match &signature.output {
            ReturnType::Default => Output::Plain(syn::parse_quote!(())),
            ReturnType::Type(_, form) if is_named(form, "Result") => Output::Fallible(form.clone()),
            ReturnType::Type(_, form) => Output::Plain(form.clone()),
        };
        Ok(Self { has_receiver, is_async: signature.asyncness.is_some(), inputs, output })
    }

    /// Returns the arguments that stand by themselves.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Argument(argument) => Some(argument.as_ref()),
            _ => None,
        })
    }

    /// Returns the type of all arguments, where the function takes them as one.
    pub(crate) fn all_arguments(&self) -> Option<&Type> {
        self.inputs.iter().find_map(|input| match input {
            Input::Arguments(form) => Some(form.as_ref()),
            _ => None,
        })
    }
}

fn take_input(input: &mut PatType) -> syn::Result<Input> {
    let is_ours = |attribute: &Attribute| {
        ["arguments", "hidden", "doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
    };
    let (ours, theirs): (Vec<Attribute>, Vec<Attribute>) = input.attrs.drain(..).partition(is_ours);
    input.attrs = theirs;
    let form = input.ty.as_ref();
    if let Some(hidden) = ours.iter().find(|attribute| attribute.path().is_ident("hidden")) {
        return Ok(Input::Hidden(Box::new(Hidden { form: form.clone(), source: source(hidden)? })));
    }
    if ours.iter().any(|attribute| attribute.path().is_ident("arguments")) {
        return Ok(Input::Arguments(Box::new(form.clone())));
    }
    if let Type::Reference(reference) = form {
        if is_named(&reference.elem, "CallContext") {
            return Ok(Input::Context);
        }
        if is_named(&reference.elem, "Tools") {
            return Ok(Input::Tools);
        }
        let message = "an argument has to be owned, as `String` for `&str`; only `&CallContext` and `&Tools` are borrowed";
        return Err(syn::Error::new_spanned(form, message));
    }
    if is_named(form, "CallContext") || is_named(form, "Tools") {
        let message = "this is filled in, and lent for the call: write it with `&`";
        return Err(syn::Error::new_spanned(form, message));
    }
    let Pat::Ident(pattern) = input.pat.as_ref() else {
        let message = "an argument needs a name, which models write";
        return Err(syn::Error::new_spanned(&input.pat, message));
    };
    let argument = Argument { name: pattern.ident.clone(), form: form.clone(), attributes: ours };
    Ok(Input::Argument(Box::new(argument)))
}

fn source(attribute: &Attribute) -> syn::Result<Source> {
    let Meta::List(list) = &attribute.meta else {
        return Err(syn::Error::new_spanned(attribute, HIDDEN));
    };
    let pair: syn::MetaNameValue =
        syn::parse2(list.tokens.clone()).map_err(|_| syn::Error::new_spanned(attribute, HIDDEN))?;
    let value: LitStr = syn::parse2(pair.value.to_token_stream())
        .map_err(|_| syn::Error::new_spanned(&pair.value, HIDDEN))?;
    if pair.path.is_ident("config") {
        Ok(Source::Config(value))
    } else if pair.path.is_ident("context") && is_known(&value.value()) {
        Ok(Source::Context(value))
    } else {
        Err(syn::Error::new(pair.span(), HIDDEN))
    }
}

/// Returns true if a call's context may have a value of this name.
fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || name.strip_prefix(OWN).is_some_and(|key| !key.is_empty())
}

/// Returns true if the last segment of a path is this name.
fn is_named(form: &Type, name: &str) -> bool {
    matches!(form, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

impl ToTokens for Source {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (Self::Context(key) | Self::Config(key)) = self;
        key.to_tokens(tokens);
    }
}
