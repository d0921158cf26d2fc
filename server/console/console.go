// Package console serves a web page that shows agents, turns and items waiting for a person. The
// page is static: it uses the server's HTTP API with the key that its user enters.
package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/openapi"
)

// prefix is the path of the page.
const prefix = "/console"

// policy lets the page load only its own files and connect only to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed app/index.html app/*.css app/*.js app/pages/*.js app/vendor/*.js app/vendor/LICENSES.txt
var files embed.FS

// asset is a file of the page.
type asset struct {
	mediaType, tag string
	plain, zipped  []byte
}

// loadAssets compresses the files once.
var loadAssets = sync.OnceValues(func() (map[string]*asset, error) {
	assets := map[string]*asset{}
	err := fs.WalkDir(files, "app", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		a, err := newAsset(name, data)
		assets[strings.TrimPrefix(name, "app/")] = a
		return err
	})
	return assets, err
})

func newAsset(name string, data []byte) (*asset, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &asset{
		mediaType: mediaTypeOf(name), tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		plain: data, zipped: zipped.Bytes(),
	}, nil
}

// mediaTypeOf does not use the system's table, which may name other types for scripts.
func mediaTypeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return "text/html; charset=utf-8"
	}
}

// surface serves the page. It is safe for concurrent use.
type surface struct{}

var (
	_ server.Surface           = surface{}
	_ server.DeferredDescriber = surface{}
)

// OpenAPI describes the routes of the page.
func (s surface) OpenAPI() []byte {
	type answers = map[int]openapi.Answer
	return server.DescribeAPI(&openapi.API{
		Title: "Console", Doc: "The web console, a static page that uses the other protocols.",
		Operations: map[string]openapi.OperationDoc{
			"findConsole": {Summary: "Redirect to the page", Answers: answers{
				http.StatusPermanentRedirect: {Doc: "The header Location has the address of the page."},
			}},
			"readConsole": {Summary: "Read the page", Answers: answers{
				http.StatusOK: {
					Doc:  "The page. Its scripts and styles are served below this path.",
					Body: openapi.Object{"type": "string"}, Media: []string{"text/html"},
				},
				http.StatusNotModified: {Doc: "The page has not changed."},
			}},
		},
	}, s.Routes())
}

// DeferDescription does nothing: tests check the description against the routes.
func (surface) DeferDescription() {}

// Routes returns the routes of the page. They are public: the page contains no data.
func (surface) Routes() []server.Route {
	return []server.Route{
		{Pattern: "GET " + prefix, ID: "findConsole", Public: true, Handler: http.HandlerFunc(redirectToPage)},
		{Pattern: "GET " + prefix + "/{file...}", ID: "readConsole", Public: true, Quiet: true, Handler: http.HandlerFunc(serveFile)},
	}
}

// redirectToPage adds the slash that relative links need. The location is relative, because
// a proxy may have removed the beginning of the path.
func redirectToPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "./"+path.Base(prefix)+"/")
	w.WriteHeader(http.StatusPermanentRedirect)
}

func serveFile(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	assets, err := loadAssets()
	if err != nil {
		http.Error(w, "the console cannot be read", http.StatusInternalServerError)
		return
	}
	a, ok := assets[cmp.Or(r.PathValue("file"), "index.html")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", a.tag)
	header.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", a.mediaType)
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone
}
