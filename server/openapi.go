package server

import (
	"net/http"

	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

// OpenAPI describes the routes.
func (p *probes) OpenAPI() []byte { return DescribeAPI(probesAPI(), p.Routes()) }

// DeferDescription does nothing: tests check the description against the routes.
func (*probes) DeferDescription() {}

// location is the body of the root's response.
type location struct {
	_ struct{} `additionalProperties:"false"`

	OpenAPI string `json:"openapi" const:"'openapi.json'" jsonschema:"Path of the OpenAPI document, relative to this path."`
}

// probesAPI describes the server's own routes.
func probesAPI() *openapi.API {
	type answers = map[int]openapi.Answer
	noStore := openapi.Headers{"Cache-Control": {Doc: "The response must not be cached.", Schema: openapi.Object{"const": "no-store"}}}
	tag := openapi.Headers{"ETag": {Doc: "Entity tag, which changes with the document.", Schema: openapi.Object{"type": "string", "pattern": `^".+"$`}}}
	text := openapi.Object{"type": "string"}
	plain := func(doc string, schema openapi.Object, headers openapi.Headers) openapi.Answer {
		return openapi.Answer{Doc: doc, Body: schema, Media: []string{"text/plain"}, Headers: headers}
	}
	metrics := plain("The metrics.", text, nil)
	metrics.Media = append(metrics.Media, "application/openmetrics-text")
	return &openapi.API{
		Title: "Server", Doc: "Health probes, metrics and the OpenAPI document of the server.",
		Operations: map[string]openapi.OperationDoc{
			"root": {Summary: "Find the OpenAPI document of the server", Answers: answers{
				http.StatusOK: {Doc: "The location of the OpenAPI document, which is also in the header Link.", Body: location{}},
			}},
			"health": {Summary: "Check that the process responds", Answers: answers{
				http.StatusOK: plain("The process responds.", openapi.Object{"const": "ok\n"}, noStore),
			}},
			"readiness": {
				Summary: "Check whether the server is ready for requests",
				Parameters: []openapi.Parameter{
					{Name: "verbose", In: "query", Doc: "If present, the response includes the revision that the process runs.", Schema: text},
				},
				Answers: answers{
					http.StatusOK: plain("The server is ready.", openapi.Object{"type": "string", "pattern": "^ready\n"}, noStore),
					http.StatusServiceUnavailable: plain("The server is not ready. Unless it is starting or shutting down, its log has the reason.",
						openapi.Object{"enum": []string{"starting\n", "draining\n", "not ready\n"}}, noStore),
				},
			},
			"metrics": {
				Summary: "Read the metrics", Doc: "Returns the metrics in the Prometheus format, or in the OpenMetrics format if the client requests it.",
				Answers: answers{http.StatusOK: metrics},
			},
			"description": {
				Summary:    "Read this document",
				Parameters: []openapi.Parameter{{Name: "If-None-Match", In: "header", Doc: "ETag of the client's copy of the document.", Schema: text}},
				Answers: answers{
					http.StatusOK: {Doc: "The document.", Headers: tag, Body: openapi.Object{
						"type": "object", "description": "An OpenAPI 3.1 document.", "additionalProperties": true,
						"required":   []string{"openapi", "info", "tags", "paths", "components"},
						"properties": openapi.Object{"openapi": openapi.Object{"const": "3.1.0"}},
					}},
					http.StatusNotModified: {Doc: "The client's copy is current.", Headers: tag},
				},
			},
		},
		Components: []openapi.Component{{Of: errorBody{}, Name: "Error"}},
		Error: &openapi.Answer{Doc: "The request was rejected.", Body: errorBody{}, Examples: openapi.Examples{"unauthorized": {
			JSON: `{"error":{"code":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key","request_id":"019aa7c4-53f1-7c3e-9a0b-2f6d5f6f0c11"}}`,
		}}},
	}
}
