package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// peerAnswer is the answer of a script's peer to some requests.
type peerAnswer struct {
	// Path, Call and Version select requests: by the URL path, the JSON-RPC method, and the stated
	// protocol version. Empty values match all.
	Path    string `json:"path"`
	Call    string `json:"call"`
	Version string `json:"version"`
	// Authorized requires the request to have the header Authorization.
	Authorized bool `json:"authorized"`

	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	// Body is JSON; PEER in it, and in the header, is the peer's URL.
	Body json.RawMessage `json:"body"`
}

// servePeer is the command peer of scripts: until the script ends, it serves a file of answers, of
// which the first match is used. The variable PEER is the URL.
func servePeer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: peer file")
	}
	var answers []peerAnswer
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &answers))
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for i := range answers {
			if answers[i].fits(r, body) {
				answers[i].write(w, r, server.URL)
				return
			}
		}
		http.NotFound(w, r)
	})
	server.Start()
	ts.Defer(server.Close)
	ts.Setenv("PEER", server.URL)
}

func (a *peerAnswer) fits(r *http.Request, body []byte) bool {
	return (a.Path == "" || a.Path == r.URL.Path) &&
		(a.Call == "" || strings.Contains(string(body), `"method":"`+a.Call+`"`)) &&
		(a.Version == "" || a.Version == r.Header.Get("A2A-Version")) &&
		(!a.Authorized || r.Header.Get("Authorization") != "")
}

func (a *peerAnswer) write(w http.ResponseWriter, r *http.Request, url string) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.Header {
		w.Header().Set(name, strings.ReplaceAll(value, "PEER", url))
	}
	if tag := a.Header["ETag"]; tag != "" && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	text := string(a.Body)
	var page string
	if json.Unmarshal(a.Body, &page) == nil {
		text = page
	}
	_, _ = io.WriteString(w, strings.ReplaceAll(text, "PEER", url))
}
