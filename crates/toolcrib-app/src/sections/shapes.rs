//! `tools.shape`: mistakes in shapes, beyond their types.

use std::sync::Arc;

use toolcrib_document::Error;
use toolcrib_registry::Shapes;
use toolcrib_registry::shape::ShapeSettings;
use toolcrib_results::check_expression;

use crate::AppFile;

/// Checks the shapes of an app.
pub(crate) fn build(settings: &[ShapeSettings], file: &AppFile, errors: &mut Vec<Error>) -> Arc<Shapes> {
    for (position, shape) in settings.iter().enumerate() {
        if let Some(Err(message)) = shape.project.as_deref().map(check_expression) {
            errors.push(file.error_at(&format!("/tools/shape/{position}/project"), message));
        }
    }
    match Shapes::new("tools.shape", settings) {
        Ok(shapes) => Arc::new(shapes),
        Err(wrong) => {
            errors.extend(wrong.into_iter().map(|error| {
                let pointer = format!("/tools/shape{}", error.pointer);
                file.readable(file.error_at(&pointer, error.message), &pointer)
            }));
            Arc::default()
        }
    }
}
