package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// oldSecret is a value that earlier versions stored, because its name is unremarkable.
const oldSecret = "stored-by-an-earlier-version"

// TestValuesThatEarlierVersionsStoredAreMasked reads revisions of a base and an overlay with
// plain values through all routes.
func TestValuesThatEarlierVersionsStoredAreMasked(t *testing.T) {
	t.Setenv("KEPT", "kept")
	dsn := t.TempDir() + "/runtime.db"
	kept, err := sqlite.Open(t.Context(), store.Settings{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(tenant, document string) string {
		hash := config.HashDocument([]byte(document))
		if _, err := kept.PublishRevision(t.Context(), &store.PublishRevision{Regardless: true, Revision: store.Revision{
			Tenant: tenant, Hash: hash, Document: []byte(document), Author: "ops/ann", CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
		}}); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	const base = `{"version":1,"tenants":{"may":{"kinds":["http"]}},"providers":{"demo":{"type":"scripted"}},"models":{"m":{"provider_id":"demo","upstream_model":"x"},"spare":{"provider_id":"demo","upstream_model":"x"}},` +
		`"tools":{"echo":{"type":"command","description":"Echoes.","command":["cat"],"env":{"DB_PASS":"` + oldSecret + `","KEPT":"${KEPT}"}}},"agents":{"clerk":{"model_id":"m"},"other":{"model_id":"m"}},` +
		`"patches":{"tools":{"echo":{"allow_widening":true,"env":{"PGPASSWORD":"` + oldSecret + `"}}}}}`
	first := publish("", strings.Replace(base, oldSecret, oldSecret+"-once", 1))
	second := publish("", base)
	overlay := publish("acme", `{"version":1,"tools":{"crm":{"type":"http","description":"Finds.","url":"https://crm.example","headers":{"X-Auth":"`+oldSecret+`"}}},"patches":{"agents":{"clerk":{"system_prompt":"Help Acme."}}}}`)
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, strings.NewReplacer("store: {driver: memory}", "store: {driver: sqlite, dsn: "+dsn+"}", "tenants: {may: {", "tenants: {may: {kinds: [http], ").Replace(tenantConfiguration))
	for _, request := range []string{
		"GET /tools", "GET /tools/echo", "GET /patches", "GET /patches/tools/echo", "GET /diagnostics", "GET /agents/clerk/explain", "GET /attempts",
		"GET /revisions", "GET /revisions/" + first, "GET /revisions/" + second, "GET /revisions/" + second + "/diff",
		"GET /tenants/acme", "GET /tenants/acme/patches", "GET /tenants/acme/diagnostics", "GET /tenants/acme/agents/clerk/explain",
		"GET /tenants/acme/revisions/" + overlay, "GET /tenants/acme/revisions/" + overlay + "/diff",
	} {
		if answer := s.as(operatorKey, http.StatusOK, request, ""); strings.Contains(fmt.Sprint(answer), oldSecret) {
			t.Errorf("%s shows %v", request, answer)
		}
	}
	tool := s.as(operatorKey, http.StatusOK, "GET /tools/echo", "")
	if at(tool, "value", "env", "DB_PASS") != "***" || at(tool, "value", "env", "KEPT") != "${KEPT}" {
		t.Errorf("the tool is %v", tool)
	}
	if document := s.as(operatorKey, http.StatusOK, "GET /tenants/acme", ""); at(document, "document", "tools", "crm", "headers", "X-Auth") != "***" {
		t.Errorf("the overlay is %v", document)
	}
	for _, change := range []string{"POST /revisions/" + first + "/rollback\n{}", "PUT /models/spare\n" + `{"value":{"provider_id":"demo","upstream_model":"y"}}`} {
		if answer := s.as(operatorKey, http.StatusBadRequest, change, second); at(answer, "error", "code") != "invalid_document" || strings.Contains(fmt.Sprint(answer), oldSecret) {
			t.Errorf("%s: %v", change, answer)
		}
	}
}
