package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

// described is a surface with a description of its own.
type described struct {
	routes
	text string
}

// OpenAPI returns the text.
func (d described) OpenAPI() []byte { return []byte(d.text) }

// things describes the paths given, as lines of YAML.
func things(paths string) string {
	return "openapi: 3.1.0\ninfo: {title: All things, version: '1'}\npaths:" + paths
}

const answersOK = `{responses: {"200": {description: ok}}}`

func TestDescriptionsAreThoseOfTheRoutes(t *testing.T) {
	t.Parallel()
	thing := `
  /things/{id}: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], get: ` + answersOK + `}`
	for name, c := range map[string]struct {
		patterns string
		text     string
		// want is a part of the error; empty means no error.
		want string
	}{
		"one for each":                         {"GET /things/{id}", things(thing), ""},
		"a route more":                         {"GET /things/{id},POST /things", things(thing), "the route POST /things has no description"},
		"another method":                       {"POST /things/{id}", things(thing), "there is no route for GET /things/{id}"},
		"another name for the same":            {"GET /things/{key}", things(thing), "the route GET /things/{key} has no description"},
		"a route less":                         {"GET /a", things("\n  /a: {get: " + answersOK + ", put: " + answersOK + "}"), "there is no route for PUT /a"},
		"any method":                           {"/a", things("\n  /a: {get: " + answersOK + ", put: " + answersOK + "}"), ""},
		"any method, none described":           {"/b,GET /a", things("\n  /a: {get: " + answersOK + "}"), "the route /b has no description"},
		"the other methods of a path":          {"/a,GET /a", things("\n  /a: {get: " + answersOK + "}"), ""},
		"anything below":                       {"/a/{rest...}", things("\n  /a/b: {get: " + answersOK + "}\n  /a/b/c: {put: " + answersOK + "}"), ""},
		"nothing below":                        {"/a/{rest...},GET /b", things("\n  /b: {get: " + answersOK + "}"), "the route /a/{rest...} has no description"},
		"the end of a path":                    {"GET /a/{$}", things("\n  /a/: {get: " + answersOK + "}"), ""},
		"no OpenAPI":                           {"GET /a", "hello", "cannot unmarshal"},
		"an earlier version":                   {"GET /a", strings.Replace(things("\n  /a: {get: "+answersOK+"}"), "3.1.0", "3.0.3", 1), "not 3.1"},
		"a path that says nothing of its name": {"GET /things/{id}", things("\n  /things/{id}: {get: " + answersOK + "}"), "id"},
		"security":                             {"GET /a", things("\n  /a: {get: {security: [], responses: {'200': {description: ok}}}}"), "the security of GET /a is for the server to say"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := server.New(server.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			var list routes
			for pattern := range strings.SplitSeq(c.patterns, ",") {
				list = append(list, server.Route{Pattern: pattern, Handler: echo})
			}
			err = s.Mount(t.Context(), described{list, c.text})
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, openapi.ErrDescription) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("mounted: %v", err)
			}
		})
	}
}

// silent is a surface without a description.
type silent struct{}

// Routes returns a route.
func (silent) Routes() []server.Route { return []server.Route{{Pattern: "GET /silent", Handler: echo}} }

// terse is a surface with errors of its own, which it does not describe.
type terse struct{ described }

// WriteError writes nothing but the status.
func (terse) WriteError(w http.ResponseWriter, _ *http.Request, e *server.Error) {
	w.WriteHeader(e.Status)
}

func TestASurfaceThatIsNotDescribedIsNotMounted(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), silent{}); !errors.Is(err, openapi.ErrDescription) || !strings.Contains(err.Error(), "GET /silent") {
		t.Errorf("without a description: %v", err)
	}
	text := things("\n  /a: {get: " + answersOK + "}")
	if err := s.Mount(t.Context(), terse{described{routes{{Pattern: "GET /a", Handler: echo}}, text}}); !errors.Is(err, openapi.ErrDescription) || !strings.Contains(err.Error(), "responses/Error is required") {
		t.Errorf("without its errors: %v", err)
	}
	if err := s.Mount(t.Context(), described{routes{{Pattern: "GET /b", Handler: echo}}, strings.Replace(text, "/a", "/b", 1)}); err != nil {
		t.Error(err)
	}
	if err := s.Mount(t.Context(), described{routes{{Pattern: "GET /c", Handler: echo}}, strings.Replace(text, "/a", "/c", 1)}); !errors.Is(err, openapi.ErrDescription) || !strings.Contains(err.Error(), "All things") {
		t.Errorf("with the title of another one: %v", err)
	}
}

// deferring is a surface whose description is read when it is asked for.
type deferring struct {
	described
	asked *int
}

// OpenAPI counts its calls.
func (d deferring) OpenAPI() []byte {
	*d.asked++
	return d.described.OpenAPI()
}

// DeferDescription does nothing.
func (deferring) DeferDescription() {}

func TestADeferredDescriptionIsReadOnceItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patterns, text string
		// want is a part of the error; empty means no error.
		want string
	}{
		"as it is":                  {"GET /b", things("\n  /b: {get: " + answersOK + "}"), ""},
		"not as it is":              {"GET /b", things("\n  /c: {get: " + answersOK + "}"), "there is no route for GET /c"},
		"invalid":                   {"GET /b", "hello", "cannot unmarshal"},
		"with the title of another": {"GET /b", strings.Replace(things("\n  /b: {get: "+answersOK+"}"), "All things", "Other", 1), `the title "Other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := server.New(server.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			if err := s.Mount(t.Context(), deferring{described{routes{{Pattern: c.patterns, Handler: echo}}, c.text}, &asked}); err != nil || asked != 0 {
				t.Fatalf("mounted: %v, asked %d times", err, asked)
			}
			other := strings.Replace(things("\n  /a: {get: "+answersOK+"}"), "All things", "Other", 1)
			if err := s.Mount(t.Context(), described{routes{{Pattern: "GET /a", Handler: echo}}, other}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				text, err := s.OpenAPI()
				if asked != 1 || c.want == "" && (err != nil || !strings.Contains(string(text), `"/b"`)) {
					t.Errorf("asked %d times: %s, %v", asked, text, err)
				}
				if c.want != "" && (!errors.Is(err, openapi.ErrDescription) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("asked: %v", err)
				}
			}
		})
	}
}

// document is what a test looks at of a description.
type document struct {
	Info    struct{ Title, Version string }
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		OperationID string
		Tags        []string
		Security    []map[string][]string
		Responses   map[string]map[string]any
	}
	Components struct {
		Schemas, Responses, SecuritySchemes map[string]any
	}
}

func describedBy(t *testing.T, s *running) document {
	t.Helper()
	got := s.ask(t, "GET /openapi.json", "")
	if err := openapitest.Validate([]byte(got.body)); err != nil || got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v %v", got.header, err)
	}
	var d document
	if err := json.Unmarshal([]byte(got.body), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheServerAddsWhatItDoesItself(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Authenticator: keys(), PublicURL: "https://agents.example.com/", Version: "1.2.3"})
	text := things(`
  /open: {get: ` + answersOK + `}
  /scoped: {post: {operationId: change, requestBody: {content: {text/plain: {}}}, responses: {"200": {$ref: "#/components/responses/Thing"}, "403": {description: mine}}}}
components:
  responses:
    Thing: {description: one, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
  schemas:
    Thing: {type: object}`)
	if err := s.Mount(t.Context(), described{routes{{Pattern: "GET /open", Handler: echo, Public: true}, {Pattern: "POST /scoped", Handler: echo, Scope: "things:write"}}, text}); err != nil {
		t.Fatal(err)
	}
	d := describedBy(t, s)
	if d.Info.Version != "1.2.3" || len(d.Servers) != 1 || d.Servers[0].URL != "https://agents.example.com" || len(d.Components.SecuritySchemes) != 2 {
		t.Errorf("it is of %v at %v with %v", d.Info, d.Servers, d.Components.SecuritySchemes)
	}
	open, scoped := d.Paths["/open"]["get"], d.Paths["/scoped"]["post"]
	if open.Security == nil || len(open.Security) > 0 || statuses(open.Responses) != "200 429 500" {
		t.Errorf("the public route is %+v", open)
	}
	if len(scoped.Security) != 2 || scoped.Security[0]["bearer"][0] != "things:write" || scoped.Security[1]["apiKey"][0] != "things:write" {
		t.Errorf("the other needs %v", scoped.Security)
	}
	if statuses(scoped.Responses) != "200 401 403 413 415 429 500 503" || scoped.Responses["403"]["description"] != "mine" || scoped.Responses["401"]["$ref"] != "#/components/responses/ServerUnauthorized" {
		t.Errorf("it answers %v", scoped.Responses)
	}
	if scoped.OperationID != "AllThings_change" || scoped.Tags[0] != "All things" || scoped.Responses["200"]["$ref"] != "#/components/responses/AllThingsThing" ||
		d.Components.Schemas["AllThingsThing"] == nil || d.Components.Schemas["ServerError"] == nil {
		t.Errorf("it is called %s, with %v", scoped.OperationID, d.Components)
	}
}

func statuses(responses map[string]map[string]any) string {
	list := make([]string, 0, len(responses))
	for status := range responses {
		list = append(list, status)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestWhereNobodyNeedsACredentialNoneIsDescribed(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{Metrics: echo}, exposed...)
	d := describedBy(t, s)
	if len(d.Components.SecuritySchemes) > 0 || len(d.Servers) > 0 || len(d.Paths["/metrics"]["get"].Security) > 0 || d.Paths["/private"] == nil {
		t.Errorf("%+v", d)
	}
	without := start(t, server.Settings{})
	if d := describedBy(t, without); d.Paths["/metrics"] != nil || len(d.Paths) != 4 {
		t.Errorf("there are %v", d.Paths)
	}
}

func TestTheDescriptionIsSentOnce(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{})
	first := s.ask(t, "GET /openapi.json", "")
	etag := first.header.Get("ETag")
	for _, known := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
		if again := s.ask(t, "GET /openapi.json", "", "If-None-Match", known); again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != etag {
			t.Errorf("with %s it is %+v", known, again)
		}
	}
	if other := s.ask(t, "GET /openapi.json", "", "If-None-Match", `"other"`); other.status != http.StatusOK || other.body != first.body {
		t.Errorf("with another one it is %d", other.status)
	}
	if err := s.Mount(t.Context(), routes(exposed)); err != nil {
		t.Fatal(err)
	}
	if later := s.ask(t, "GET /openapi.json", "", "If-None-Match", etag); later.status != http.StatusOK || later.header.Get("ETag") == etag {
		t.Errorf("with more routes it is %d", later.status)
	}
}
