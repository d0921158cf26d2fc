// Package agentstest runs the conformance cases of the agents API. A World has the agents of the
// cases, on a store; a Driver uses them, in process or over HTTP.
//
// The cases come from the specification of Genkit's agents, Copyright 2025 Google LLC, under the
// Apache License 2.0, converted from YAML to JSON.
package agentstest
