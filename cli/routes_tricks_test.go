package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shout sends raw bytes over a new connection and returns the first answer; a connection that is
// closed without an answer gives the status 0.
func (w *town) shout(t *testing.T, text string) heard {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.LocalURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(storeTime)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }() // the server may close it before reading all
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return heard{}
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // an answer may be truncated
	return heard{resp.StatusCode, resp.Header, string(body)}
}

// wire writes a request without a body.
func wire(request string, headers ...string) string {
	return request + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Join(append(headers, "", ""), "\r\n")
}

// TestNoPathLeadsAroundACredential writes the path of an existing thing in all the ways that a
// router may interpret as another path.
func TestNoPathLeadsAroundACredential(t *testing.T) {
	w := newTown(t)
	made := w.make(t, "{run}{session}{task}")
	for _, path := range []string{
		annPath + "/agent-runs/" + made["{run}"], annPath + "/agent-sessions/" + made["{session}"],
		"/a2a/clerk/tasks/" + made["{task}"], "/runtime/v1/turns/" + made["{run}"], "/metrics",
	} {
		parent, last := path[:strings.LastIndexByte(path, '/')], path[strings.LastIndexByte(path, '/')+1:]
		for _, trick := range []string{
			"/" + path, path + "/", parent + "//" + last, parent + "/./" + last, parent + "/x/../" + last, parent + "/%2e/" + last,
			parent + "/x/%2e%2e/" + last, parent + "/x/%2E%2E%2F" + last, parent + "%2F" + last, parent + "/%2F" + last, parent + `\` + last,
			parent + "/%5C" + last, strings.ToUpper(path), path + "%00", path + ";x=1", path + "?", path + "#x", path + "%20", path + ".json", path + "/..;/" + last,
			"/healthz/.." + path, "/healthz/%2e%2e" + path, "/.well-known/.." + path, "/a2a/x/.well-known/agent-card.json/../../../.." + path,
			"http://localhost" + path, "http://localhost/healthz/.." + path, "*", path[1:],
		} {
			got := w.shout(t, wire("GET "+trick))
			switch {
			case got.status == 0, got.status == http.StatusUnauthorized, got.status == http.StatusNotFound, got.status == http.StatusBadRequest:
			case got.status >= 300 && got.status <= 399 && strings.HasPrefix(got.header.Get("Location"), "/"):
				// The path in its plain form, for which a credential is required.
				if there := w.shout(t, wire("GET "+got.header.Get("Location"))); there.status != http.StatusUnauthorized && there.status != http.StatusNotFound {
					t.Errorf("%s leads to %s: %d", trick, got.header.Get("Location"), there.status)
				}
			default:
				t.Errorf("%s is answered with %d: %s", trick, got.status, got.body)
			}
			if leaked := w.leaks(&got, trick, made); len(leaked) > 0 {
				t.Errorf("%s tells %q: %s", trick, leaked, got.body)
			}
			// Another caller cannot use it either.
			foreign := w.shout(t, wire("GET "+trick, "Authorization: Bearer "+w.token(t, "globex", "bob", w.scopes...)))
			if leaked := w.leaks(&foreign, trick, made); len(leaked) > 0 || foreign.status == http.StatusOK && path != "/metrics" {
				t.Errorf("%s tells somebody else %d %q: %s", trick, foreign.status, leaked, foreign.body)
			}
		}
	}
}

func TestEveryMethodNeedsACredentialWhereAnotherDoes(t *testing.T) {
	w := newTown(t)
	for _, route := range w.Routes() {
		row := rows[route.Pattern]
		if len(row.asks) == 0 {
			continue
		}
		made := things{"{agent}": "clerk"}
		for _, name := range []string{"{run}", "{session}", "{task}", "{hook}", "{ticket}", "{talk}", "{call}", "{context}", "{message}"} {
			made[name] = "x"
		}
		request, _, _ := strings.Cut(made.fill(row.asks[0].request, "acme"), "\n")
		own, path, _ := strings.Cut(request, " ")
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, "PROPFIND", "get"} {
			if method == own && row.public {
				continue
			}
			got := w.shout(t, wire(method+" "+path, "X-Secret: "+annKey, "Content-Length: 0"))
			switch got.status {
			case http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusNotFound:
			case http.StatusOK, http.StatusPermanentRedirect:
				if method != http.MethodHead || !row.public {
					t.Errorf("%s %s is answered with %d: %s", method, path, got.status, got.body)
				}
			default:
				t.Errorf("%s %s is answered with %d: %s", method, path, got.status, got.body)
			}
			if method == http.MethodHead && got.body != "" {
				t.Errorf("HEAD %s has the body %s", path, got.body)
			}
			if strings.Contains(got.body, annKey) || got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s says %v %s", method, path, got.header, got.body)
			}
		}
	}
	if got := w.shout(t, wire("CONNECT localhost:22")); got.status == http.StatusOK {
		t.Errorf("it is a proxy: %d %s", got.status, got.body)
	}
	if got := w.shout(t, wire("GET http://169.254.169.254/latest/meta-data/", "Authorization: Bearer "+annKey)); got.status != http.StatusNotFound {
		t.Errorf("it is a proxy: %d %s", got.status, got.body)
	}
}

func TestHeadersThatAreNotWhatTheySeem(t *testing.T) {
	w := newTown(t)
	path := annPath + "/models"
	for name, tt := range map[string]struct {
		text string
		want int // 0 is any refusal of the HTTP server itself
	}{
		"the key":                       {wire("GET "+path, "X-API-Key: "+annKey), http.StatusOK},
		"the token":                     {wire("GET "+path, "Authorization: bearer "+annKey), http.StatusOK},
		"a key that goes on":            {wire("GET "+path, "X-API-Key: "+annKey[:8], " "+annKey[8:]), http.StatusUnauthorized},
		"a line feed alone":             {wire("GET "+path, "X-API-Key: wrong\nX-API-Key: "+annKey), http.StatusUnauthorized},
		"a carriage return alone":       {wire("GET "+path, "X-API-Key: wrong\rX-API-Key: "+annKey), 0},
		"a NUL":                         {wire("GET "+path, "X-API-Key: "+annKey+"\x00"), 0},
		"a space before the colon":      {wire("GET "+path, "X-API-Key : "+annKey), 0},
		"an underscore":                 {wire("GET "+path, "X_API_Key: "+annKey), http.StatusUnauthorized},
		"two keys":                      {wire("GET "+path, "X-API-Key: "+annKey, "X-API-Key: "+eveKey), http.StatusUnauthorized},
		"the same twice":                {wire("GET "+path, "Authorization: Bearer "+annKey, "authorization: Bearer "+annKey), http.StatusUnauthorized},
		"the same in both":              {wire("GET "+path, "Authorization: Bearer "+annKey, "X-API-Key: "+annKey), http.StatusUnauthorized},
		"one empty, one good":           {wire("GET "+path, "Authorization: ", "X-API-Key: "+annKey), http.StatusUnauthorized},
		"a key in the trailer":          {"POST " + path[:len(path)-6] + "agent-runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-API-Key\r\n\r\n0\r\nX-API-Key: " + annKey + "\r\n\r\n", http.StatusUnauthorized},
		"a key in the user of the URL":  {wire("GET http://ann:" + annKey + "@localhost" + path), http.StatusUnauthorized},
		"a header that is too long":     {wire("GET "+path, "X-API-Key: "+strings.Repeat("x", 1<<20)), http.StatusRequestHeaderFieldsTooLarge},
		"many headers":                  {wire("GET "+path, strings.Repeat("X-A: b\r\n", 1<<17)+"X-API-Key: "+annKey), http.StatusRequestHeaderFieldsTooLarge},
		"a length and chunks":           {"POST " + annPath + "/agent-runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET " + path + " HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		"two lengths":                   {wire("POST "+annPath+"/agent-runs", "Content-Length: 0", "Content-Length: 5"), 0},
		"no host":                       {"GET " + path + " HTTP/1.1\r\nX-API-Key: " + annKey + "\r\n\r\n", 0},
		"an id of the request with CRs": {wire("GET "+path, "X-Request-Id: a\rSet-Cookie: b", "X-API-Key: "+annKey), 0},
	} {
		got := w.shout(t, tt.text)
		if tt.want != 0 && got.status != tt.want || tt.want == 0 && got.status != 0 && got.status != http.StatusBadRequest {
			t.Errorf("%s: the answer is %d %s, want %d", name, got.status, got.body, tt.want)
		}
		if got.header.Get("Set-Cookie") != "" || strings.Contains(got.body, annKey) {
			t.Errorf("%s: the answer is %v %s", name, got.header, got.body)
		}
	}
	if strings.Contains(w.log.String(), annKey) {
		t.Error("the log holds the key")
	}
}

// wildcard matches a pattern part that stands for any text.
var wildcard = regexp.MustCompile(`\{[^}]*\}`)

func TestPagesOfOtherSitesGetNothing(t *testing.T) {
	w := newTown(t)
	for _, route := range w.Routes() {
		row := rows[route.Pattern]
		if len(row.asks) == 0 {
			continue
		}
		request, _, _ := strings.Cut(things{"{agent}": "clerk"}.fill(row.asks[0].request, "acme"), "\n")
		_, path, _ := strings.Cut(request, " ")
		path, _, _ = strings.Cut(wildcard.ReplaceAllString(path, "x"), "?")
		got := w.ask(t, http.MethodOptions, path, "", http.Header{
			"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization"},
		})
		for name := range got.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s says %s: %s", path, name, got.header.Get(name))
			}
		}
		if got.status < http.StatusBadRequest {
			t.Errorf("OPTIONS %s is answered with %d", path, got.status)
		}
	}
	config := strings.Replace(guarded, "server:\n", "server:\n  cors_origins: [\"https://console.example\"]\n", 1)
	s := &town{served: serveHTTP(t, config, oneReply)}
	for origin, allowed := range map[string]bool{
		"https://console.example": true, "https://evil.example": false, "null": false, "http://console.example": false,
		"https://console.example.evil.example": false, "https://CONSOLE.example": false, "https://console.example:444": false,
	} {
		header := http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"GET"}}
		asked := s.ask(t, http.MethodOptions, "/api/v1/workspaces/default/models", "", header)
		if got := asked.header.Get("Access-Control-Allow-Origin"); (got == origin) != allowed || !allowed && got != "" {
			t.Errorf("a preflight of %s is told %q", origin, got)
		}
		if asked.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s may send cookies", origin)
		}
		// An allowed origin is not a credential.
		if got := s.ask(t, http.MethodGet, "/api/v1/workspaces/default/models", "", http.Header{"Origin": {origin}}); got.status != http.StatusUnauthorized {
			t.Errorf("%s gets %d %s", origin, got.status, got.body)
		}
	}
}

// TestAGuessedKeyIsNotToldHowNearItWas verifies that the answers to all wrong keys are identical.
// The lookup by hash prevents timing leaks.
func TestAGuessedKeyIsNotToldHowNearItWas(t *testing.T) {
	w := newTown(t)
	first := ""
	for n := range len(annKey) {
		guess := annKey[:n] + strings.Repeat("x", len(annKey)-n)
		if guess == annKey {
			continue
		}
		got := w.ask(t, http.MethodGet, annPath+"/models", "", bearer(guess))
		if same := got.same(nil); first == "" {
			first = same
		} else if same != first {
			t.Errorf("with %d bytes right it says %s\nwith none %s", n, same, first)
		}
	}
	if !strings.HasPrefix(first, fmt.Sprint(http.StatusUnauthorized)) {
		t.Error(first)
	}
}
