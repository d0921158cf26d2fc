package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	acmeKey  = "ark_acme-acme-acme-acme"
	otherKey = "ark_other-other-other"
	peekKey  = "ark_peek-peek-peek-peek"
)

var tenantConfiguration = strings.Replace(configuration, "server:\n  keys:\n", "tenants: {may: {models: [spare]}}\nserver:\n  keys:\n"+
	"    - {id: acme, key: "+acmeKey+", tenant: acme, subject: amy, scopes: [\"config:read:own\", \"config:write:own\"]}\n"+
	"    - {id: other, key: "+otherKey+", tenant: other, subject: oli, scopes: [\"config:read:own\", \"config:write:own\"]}\n"+
	"    - {id: peek, key: "+peekKey+", tenant: acme, subject: pip, scopes: [\"config:read:own\"]}\n", 1)

const acmeOverlay = `{"document":{"version":1,"patches":{"agents":{"clerk":{"system_prompt":"Help Acme."}}}}}`

// as asks with a key, and wants a status.
func (s *site) as(key string, status int, request, match string) map[string]any {
	s.Helper()
	got, answer := s.ask(key, request, match)
	if got != status {
		s.Fatalf("%s is answered with %d, not %d: %v", request, got, status, answer)
	}
	return answer
}

func TestATenantChangesItsOverlay(t *testing.T) {
	s := open(t, tenantConfiguration)
	s.as(acmeKey, http.StatusNotFound, "GET /tenants/acme", "")
	first := s.as(acmeKey, http.StatusOK, "POST /tenants/acme/revisions\n"+acmeOverlay, "none")
	if at(first, "number") != "1" || s.tag != at(first, "hash") {
		t.Errorf("published %v with the tag %s", first, s.tag)
	}
	hash := at(first, "hash")
	s.as(acmeKey, http.StatusConflict, "POST /tenants/acme/revisions\n"+strings.Replace(acmeOverlay, "Acme", "all", 1), "none")
	dry := s.as(acmeKey, http.StatusOK, `PUT /tenants/acme/patches/agents/other?dry_run=true`+"\n"+`{"value":{"model_id":"spare"}}`, hash)
	if at(dry, "number") != "0" || s.tag != "" {
		t.Errorf("the dry run: %v", dry)
	}
	s.as(acmeKey, http.StatusBadRequest, `PUT /tenants/acme/patches/agents/other`+"\n"+`{"value":{"excluded_tools":["x"],"plugin_ids":["y"]}}`, hash)
	next := s.as(acmeKey, http.StatusOK, `PUT /tenants/acme/patches/agents/other`+"\n"+`{"value":{"model_id":"spare"}}`, hash)
	list := s.as(peekKey, http.StatusOK, "GET /tenants/acme/patches", "")
	if at(list, "patches", "1", "id") != "other" || s.tag != at(next, "hash") {
		t.Errorf("the patches are %v", list)
	}
	one := s.as(peekKey, http.StatusOK, "GET /tenants/acme/patches/agents/other", "")
	if at(one, "value", "model_id") != "spare" {
		t.Errorf("the patch is %v", one)
	}
	s.as(peekKey, http.StatusForbidden, "DELETE /tenants/acme/patches/agents/other", at(next, "hash"))
	gone := s.as(acmeKey, http.StatusOK, "DELETE /tenants/acme/patches/agents/other", at(next, "hash"))
	s.as(acmeKey, http.StatusNotFound, "DELETE /tenants/acme/patches/agents/other", at(gone, "hash"))
	if at(gone, "hash") != hash || at(gone, "number") != "3" {
		t.Errorf("without the patch: %v", gone)
	}
	back := s.as(acmeKey, http.StatusOK, "POST /tenants/acme/revisions/"+at(next, "hash")+"/rollback\n{}", hash)
	whole := s.as(acmeKey, http.StatusOK, "GET /tenants/acme", "")
	if at(whole, "hash") != at(back, "hash") || at(whole, "current") != "true" || at(whole, "document", "version") != "1" {
		t.Errorf("the overlay is %v", whole)
	}
	s.as(acmeKey, http.StatusOK, "GET /tenants/acme/revisions/"+hash+"/diff", "")
	s.as(acmeKey, http.StatusOK, "GET /tenants/acme/agents/clerk/explain", "")
	s.as(acmeKey, http.StatusOK, "GET /tenants/acme/diagnostics", "")
	proof := s.as(acmeKey, http.StatusOK, `POST /tenants/acme/validate`+"\n"+`{"document":{"version":1,"patches":{"agents":{"clerk":{"model_id":"m","system_prompt":"${TEST_MODEL}"}}}}}`, "")
	if at(proof, "valid") != "false" {
		t.Errorf("it is valid: %v", proof)
	}
	if attempts := s.as(acmeKey, http.StatusOK, "GET /tenants/acme/attempts", ""); at(attempts, "attempts", "0", "author") != "acme/amy" {
		t.Errorf("the attempts are %v", attempts)
	}
}

// A tenant sees nothing of another one, nor of the base beyond what its agents show.
func TestTenantsAreStrangersToEachOther(t *testing.T) {
	s := open(t, tenantConfiguration)
	hash := at(s.as(acmeKey, http.StatusOK, "POST /tenants/acme/revisions\n"+acmeOverlay, "none"), "hash")
	requests := []string{
		"GET /tenants/acme", "GET /tenants/acme/revisions", "GET /tenants/acme/revisions/" + hash, "GET /tenants/acme/revisions/" + hash + "/diff",
		"GET /tenants/acme/attempts", "GET /tenants/acme/diagnostics", "GET /tenants/acme/agents/clerk/explain", "GET /tenants/acme/patches", "POST /tenants/acme/agents/clerk/check-call\n" + `{"tool":"echo"}`,
		"GET /tenants/acme/patches/agents/clerk", "POST /tenants/acme/validate\n" + acmeOverlay, "POST /tenants/acme/revisions\n" + acmeOverlay,
		"POST /tenants/acme/revisions/" + hash + "/rollback\n{}", "PUT /tenants/acme/patches/agents/clerk\n{\"value\":{}}", "DELETE /tenants/acme/patches/agents/clerk",
	}
	for _, request := range requests {
		answer := s.as(otherKey, http.StatusNotFound, request, hash)
		unknown := s.as(otherKey, http.StatusNotFound, strings.ReplaceAll(request, "/tenants/acme", "/tenants/nobody"), hash)
		if said := strings.ReplaceAll(at(unknown, "error", "message"), "nobody", "acme"); at(answer, "error", "message") != said || at(answer, "error", "code") != at(unknown, "error", "code") {
			t.Errorf("%s reveals that the tenant exists: %v, not %v", request, answer, unknown)
		}
		s.as(plainKey, http.StatusForbidden, request, hash)
		if status, _ := s.ask(operatorKey, request+"", hash); status == http.StatusNotFound || status == http.StatusForbidden {
			t.Errorf("%s of the operator is answered with %d", request, status)
		}
		hash = at(s.as(operatorKey, http.StatusOK, "GET /tenants/acme", ""), "hash")
	}
	for _, request := range []string{"GET /agents", "GET /revisions", "POST /revisions\n{}", "GET /diagnostics", "PUT /patches/agents/clerk\n{\"value\":{}}"} {
		s.as(otherKey, http.StatusForbidden, request, hash)
	}
	if list := s.as(otherKey, http.StatusOK, "GET /tenants", ""); fmt.Sprint(list) != "map[tenants:[]]" {
		t.Errorf("another tenant lists %v", list)
	}
	if list := s.as(readerKey, http.StatusOK, "GET /tenants", ""); at(list, "tenants", "0", "tenant") != "acme" {
		t.Errorf("the operator lists %v", list)
	}
	s.as(otherKey, http.StatusNotFound, "GET /tenants/other/revisions/"+hash, "")
}

func TestABaseThatBreaksATenantIsRefused(t *testing.T) {
	s := open(t, tenantConfiguration)
	s.as(acmeKey, http.StatusOK, `POST /tenants/acme/revisions`+"\n"+`{"document":{"version":1,"patches":{"agents":{"other":{"model_id":"spare"}}}}}`, "none")
	s.want(http.StatusOK, "GET /agents/other", "")
	hash := s.tag
	refused := s.want(http.StatusConflict, "DELETE /models/spare", hash)
	if at(refused, "error", "details", "tenants", "0") != "acme" {
		t.Errorf("it is refused with %v", refused)
	}
	out := s.want(http.StatusOK, "DELETE /models/spare?tenants=except-broken", hash)
	if at(out, "tenants", "broken", "0", "tenant") != "acme" {
		t.Errorf("published %v", out)
	}
	if held := s.as(acmeKey, http.StatusOK, "GET /tenants/acme", ""); at(held, "held_over") != hash {
		t.Errorf("the tenant is over %v", held)
	}
}
