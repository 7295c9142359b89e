//! A method that wants its object for itself.
struct Reports;
/// Reads reports.
#[toolcrib_sdk::module(id = "reports")]
impl Reports {
    /// Counts.
    #[tool]
    async fn count(&mut self) -> usize { 0 }
}
fn main() {}
