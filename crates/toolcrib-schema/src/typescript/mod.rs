//! TypeScript declarations of tools, for models that write scripts.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_schema::typescript::{Declared, declarations};
//!
//! let read = Tool::new(QualifiedName::new("files", "read")?).with_description("Reads a text file.").with_parameters(
//!     json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
//! );
//! let declared = declarations(&[Declared::from(&read)], 1_000);
//! assert_eq!(
//!     declared.text,
//!     "declare const tools: {\n  files: {\n    /** Reads a text file. */\n    read(args: {path: string}): \
//!      Promise<unknown>;\n  };\n};\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A block declares the object `tools`, on which a script calls `await tools.files.read({path: 'a'})`. Each namespace is
//! a property with a method for each tool, so that every name can be declared: those that are no identifiers are quoted
//! (`tools.github['list-repos'](…)`), and reserved words are names of methods like others (`tools.shop.delete(…)`).
//! Overloads are overloads. The definitions of a schema are named types in front.
//!
//! A declared type accepts all values that the schema accepts, and more where TypeScript cannot say what the schema says.

mod convert;
mod library;
mod names;
mod print;
mod types;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use indexmap::IndexMap;
use toolcrib_model::text::{ellipsize_words, fold_spaces};
use toolcrib_model::{QualifiedName, Schema, Tool};

use self::convert::{Level, convert};
use self::library::Library;
use self::names::{comment, method, property, type_name};
use self::print::written;
use self::types::{Object, Type};

pub use self::names::quoted;

/// The levels of detail that are tried for a tool, the fullest first, until one fits.
const LEVELS: [Level; 8] = [
    Level { nesting: 8, steps: 8, has_texts: true, has_optional: true, text_chars: 1_000 },
    Level { nesting: 8, steps: 8, has_texts: false, has_optional: true, text_chars: 1_000 },
    Level { nesting: 5, steps: 3, has_texts: false, has_optional: true, text_chars: 240 },
    Level { nesting: 3, steps: 1, has_texts: false, has_optional: true, text_chars: 240 },
    Level { nesting: 2, steps: 0, has_texts: false, has_optional: true, text_chars: 100 },
    Level { nesting: 1, steps: 0, has_texts: false, has_optional: true, text_chars: 100 },
    Level { nesting: 2, steps: 0, has_texts: false, has_optional: false, text_chars: 100 },
    Level { nesting: 1, steps: 0, has_texts: false, has_optional: false, text_chars: 100 },
];

/// The least detail: all objects.
const LEAST: Level = Level { nesting: 0, steps: 0, has_texts: false, has_optional: false, text_chars: 100 };

/// A tool to be declared.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    name: &'a QualifiedName,
    text: &'a str,
    parameters: &'a Schema,
    result: &'a Schema,
}

/// A block of declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declarations {
    /// The text; empty for no tools.
    pub text: String,
    /// True if parts of the schemas are declared as `unknown`, or not at all, because they are too long or too deep.
    pub is_cut: bool,
}

/// A declared tool, with its types in a library.
struct Signature {
    text: String,
    arguments: Type,
    result: Type,
}

impl<'a> From<&'a Tool> for Declared<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self::new(&tool.name, &tool.description, &tool.parameters, &tool.output_parameters)
    }
}

impl<'a> Declared<'a> {
    /// Declares a tool with a text, and the schemas of its arguments and of its result.
    pub fn new(name: &'a QualifiedName, text: &'a str, parameters: &'a Schema, result: &'a Schema) -> Self {
        Self { name, text, parameters, result }
    }

    /// Sets the text.
    pub fn with_text(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    /// Returns the signature with as much detail as fits, its types, and true if some of them are cut.
    fn signature(&self, max_bytes: usize) -> (Signature, Library, bool) {
        for level in LEVELS {
            let (signature, library, is_cut) = self.at(level);
            let names = library.names();
            let size = names.declarations(&library).len() + signature.written(self.name, &library).len();
            if size <= max_bytes {
                return (signature, library, is_cut);
            }
        }
        let (signature, library, _) = self.at(LEAST);
        (signature, library, true)
    }

    fn at(&self, level: Level) -> (Signature, Library, bool) {
        let mut library = Library::default();
        let name = type_name(self.name.name());
        let (arguments, is_cut) = convert(self.parameters, &format!("{name}Args"), level, &mut library);
        let (result, is_result_cut) = convert(self.result, &format!("{name}Result"), level, &mut library);
        library.break_circles();
        let text = comment(&ellipsize_words(&fold_spaces(self.text), level.text_chars));
        (Signature { text, arguments, result }, library, is_cut || is_result_cut)
    }
}

impl Signature {
    /// Writes the declaration as a method.
    fn method(&self, name: &str, type_text: &impl Fn(usize) -> String) -> String {
        let comment = match self.text.as_str() {
            "" => String::new(),
            text => format!("    /** {text} */\n"),
        };
        let arguments = match &self.arguments {
            Type::Object(Object { properties, rest: None }) if properties.is_empty() => String::new(),
            Type::Unknown => "args?: Record<string, unknown>".to_owned(),
            kind => {
                let is_required = match kind {
                    Type::Object(object) => object.properties.iter().any(|property| property.is_required),
                    _ => true,
                };
                let mark = if is_required { "" } else { "?" };
                format!("args{mark}: {}", written(kind, 2, type_text))
            }
        };
        let result = written(&self.result, 2, type_text);
        format!("{comment}    {}({arguments}): Promise<{result}>;\n", method(name))
    }

    /// Writes the method of a tool that is declared alone.
    fn written(&self, name: &QualifiedName, library: &Library) -> String {
        let names = library.names();
        self.method(name.name(), &|id| names.text(id))
    }
}

/// Declares tools in one block, in their order, the tools of a namespace together. Each takes at most about `max_bytes`
/// with its types, if its name and the names of its required arguments do not take more.
pub fn declarations(tools: &[Declared<'_>], max_bytes: usize) -> Declarations {
    let mut library = Library::default();
    let mut namespaces: IndexMap<&str, Vec<(&str, Signature)>> = IndexMap::new();
    let mut is_cut = false;
    for declared in tools {
        let (mut signature, types, is_tool_cut) = declared.signature(max_bytes);
        library.append(types, [&mut signature.arguments, &mut signature.result]);
        is_cut |= is_tool_cut;
        let methods = namespaces.entry(declared.name.namespace()).or_default();
        methods.push((declared.name.name(), signature));
    }
    if namespaces.is_empty() {
        return Declarations { text: String::new(), is_cut };
    }
    let names = library.names();
    let mut text = names.declarations(&library);
    text.push_str("declare const tools: {\n");
    for (namespace, methods) in namespaces {
        let methods = methods.iter().map(|(name, signature)| signature.method(name, &|id| names.text(id)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}: {{\n{}  }};", property(namespace), methods.collect::<String>());
    }
    text.push_str("};\n");
    Declarations { text, is_cut }
}
