//! Options in the parentheses of an attribute.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprArray, ExprLit, Lit, LitBool, LitStr, Meta, Path, Token};

/// The options of `#[tool]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) risk: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) side_effects: Vec<LitStr>,
    /// Seconds, a number.
    pub(crate) timeout: Option<TokenStream>,
    /// JSON, as it was written: the key of the metadata, and the value.
    pub(crate) json: Vec<(&'static str, TokenStream)>,
    pub(crate) flags: Vec<(&'static str, bool)>,
    /// The path of the SDK, where another crate re-exports it.
    pub(crate) sdk: Option<Path>,
}

/// The options of `#[module]`.
#[derive(Default)]
pub(crate) struct ModuleOptions {
    pub(crate) id: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    /// The path of the SDK, where another crate re-exports it.
    pub(crate) sdk: Option<Path>,
}

const TOOL_OPTIONS: &[&str] = &[
    "name",
    "title",
    "description",
    "risk",
    "aliases",
    "tags",
    "side_effects",
    "examples",
    "access",
    "cacheable",
    "timeout",
    "confirmation_required",
    "user_selectable",
    "idempotent",
    "operational",
    "crate",
];

const MODULE_OPTIONS: &[&str] = &["id", "title", "description", "crate"];

const RISKS: &[&str] = &["low", "medium", "high"];

impl ToolOptions {
    pub(crate) fn parse(options: TokenStream) -> syn::Result<Self> {
        let mut read = Self::default();
        for Entry { key, value } in entries(options, TOOL_OPTIONS)? {
            match key.to_string().as_str() {
                "name" => read.name = Some(text(&key, value, "\"get-report\"")?),
                "title" => read.title = Some(text(&key, value, "\"Get report\"")?),
                "description" => read.description = Some(text(&key, value, "\"Loads one report.\"")?),
                "risk" => read.risk = Some(risk(&key, value)?),
                "aliases" => read.aliases = texts(&key, value)?,
                "tags" => read.tags = texts(&key, value)?,
                "side_effects" => read.side_effects = texts(&key, value)?,
                "timeout" => read.timeout = Some(seconds(&key, value)?),
                "examples" => read.json.push(("examples", list(&key, value)?)),
                "access" => read.json.push(("access", json(&key, value)?)),
                "cacheable" => match value {
                    None => read.flags.push(("cacheable", true)),
                    Some(value) => read.json.push(("cacheable", value)),
                },
                "confirmation_required" => read.flags.push(("confirmation_required", flag(value)?)),
                "user_selectable" => read.flags.push(("user_selectable", flag(value)?)),
                "idempotent" => read.flags.push(("idempotent", flag(value)?)),
                "operational" => read.flags.push(("operational", flag(value)?)),
                "crate" => read.sdk = Some(path(&key, value)?),
                _ => return Err(unknown(&key, TOOL_OPTIONS)),
            }
        }
        Ok(read)
    }

    /// Returns the path of the SDK.
    pub(crate) fn sdk(&self) -> TokenStream {
        sdk(self.sdk.as_ref())
    }
}

impl ModuleOptions {
    /// Returns the path of the SDK.
    pub(crate) fn sdk(&self) -> TokenStream {
        sdk(self.sdk.as_ref())
    }

    pub(crate) fn parse(options: TokenStream) -> syn::Result<Self> {
        let mut read = Self::default();
        for Entry { key, value } in entries(options, MODULE_OPTIONS)? {
            match key.to_string().as_str() {
                "id" => read.id = Some(text(&key, value, "\"reports\"")?),
                "title" => read.title = Some(text(&key, value, "\"Reports\"")?),
                "description" => read.description = Some(text(&key, value, "\"Reads reports.\"")?),
                "crate" => read.sdk = Some(path(&key, value)?),
                _ => return Err(unknown(&key, MODULE_OPTIONS)),
            }
        }
        Ok(read)
    }
}

/// Returns the value of `name =`, or the name of the function.
pub(crate) fn name_or(name: Option<&LitStr>, function: &Ident) -> LitStr {
    name.cloned().unwrap_or_else(|| {
        let name = function.to_string();
        LitStr::new(name.strip_prefix("r#").unwrap_or(&name), function.span())
    })
}

/// Returns the text of the doc comment: the lines of a paragraph as one, and paragraphs apart.
pub(crate) fn documentation(attributes: &[Attribute]) -> Option<LitStr> {
    let mut lines = Vec::new();
    let mut place = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { continue };
        place = place.or_else(|| Some(line.span()));
        lines.extend(line.value().lines().map(|line| line.trim().to_owned()));
    }
    let paragraphs = lines.split(String::is_empty).filter(|paragraph| !paragraph.is_empty());
    let text = paragraphs.map(|paragraph| paragraph.join(" ")).collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then(|| LitStr::new(&text, place.unwrap_or_else(Span::call_site)))
}

/// `key`, or `key = value`, whose value reaches to the next comma.
struct Entry {
    key: Ident,
    value: Option<TokenStream>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // `crate` is a keyword.
        let key = Ident::parse_any(input)?;
        if !input.peek(Token![=]) {
            return Ok(Self { key, value: None });
        }
        let equals: Token![=] = input.parse()?;
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend(std::iter::once(input.parse::<TokenTree>()?));
        }
        if value.is_empty() {
            return Err(syn::Error::new(equals.span, format!("there is nothing behind `{key} =`")));
        }
        Ok(Self { key, value: Some(value) })
    }
}

fn entries(options: TokenStream, known: &[&str]) -> syn::Result<Vec<Entry>> {
    let parse = |input: ParseStream<'_>| Punctuated::<Entry, Token![,]>::parse_terminated(input);
    let entries = syn::parse::Parser::parse2(parse, options)?;
    let entries: Vec<Entry> = entries.into_iter().collect();
    for (at, entry) in entries.iter().enumerate() {
        if !known.iter().any(|known| entry.key == known) {
            return Err(unknown(&entry.key, known));
        }
        if entries.iter().take(at).any(|earlier| earlier.key == entry.key) {
            return Err(syn::Error::new(entry.key.span(), format!("`{}` stands here twice", entry.key)));
        }
    }
    Ok(entries)
}

fn unknown(key: &Ident, known: &[&str]) -> syn::Error {
    syn::Error::new(key.span(), format!("there is no option `{key}`; there are {}", known.join(", ")))
}

fn given(key: &Ident, value: Option<TokenStream>, example: &str) -> syn::Result<TokenStream> {
    value.ok_or_else(|| syn::Error::new(key.span(), format!("`{key}` wants a value: `{key} = {example}`")))
}

fn text(key: &Ident, value: Option<TokenStream>, example: &str) -> syn::Result<LitStr> {
    let value = given(key, value, example)?;
    let text: LitStr = syn::parse2(value.clone()).map_err(|_| {
        syn::Error::new_spanned(value, format!("`{key}` has to be a text: `{key} = {example}`"))
    })?;
    if text.value().trim().is_empty() {
        return Err(syn::Error::new(text.span(), format!("`{key}` is empty")));
    }
    Ok(text)
}

/// Returns the path of a crate.
fn path(key: &Ident, value: Option<TokenStream>) -> syn::Result<Path> {
    let text = text(key, value, "\"toolcrib::sdk\"")?;
    text.parse().map_err(|_| {
        syn::Error::new(text.span(), format!("`{key}` has to be a path: `{key} = \"toolcrib::sdk\"`"))
    })
}

/// Returns the path of the SDK, by default that of its crate.
fn sdk(path: Option<&Path>) -> TokenStream {
    path.map_or_else(|| quote!(::toolcrib_sdk), |path| quote!(#path))
}

fn texts(key: &Ident, value: Option<TokenStream>) -> syn::Result<Vec<LitStr>> {
    let value = given(key, value, "[\"…\"]")?;
    let wrong = |tokens: TokenStream| {
        syn::Error::new_spanned(
            tokens,
            format!("`{key}` has to be a list of texts: `{key} = [\"…\", \"…\"]`"),
        )
    };
    let array: ExprArray = syn::parse2(value.clone()).map_err(|_| wrong(value))?;
    let texts = array.elems.into_iter().map(|item| match item {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text),
        other => Err(wrong(other.into_token_stream())),
    });
    texts.collect()
}

fn risk(key: &Ident, value: Option<TokenStream>) -> syn::Result<LitStr> {
    let risk = text(key, value, "\"low\"")?;
    if RISKS.contains(&risk.value().as_str()) {
        return Ok(risk);
    }
    let message = format!("there is no risk {:?}; there are {}", risk.value(), RISKS.join(", "));
    Err(syn::Error::new(risk.span(), message))
}

fn seconds(key: &Ident, value: Option<TokenStream>) -> syn::Result<TokenStream> {
    let value = given(key, value, "30")?;
    match syn::parse2::<Lit>(value.clone()) {
        Ok(Lit::Int(_) | Lit::Float(_)) => Ok(value),
        _ => Err(syn::Error::new_spanned(
            value,
            format!("`{key}` has to be a number of seconds: `{key} = 30`"),
        )),
    }
}

fn flag(value: Option<TokenStream>) -> syn::Result<bool> {
    let Some(value) = value else { return Ok(true) };
    let flag: LitBool = syn::parse2(value.clone())
        .map_err(|_| syn::Error::new_spanned(value, "this has to be `true` or `false`"))?;
    Ok(flag.value)
}

fn json(key: &Ident, value: Option<TokenStream>) -> syn::Result<TokenStream> {
    given(key, value, "{\"…\": …}")
}

fn list(key: &Ident, value: Option<TokenStream>) -> syn::Result<TokenStream> {
    let value = given(key, value, "[{\"…\": …}]")?;
    let is_list = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Bracket);
    let mut trees = value.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(tree), None) if is_list(&tree) => Ok(value),
        _ => {
            Err(syn::Error::new_spanned(value, format!("`{key}` has to be a list: `{key} = [{{\"…\": …}}]`")))
        }
    }
}
