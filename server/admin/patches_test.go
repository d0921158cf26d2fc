package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A patch of the base stays a patch: the entry keeps its own value, which counts again
// without the patch.
func TestPatchesOfTheBaseAreKept(t *testing.T) {
	s := open(t, configuration)
	first := s.hash()
	const patchClerk = "PUT /patches/agents/clerk%s\n" + `{"value":{"system_prompt":"Patched."},"note":"rehearsal"}`
	s.want(http.StatusBadRequest, fmt.Sprintf(patchClerk, ""), "")
	if dry := s.want(http.StatusOK, fmt.Sprintf(patchClerk, "?dry_run=true"), first); at(dry, "diff", "agents", "0", "agent") != "clerk" || s.hash() != first {
		t.Errorf("the dry run: %v", dry)
	}
	out := s.want(http.StatusOK, fmt.Sprintf(patchClerk, ""), first)
	patched := at(out, "hash")
	if s.tag != patched || at(out, "diff", "agents", "0", "changes", "0", "field") != "prompt" {
		t.Errorf("published %v", out)
	}
	if got := s.want(http.StatusOK, "GET /agents/clerk", ""); at(got, "value", "system_prompt") != "Help." || at(got, "patched") != "true" {
		t.Errorf("the agent is %v", got)
	}
	if list := s.want(http.StatusOK, "GET /patches", ""); at(list, "patches", "0", "value", "system_prompt") != "Patched." || s.tag != patched {
		t.Errorf("the patches are %v", list)
	}
	if one := s.want(http.StatusOK, "GET /patches/agents/clerk", ""); at(one, "value", "system_prompt") != "Patched." || s.tag != patched {
		t.Errorf("the patch is %v", one)
	}
	s.want(http.StatusNotFound, "GET /patches/agents/other", "")
	s.want(http.StatusNotFound, "GET /patches/nothing/other", "")
	if r := s.want(http.StatusOK, "GET /revisions/"+patched, ""); at(r, "document", "patches", "agents", "clerk", "system_prompt") != "Patched." || at(r, "note") != "rehearsal" {
		t.Errorf("the revision is %v", r)
	}
	if d := s.want(http.StatusOK, "GET /revisions/"+patched+"/diff", ""); at(d, "agents", "0", "agent") != "clerk" {
		t.Errorf("the difference is %v", d)
	}
	e := s.want(http.StatusOK, "GET /agents/clerk/explain", "")
	if decided := fmt.Sprint(e["explanation"].(map[string]any)["decisions"]); !strings.Contains(decided, "place:patches.agents.clerk.system_prompt") || !strings.Contains(decided, "place:agents.clerk.model_id") {
		t.Errorf("it was decided at %s", decided)
	}
	// An entry that is changed keeps its patch, and one with a patch is not removed.
	under := s.want(http.StatusOK, "PUT /agents/clerk\n"+`{"value":{"model_id":"m","system_prompt":"Help more.","excluded_tools":["echo"]}}`, patched)
	if at(under, "diff", "agents") != "[]" || at(under, "diff", "entries") != "[map[kind:changed path:agents.clerk]]" {
		t.Errorf("below the patch it changes %v", under)
	}
	if inUse := s.want(http.StatusConflict, "DELETE /agents/clerk", s.tag); at(inUse, "error", "details", "used_by") != "[patches.agents.clerk]" {
		t.Errorf("it is in use by %v", inUse)
	}
	s.want(http.StatusConflict, "DELETE /patches/agents/clerk", first)
	gone := s.want(http.StatusOK, "DELETE /patches/agents/clerk", s.hash())
	if at(gone, "diff", "agents", "0", "changes", "0", "field") != "prompt" {
		t.Errorf("without the patch: %v", gone)
	}
	s.want(http.StatusNotFound, "DELETE /patches/agents/clerk", s.hash())
	if list := s.want(http.StatusOK, "GET /patches", ""); at(list, "patches") != "[]" {
		t.Errorf("the patches are %v", list)
	}
	s.want(http.StatusOK, "POST /revisions/"+patched+"/rollback\n{}", s.hash())
	if list := s.want(http.StatusOK, "GET /patches", ""); at(list, "patches", "0", "id") != "clerk" || s.hash() != patched {
		t.Errorf("after the rollback the patches are %v", list)
	}
	back := s.want(http.StatusOK, "POST /revisions/"+first+"/rollback\n{}", patched)
	if s.hash() != first || at(back, "hash") != first {
		t.Errorf("back to the first: %v", back)
	}
}

// A patch that widens access is refused, unless it allows that, and its mistakes are
// reported at their paths in the patch.
func TestPatchesOfTheBaseAreJudged(t *testing.T) {
	s := open(t, configuration)
	first := s.hash()
	const widens = "PUT /patches/agents/clerk%s\n" + `{"value":{"excluded_tools":null%s}}`
	for _, query := range []string{"", "?dry_run=true"} {
		refused := s.want(http.StatusBadRequest, fmt.Sprintf(widens, query, ""), first)
		if at(refused, "error", "details", "findings", "1", "code") != "widened-access" || at(refused, "error", "details", "findings", "1", "path") != "patches.agents.clerk.excluded_tools" ||
			at(refused, "error", "details", "findings", "1", "file") != "document" {
			t.Errorf("it is refused with %v", refused)
		}
	}
	s.want(http.StatusConflict, fmt.Sprintf(widens, "?fail_on=widened", `,"allow_widening":true`), first)
	if out := s.want(http.StatusOK, fmt.Sprintf(widens, "", `,"allow_widening":true`), first); at(out, "diff", "widened") != "true" {
		t.Errorf("published %v", out)
	}
	wrong := s.want(http.StatusBadRequest, "PUT /patches/agents/other\n"+`{"value":{"model_id":"spar","max_round":1}}`, s.hash())
	if paths := fmt.Sprint(at(wrong, "error", "details", "findings", "0", "path"), at(wrong, "error", "details", "findings", "1", "path")); !strings.Contains(paths, "patches.agents.other.max_round") {
		t.Errorf("the findings are %v", wrong)
	}
	wrong = s.want(http.StatusBadRequest, "PUT /patches/agents/other\n"+`{"value":{"model_id":"spar"}}`, s.hash())
	if !strings.Contains(fmt.Sprint(wrong), "path:patches.agents.other.model_id") {
		t.Errorf("the findings are %v", wrong)
	}
	wrong = s.want(http.StatusBadRequest, "PUT /patches/agents/nobody\n"+`{"value":{"model_id":"m"}}`, s.hash())
	if at(wrong, "error", "details", "findings", "0", "code") != "unmatched-patch" || at(wrong, "error", "details", "findings", "0", "path") != "patches.agents.nobody" {
		t.Errorf("the findings are %v", wrong)
	}
	s.want(http.StatusNotFound, "PUT /patches/nothing/x\n"+`{"value":{}}`, s.hash())
	s.want(http.StatusBadRequest, "PUT /patches/agents/other\n"+`{"value":"text"}`, s.hash())
	inUse := s.want(http.StatusBadRequest, "PUT /patches/models/m\n"+`{"value":null}`, s.hash())
	if !strings.Contains(fmt.Sprint(inUse), "agents.clerk.model_id") {
		t.Errorf("removing a model that is used: %v", inUse)
	}
	s.want(http.StatusOK, "PUT /patches/models/spare\n"+`{"value":null}`, s.hash())
	secret := s.want(http.StatusBadRequest, "PUT /patches/providers/demo\n"+`{"value":{"api_key":"sk-abcdefghijklmnopqrstuvwxyz0123456789"}}`, s.hash())
	if strings.Contains(fmt.Sprint(secret), "abcdefghijklm") {
		t.Errorf("the secret is %v", secret)
	}
}

// Who may use some agents only sees their patches, and others none.
func TestPatchesOfTheBaseAreForThoseWhoMaySeeThem(t *testing.T) {
	s := open(t, tenantConfiguration)
	s.want(http.StatusOK, "PUT /patches/agents/clerk\n"+`{"value":{"system_prompt":"Patched."}}`, s.hash())
	s.want(http.StatusOK, "PUT /patches/agents/other\n"+`{"value":{"system_prompt":"Patched, too."}}`, s.hash())
	if list := s.as(someKey, http.StatusOK, "GET /patches", ""); strings.Contains(fmt.Sprint(list), "clerk") || !strings.Contains(fmt.Sprint(list), "other") {
		t.Errorf("a key for one agent sees %v", list)
	}
	s.as(someKey, http.StatusNotFound, "GET /patches/agents/clerk", "")
	s.as(someKey, http.StatusBadRequest, "DELETE /patches/agents/other", s.hash())
	for _, request := range []string{"GET /patches", "GET /patches/agents/clerk", "DELETE /patches/agents/clerk", "PUT /patches/agents/clerk\n{\"value\":{}}"} {
		s.as(plainKey, http.StatusForbidden, request, "x")
		s.as(acmeKey, http.StatusForbidden, request, "x")
	}
	s.as(readerKey, http.StatusForbidden, "DELETE /patches/agents/clerk", s.hash())
}

// The overlay of a tenant lies over the patches of the base.
func TestOverlaysLieOverThePatchesOfTheBase(t *testing.T) {
	s := open(t, tenantConfiguration)
	s.want(http.StatusOK, "PUT /patches/agents/clerk\n"+`{"value":{"max_rounds":3,"system_prompt":"Patched."}}`, s.hash())
	s.as(acmeKey, http.StatusOK, "POST /tenants/acme/revisions\n"+acmeOverlay, "none")
	e := s.as(acmeKey, http.StatusOK, "GET /tenants/acme/agents/clerk/explain", "")
	decided := fmt.Sprint(e["explanation"].(map[string]any)["decisions"])
	if !strings.Contains(decided, "place:overlay: patches.agents.clerk.system_prompt") || !strings.Contains(decided, "field:max_rounds place:agents.clerk.max_rounds") {
		t.Errorf("it was decided at %s", decided)
	}
	wrong := s.as(acmeKey, http.StatusBadRequest, "PUT /tenants/acme/patches/agents/clerk\n"+`{"value":{"model_id":"nothing"}}`, at(s.as(acmeKey, http.StatusOK, "GET /tenants/acme", ""), "hash"))
	if !strings.Contains(fmt.Sprint(wrong), "path:patches.agents.clerk.model_id") {
		t.Errorf("the findings are %v", wrong)
	}
}
