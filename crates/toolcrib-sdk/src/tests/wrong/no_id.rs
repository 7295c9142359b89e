//! A module without a namespace.
struct Reports;
/// Reads reports.
#[toolcrib_sdk::module(title = "Reports")]
impl Reports {
    /// Counts.
    #[tool]
    async fn count(&self) -> usize { 0 }
}
fn main() {}
