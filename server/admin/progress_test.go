package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/admin"
	"github.com/agentruntime/agentruntime/server/native"
)

// manyTenants is how many tenants have overlays in the tests.
const manyTenants = 300

// openWithTenants opens a server with the overlays of many tenants, each seventh of which
// needs a model that the next base lacks.
func openWithTenants(t *testing.T) (s *site, client *admin.Client, next string) {
	t.Helper()
	s = open(t, tenantConfiguration)
	for i := range manyTenants {
		overlay := acmeOverlay
		if i%7 == 0 {
			overlay = `{"document":{"version":1,"patches":{"agents":{"other":{"model_id":"spare"}}}}}`
		}
		s.want(http.StatusOK, fmt.Sprintf("POST /tenants/t%d/revisions\n%s", i, overlay), "none")
	}
	listening := httptest.NewServer(s.handler)
	t.Cleanup(listening.Close)
	c, err := native.NewClient(native.ClientSettings{URL: listening.URL, Key: operatorKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r, err := json.Marshal(s.want(http.StatusOK, "GET /revisions/"+s.hash(), "")["document"])
	if err != nil {
		t.Fatal(err)
	}
	return s, admin.NewClient(c), strings.Replace(string(r), `"models":["spare"]`, `"models":[]`, 1)
}

func TestTheProgressOfABaseIsShown(t *testing.T) {
	s, client, next := openWithTenants(t)
	before := s.hash()
	last, total := 0, 0
	change := admin.Change{Expected: before, Progress: func(done, of int) {
		if done < last {
			t.Errorf("after %d it is %d", last, done)
		}
		last, total = done, of
	}}
	_, err := client.Publish(t.Context(), json.RawMessage(next), &change)
	if err == nil || !strings.Contains(err.Error(), "43 tenants would break") || s.hash() != before {
		t.Fatalf("a base that breaks tenants: %v", err)
	}
	change.ExceptBroken, last = true, 0
	out, err := client.Publish(t.Context(), json.RawMessage(next), &change)
	if err != nil || out.Tenants.Checked != manyTenants || len(out.Tenants.Broken) != 43 || s.hash() != out.Hash {
		t.Fatalf("except the broken: %+v: %v", out, err)
	}
	if last != manyTenants || total != manyTenants {
		t.Errorf("the last progress is %d of %d", last, total)
	}
}

// Single entries and patches of the base are proved with all overlays as well, and show
// how far that is.
func TestTheProgressOfASingleEntryIsShown(t *testing.T) {
	s, _, _ := openWithTenants(t)
	for _, request := range []struct{ method, path, body string }{
		{http.MethodPut, "/agents/more", `{"value":{"model_id":"m","allowed_tools":[]}}`},
		{http.MethodPut, "/patches/agents/more", `{"value":{"description":"more"}}`},
		{http.MethodDelete, "/patches/agents/more", ""},
		{http.MethodDelete, "/agents/more", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), request.method, admin.Prefix+request.path, strings.NewReader(request.body))
		r.Header.Set("X-Api-Key", operatorKey)
		r.Header.Set("If-Match", `"`+s.hash()+`"`)
		r.Header.Set("Accept", "application/x-ndjson")
		if request.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, r)
		lines := strings.Split(strings.TrimSpace(answer.Body.String()), "\n")
		if answer.Code != http.StatusOK || len(lines) < 2 || lines[len(lines)-2] != fmt.Sprintf(`{"progress":{"done":%d,"total":%d}}`, manyTenants, manyTenants) ||
			!strings.Contains(lines[len(lines)-1], `"result":`) {
			t.Errorf("%s %s is answered with %d %v", request.method, request.path, answer.Code, lines)
		}
	}
}
