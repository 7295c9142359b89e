//! Environment variables in texts that people write.

/// A variable that is named and not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{variable}` is not set; set it, or give a default: ${{{variable}:-…}}")]
pub struct UnsetVariable {
    /// Its name.
    pub variable: String,
}

/// Expands `${NAME}` and `${NAME:-default}`. `$${` is an escaped `${`; any other `$` is literal.
///
/// ```
/// use toolcrib_document::expand;
///
/// let lookup = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
/// assert_eq!(expand("${HOME}/${SUB:-tools}.yaml", &lookup).as_deref(), Ok("/home/ada/tools.yaml"));
/// assert_eq!(expand("$5 and $${HOME}", &lookup).as_deref(), Ok("$5 and ${HOME}"));
/// assert_eq!(expand("${SUB}", &lookup).map_err(|unset| unset.variable), Err("SUB".into()));
/// ```
pub fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(escaped) = before.strip_suffix('$') {
            out.push_str(escaped);
            out.push_str("${");
            rest = from.strip_prefix("${").unwrap_or_default();
            continue;
        }
        let Some(end) = from.find('}') else { break };
        out.push_str(before);
        let inside = from.get(2..end).unwrap_or_default();
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match (lookup(name).filter(|value| !value.is_empty() || default.is_none()), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(UnsetVariable { variable: name.into() }),
        }
        rest = from.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

/// Fills in a path: as [`expand`], and also `$NAME` and a leading `~`.
///
/// ```
/// use toolcrib_document::expand_path;
///
/// let lookup = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
/// for path in ["~/tools.yaml", "$HOME/tools.yaml", "${HOME}/tools.yaml"] {
///     assert_eq!(expand_path(path, &lookup).as_deref(), Ok("/home/ada/tools.yaml"));
/// }
/// ```
pub fn expand_path(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let home = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let text = match home {
        Some(rest) => format!("${{HOME}}{rest}"),
        None => text.to_owned(),
    };
    // `$NAME` is turned into `${NAME}` first, so that there is one place that fills in.
    let mut braced = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let after = from.get(1..).unwrap_or_default();
        let name = after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        braced.push_str(before);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            // A second `$` belongs to the escape `$${`.
            let taken = if after.starts_with('$') { 2 } else { 1 };
            braced.push_str(from.get(..taken).unwrap_or("$"));
            rest = from.get(taken..).unwrap_or_default();
        } else {
            braced.extend(["${", name, "}"]);
            rest = after.get(name.len()..).unwrap_or_default();
        }
    }
    braced.push_str(rest);
    expand(&braced, lookup)
}
