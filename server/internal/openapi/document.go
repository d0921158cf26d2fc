package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Server describes the server itself in a document.
type Server struct {
	Version string
	// PublicURL is the server's public URL; empty means the location of the document.
	PublicURL string
	// Open is set when no route needs a credential.
	Open bool
}

// Document is the description of a server, merged from its surfaces' descriptions. It is generated
// on first use and cached. It is safe for concurrent use.
type Document struct {
	server Server

	mu       sync.Mutex
	surfaces []func() (*Description, error)
	// added are the titles of the non-deferred descriptions, as prefixes.
	added map[string]bool
	// write generates the document on its first call.
	write func() (written, error)
}

// written is a document in JSON and its ETag.
type written struct {
	text []byte
	etag string
}

// NewDocument returns the document of a server without surfaces.
func NewDocument(s Server) *Document {
	d := &Document{server: s, added: map[string]bool{}}
	d.setSurfaces(nil)
	return d
}

// Add adds the description of a surface. It fails if another surface has the same title. The
// first description must be the server's: its errors are used by surfaces without their own.
func (d *Document) Add(s *Description) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.added[s.prefix] {
		return s.titleTaken()
	}
	d.added[s.prefix] = true
	d.setSurfaces(append(d.surfaces, func() (*Description, error) { return s, nil }))
	return nil
}

// Defer adds the description that describe returns, which is called once, when the document is
// first used. Text then returns its error, or reports a duplicate title.
func (d *Document) Defer(describe func() (*Description, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setSurfaces(append(d.surfaces, sync.OnceValues(describe)))
}

// setSurfaces replaces the surfaces of the document.
func (d *Document) setSurfaces(surfaces []func() (*Description, error)) {
	d.surfaces = surfaces
	d.write = sync.OnceValues(func() (written, error) { return writeDocument(&d.server, surfaces) })
}

// titleTaken returns the error for a description with a duplicate title.
func (d *Description) titleTaken() error {
	return fmt.Errorf("%w: another surface has the title %q, too", ErrDescription, d.doc.Info.Title)
}

// Text returns the document, in JSON, and its ETag.
func (d *Document) Text() (text []byte, etag string, err error) {
	d.mu.Lock()
	write := d.write
	d.mu.Unlock()
	w, err := write()
	if err != nil {
		return nil, "", fmt.Errorf("describe the server: %w", err)
	}
	return w.text, w.etag, nil
}

// writeDocument returns the document of the surfaces.
func writeDocument(server *Server, surfaces []func() (*Description, error)) (written, error) {
	all, titles := newMerged(server), map[string]bool{}
	var errs []error
	for _, describe := range surfaces {
		s, err := describe()
		switch {
		case err != nil:
		case titles[s.prefix]:
			err = s.titleTaken()
		default:
			titles[s.prefix] = true
			err = all.addDescription(s)
		}
		errs = append(errs, err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := errors.Join(append(errs, enc.Encode(all))...); err != nil {
		return written{}, err
	}
	sum := sha256.Sum256(b.Bytes())
	return written{b.Bytes(), `"` + hex.EncodeToString(sum[:16]) + `"`}, nil
}

// merged is the document as written, merged from the descriptions of all surfaces.
type merged struct {
	OpenAPI    string            `json:"openapi"`
	Info       info              `json:"info"`
	Servers    []Object          `json:"servers,omitempty"`
	Tags       []Object          `json:"tags"`
	Paths      map[string]Object `json:"paths"`
	Components map[string]Object `json:"components"`

	// open is set when no route needs a credential.
	open bool
}

// info is the title and version of the document.
type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// about is the introduction of the document.
const about = "Every response has the header X-Request-Id with the ID of the request in the log. " +
	"A credential that is limited to certain scopes needs the scopes listed for the operation."

func newMerged(s *Server) *merged {
	m := &merged{
		OpenAPI: "3.1.0", Info: info{"Agent runtime", s.Version, about},
		Paths: map[string]Object{}, Components: map[string]Object{}, open: s.Open,
	}
	if s.PublicURL != "" { // otherwise it is where the document was found
		m.Servers = []Object{{"url": strings.TrimRight(s.PublicURL, "/")}}
	}
	if !s.Open {
		m.Components["securitySchemes"] = Object{
			"bearer": Object{"type": "http", "scheme": "bearer", "description": "An API key or an access token."},
			"apiKey": Object{"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key."},
		}
	}
	return m
}

// addDescription adds a surface.
func (m *merged) addDescription(d *Description) error {
	text, err := json.Marshal(d.doc)
	if err != nil {
		return err
	}
	var own struct {
		Info       Object            `json:"info"`
		Paths      map[string]Object `json:"paths"`
		Components map[string]Object `json:"components"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	m.Tags = append(m.Tags, Object{"name": d.doc.Info.Title, "description": d.doc.Info.Description})
	for kind, list := range own.Components {
		for name, value := range list {
			m.addComponent(kind, d.prefix+name, prefixRefs(value, d.prefix))
		}
	}
	for path, item := range own.Paths {
		m.Paths[path] = renamedObject(item, d.prefix)
	}
	for o, route := range d.routes {
		op, ok := m.Paths[o.path][strings.ToLower(o.method)].(Object)
		if !ok {
			return fmt.Errorf("%s is required", o) // not reached: the path was read before
		}
		m.completeOperation(op, d, route)
	}
	return nil
}

func (m *merged) addComponent(kind, name string, value any) {
	if m.Components[kind] == nil {
		m.Components[kind] = Object{}
	}
	m.Components[kind][name] = value
}

// completeOperation adds the router's behavior to an operation.
func (m *merged) completeOperation(op Object, d *Description, route *Route) {
	op["tags"] = []string{d.doc.Info.Title}
	if id, ok := op["operationId"].(string); ok && id != "" {
		op["operationId"] = d.prefix + "_" + id
	}
	op["security"] = m.securityFor(route)
	_, takes := op["requestBody"]
	responses, ok := op["responses"].(Object)
	if !ok {
		responses = Object{}
		op["responses"] = responses
	}
	for _, r := range refusals {
		// Without keys, pages of other sites are rejected on every route.
		foreign := m.open && r.status == http.StatusForbidden
		if r.private && route.Public && !foreign || r.body && !takes {
			continue
		}
		if status := strconv.Itoa(r.status); responses[status] == nil {
			responses[status] = Object{"$ref": "#/components/responses/" + m.refusalResponse(&r, d)}
		}
	}
}

// securityFor returns the security requirements of a route.
func (m *merged) securityFor(route *Route) []Object {
	if m.open || route.Public {
		return []Object{}
	}
	scopes := []string{}
	if route.Scope != "" {
		scopes = append(scopes, route.Scope)
	}
	return []Object{{"bearer": scopes}, {"apiKey": scopes}}
}

// refusalKind is an error response of the router.
type refusalKind struct {
	status      int
	name        string
	description string
	header      string
	about       string
	// private is set for responses of routes with a credential only, and body for those of routes
	// with a body only.
	private, body bool
}

var refusals = []refusalKind{
	{status: http.StatusUnauthorized, name: "Unauthorized", private: true, description: "The credential is missing or invalid.",
		header: "WWW-Authenticate", about: "Required kind of credential."},
	{status: http.StatusForbidden, name: "Forbidden", private: true, description: "The credential lacks the required scope, or the request comes from a page of another site."},
	{status: http.StatusRequestEntityTooLarge, name: "TooLarge", body: true, description: "The request body exceeds the size limit of the server."},
	{status: http.StatusUnsupportedMediaType, name: "UnsupportedType", body: true, description: "The request body has a Content-Encoding, or a Content-Type that the surface does not accept."},
	{status: http.StatusTooManyRequests, name: "TooMany", description: "The credential has exceeded its request limit.",
		header: "Retry-After", about: "Number of seconds to wait before retrying."},
	{status: http.StatusInternalServerError, name: "Internal", description: "Internal error. The server log has the cause."},
	{status: http.StatusServiceUnavailable, name: "Unavailable", private: true, description: "The store is unreachable, the credential cannot be checked at the moment, or the server is shutting down."},
}

// refusalResponse returns the name of the response for a rejection, in the error format of its
// surface or the server.
func (m *merged) refusalResponse(r *refusalKind, d *Description) string {
	prefix := d.prefix
	if !d.hasError() {
		prefix = toCamelCase(ownTitle)
	}
	name := prefix + r.name
	if m.Components["responses"][name] != nil {
		return name
	}
	response := Object{"description": r.description}
	if shape, ok := m.Components["responses"][prefix+errorResponse].(Object); ok {
		response["content"] = shape["content"]
	}
	if r.header != "" {
		response["headers"] = Headers{r.header: {Doc: r.about}}.describe()
	}
	m.addComponent("responses", name, response)
	return name
}

// ownTitle is the title of the description of the server's own routes, which are
// mounted first.
const ownTitle = "Server"

// prefixRefs returns a value with the prefix added to the names of all components that it refers
// to.
func prefixRefs(value any, prefix string) any {
	switch v := value.(type) {
	case Object:
		return renamedObject(v, prefix)
	case []any:
		for i := range v {
			v[i] = prefixRefs(v[i], prefix)
		}
	case string:
		if rest, ok := strings.CutPrefix(v, "#/components/"); ok {
			if kind, name, ok := strings.Cut(rest, "/"); ok {
				return "#/components/" + kind + "/" + prefix + name
			}
		}
	}
	return value
}

func renamedObject(o Object, prefix string) Object {
	for key := range o {
		o[key] = prefixRefs(o[key], prefix)
	}
	return o
}
