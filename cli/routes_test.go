package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config/settings"
)

func TestEveryRouteHasARowAndEveryRowARoute(t *testing.T) {
	w := newTown(t)
	mounted := map[string]bool{}
	for _, route := range w.Routes() {
		mounted[route.Pattern] = true
		want, known := rows[route.Pattern]
		if !known {
			t.Errorf("%q has no row: say who may ask, and what everybody else is told", route.Pattern)
			continue
		}
		if route.Public != want.public || route.Scope != want.scope {
			t.Errorf("%q is public: %v, and needs the scope %q", route.Pattern, route.Public, route.Scope)
		}
		if !route.Public && route.Scope == "" {
			t.Errorf("%q needs no scope: a key that may do nothing may use it", route.Pattern)
		}
	}
	for pattern := range rows {
		if !mounted[pattern] {
			t.Errorf("the row %q has no route", pattern)
		}
	}
	components := shipped.Components()
	if needed := slices.Sorted(slices.Values(w.scopes)); !slices.Equal(needed, slices.Sorted(slices.Values(components.Scopes()))) {
		t.Errorf("the routes need the scopes %q", needed)
	}
}

// TestEveryRouteAnswersItsOwnerAlone sends each route requests from every kind of caller.
func TestEveryRouteAnswersItsOwnerAlone(t *testing.T) {
	w := newTown(t)
	strangers := w.strangers(t)
	for _, route := range w.Routes() {
		for _, q := range rows[route.Pattern].asks {
			t.Run(strings.ReplaceAll(q.request, "/", "|"), func(t *testing.T) {
				v := visit{town: w, row: rows[route.Pattern], asked: q, made: w.make(t, q.request)}
				if _, at := w.mux.Handler(v.at(t, v.made, "acme")); at != route.Pattern {
					t.Fatalf("the request is one of %q", at)
				}
				v.byStrangers(t, strangers)
				v.withoutScope(t)
				v.byForeigners(t)
				v.withoutAgent(t)
				v.byOwner(t)
			})
		}
	}
	for _, secret := range w.secrets {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// visit sends one inquiry to one route.
type visit struct {
	*town
	row   row
	asked inquiry
	made  things
}

// at returns the request as sent by a member of a tenant, with the named things.
func (v *visit) at(t *testing.T, named things, tenant string) *http.Request {
	t.Helper()
	method, path, _ := v.parts(named, tenant)
	req, err := http.NewRequestWithContext(t.Context(), method, v.LocalURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func (v *visit) parts(named things, tenant string) (method, path, body string) {
	request, body, _ := strings.Cut(named.fill(v.asked.request, tenant), "\n")
	method, path, _ = strings.Cut(request, " ")
	return method, path, body
}

// put sends the request and checks that the answer reveals nothing unknown to the caller.
func (v *visit) put(t *testing.T, named things, tenant string, header http.Header, query string) heard {
	t.Helper()
	got := v.send(t, named, tenant, header, query)
	_, path, body := v.parts(named, tenant)
	if leaked := v.leaks(&got, path+body, v.made); len(leaked) > 0 {
		t.Errorf("the answer holds %q: %s", leaked, got.body)
	}
	return got
}

func (v *visit) send(t *testing.T, named things, tenant string, header http.Header, query string) heard {
	t.Helper()
	method, path, body := v.parts(named, tenant)
	if query != "" {
		mark := "?"
		if strings.Contains(path, mark) {
			mark = "&"
		}
		path += mark + query
	}
	headers := []http.Header{header}
	if strings.Contains(path, "/v0.3") {
		headers = append(headers, http.Header{"A2a-Version": {"0.3"}})
	}
	if v.asked.form {
		headers = append(headers, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	}
	return v.ask(t, method, path, body, headers...)
}

// refused checks a rejection by the router.
func refused(t *testing.T, who string, got *heard, status int, challenge, body string) {
	t.Helper()
	said := strings.TrimSpace(strings.ReplaceAll(got.body, got.header.Get("X-Request-Id"), "REQUEST"))
	given, metadata, _ := strings.Cut(got.header.Get("WWW-Authenticate"), ", resource_metadata=")
	if got.status != status || given != challenge || metadata != "" && !strings.Contains(metadata, "/.well-known/oauth-protected-resource/mcp") || said != body {
		t.Errorf("with %s it says %d, %s, %s\nwant %d, %s, %s", who, got.status, got.header.Get("WWW-Authenticate"), said, status, challenge, body)
	}
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the refusal of %s may be kept: %v", who, got.header)
	}
}

// byStrangers sends requests without a valid credential: the answer does not depend on whether the
// requested thing exists.
func (v *visit) byStrangers(t *testing.T, strangers map[string]stranger) {
	t.Helper()
	gone := v.made.gone()
	for who, s := range strangers {
		got := v.put(t, v.made, "acme", s.header, s.query)
		if v.row.public {
			_, clients := s.header["Authorization"]
			if got.status != v.asked.owner && (!clients || !v.asked.form) { // a client may show its secret there
				t.Errorf("with %s it says %d: %s", who, got.status, got.body)
			}
			continue
		}
		if s.silent {
			refused(t, who, &got, http.StatusUnauthorized, challengeNobody, v.row.speaks.nobody)
		} else {
			refused(t, who, &got, http.StatusUnauthorized, challengeBad, v.row.speaks.bad)
		}
		if none := v.put(t, gone, "acme", s.header, s.query); none.same(gone) != got.same(v.made) {
			t.Errorf("with %s what exists is told from what does not:\n%s\n%s", who, got.same(v.made), none.same(gone))
		}
	}
}

// withoutScope sends the request as the owner with all other scopes.
func (v *visit) withoutScope(t *testing.T) {
	t.Helper()
	if v.row.public {
		return
	}
	others := slices.DeleteFunc(slices.Clone(v.scopes), func(scope string) bool { return scope == v.row.scope || scope == settings.WiderScope(v.row.scope) })
	for who, scopes := range map[string][]string{"all other scopes": others, "no scope": nil, "a part of the scope": {v.row.scope[:len(v.row.scope)-1], "*", "all"}} {
		got := v.put(t, v.made, "acme", bearer(v.token(t, "acme", "ann", scopes...)), "")
		refused(t, who, &got, http.StatusForbidden, fmt.Sprintf(challengeScope, v.row.scope), strings.ReplaceAll(v.row.speaks.scope, "%s", v.row.scope))
	}
}

// byForeigners sends the request as other callers with all scopes but no things: the answer is the
// same as if the thing did not exist.
func (v *visit) byForeigners(t *testing.T) {
	t.Helper()
	if v.row.public {
		return
	}
	gone := v.made.gone()
	if agent, named := v.made["{agent}"]; named {
		gone["{agent}"] = agent
	}
	for who, caller := range map[string][2]string{"another workspace": {"globex", "bob"}, "another subject": {"acme", "ben"}, "the same name elsewhere": {"globex", "ann"}} {
		header := bearer(v.token(t, caller[0], caller[1], v.scopes...))
		got := v.put(t, v.made, caller[0], header, "")
		if v.asked.lost != "" {
			status, says, _ := strings.Cut(v.asked.lost, " ")
			if fmt.Sprint(got.status) != status || !strings.Contains(got.body, v.made.fill(says, "")) {
				t.Errorf("%s is told %d: %s", who, got.status, got.body)
			}
			if none := v.put(t, gone, caller[0], header, ""); none.same(gone) != got.same(v.made) {
				t.Errorf("%s can tell what exists from what does not:\n%s\n%s", who, got.same(v.made), none.same(gone))
			}
		}
		if caller[0] != "acme" && strings.Contains(v.asked.request, "{workspace}") {
			got := v.put(t, v.made, "acme", header, "")
			if want := `{"error":"Workspace path does not match this credential","code":"not_found","hint":"globex"}`; got.status != http.StatusNotFound || strings.TrimSpace(got.body) != want {
				t.Errorf("in the workspace of others %s is told %d: %s", who, got.status, got.body)
			}
			if none := v.put(t, v.made, "nobody", header, ""); none.same(v.made) != got.same(v.made) {
				t.Errorf("%s can tell a workspace that exists from one that does not: %s", who, none.body)
			}
		}
	}
}

// withoutAgent sends the request as the owner restricted to another agent: neither the agent nor
// its results seem to exist.
func (v *visit) withoutAgent(t *testing.T) {
	t.Helper()
	if v.row.public {
		return
	}
	eve := bearer(eveKey)
	if !strings.Contains(v.asked.request, "{agent}") {
		gone := v.made.gone()
		got := v.put(t, v.made, "acme", eve, "")
		status, _, named := strings.Cut(v.asked.lost, " ")
		if !named {
			return
		}
		none := v.put(t, gone, "acme", eve, "")
		if got.same(v.made) != none.same(gone) {
			t.Errorf("what belongs to another agent is told from what does not exist:\n%s\n%s", got.same(v.made), none.same(gone))
		}
		if fmt.Sprint(got.status) != status {
			t.Errorf("a key for another agent is told %d: %s", got.status, got.body)
		}
		return
	}
	named := things{}
	for name, value := range v.made {
		named[name] = value
	}
	named["{agent}"] = "klerk"
	got, none := v.put(t, v.made, "acme", eve, ""), v.put(t, named, "acme", eve, "")
	if got.same(v.made) != none.same(named) {
		t.Errorf("an agent that may not be used is told from one that does not exist:\n%s\n%s", got.same(v.made), none.same(named))
	}
}

// byOwner sends the request as the owner with only the required scope: it shows that the things
// requested before did exist, and still do.
func (v *visit) byOwner(t *testing.T) {
	t.Helper()
	scopes := []string{v.row.scope}
	if v.row.public {
		scopes = nil
	}
	got := v.send(t, v.made, "acme", bearer(v.token(t, "acme", "ann", scopes...)), "")
	if got.status != v.asked.owner || v.asked.lost != "" && strings.Contains(got.body, `"error":{"code"`) {
		t.Errorf("the owner is told %d: %s", got.status, got.body)
	}
	if secret := regexp.MustCompile(headerSecret + "|" + encryptionKey + "|" + botSecret).FindString(got.body); secret != "" {
		t.Errorf("the owner is told %s: %s", secret, got.body)
	}
}
