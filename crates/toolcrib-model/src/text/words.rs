//! Splitting names into words.

/// Returns the words of `snake_case`, `kebab-case`, `dotted.case` and `camelCase`, in lower case.
///
/// ```
/// assert_eq!(toolcrib_model::text::words_of_name("get_userName"), ["get", "user", "name"]);
/// ```
pub fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower_case = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && after_lower_case) {
            words.push(String::new());
        }
        after_lower_case = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
