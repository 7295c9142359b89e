//! The one entrance to execution: resolve, gate, validate, route, invoke, bound.
