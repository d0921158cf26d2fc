package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider"
	"github.com/agentruntime/agentruntime/internal/testkit/providertest"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// hostedBase has an agent at a provider that is a process, with an environment variable.
const hostedBase = `version: 1
agent_providers:
  coder: {type: process, command: [%q], env: {PROVIDERTEST_MODE: "${MODE:-%s}", VARIANT: "${VARIANT:-%s}"}, drain_timeout: 200ms}
agents:
  coder: {description: Codes., endpoint: {backend: provider, target: coder}}
tenants: {may: {}}
`

// TestProcessesOfProvidersEndAlsoForTenants has tenants with overlays, whose revisions the
// process keeps, when the base changes the provider, and when a tenant removes its agent.
func TestProcessesOfProvidersEndAlsoForTenants(t *testing.T) {
	temp, err := os.MkdirTemp("", "t") // short: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := func(variant string) string { return fmt.Sprintf(hostedBase, self, providertest.Steady, variant) }
	p := program{store: newStore(t), fromStore: true, exec: answersDone(), agentProviders: provider.Kinds()}
	one := p.start(t, text("first"))
	pools := func() []string {
		found, err := filepath.Glob(filepath.Join(temp, "agentprovider*", "*", "provider.sock"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	await := func(what string, is func([]string) bool) []string {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			found := pools()
			if is(found) {
				return found
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: there are %q", what, found)
			}
		}
	}
	use := func(tenant string) {
		t.Helper()
		rev, err := one.fleet.AcquireTenant(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		defer rev.Release()
		rev.Set().StartProviders(nil)
	}
	publish := func(base string) {
		t.Helper()
		if _, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: []byte(base), Expected: one.fleet.Running().Hash, Author: "ann", ExceptBroken: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tenant := range []string{"acme", "umbrella"} {
		one.mustPublishFor(tenant, `{"version":1,"patches":{"agents":{"coder":{"description":"Codes for `+tenant+`."}}}}`)
		use(tenant)
	}
	first := await("both tenants use the provider of the base", func(found []string) bool { return len(found) == 1 })
	one.mustPublishFor("umbrella", `{"version":1,"patches":{"agents":{"coder":null}}}`)
	use("umbrella")
	time.Sleep(500 * time.Millisecond)
	if found := pools(); len(found) != 1 || found[0] != first[0] {
		t.Errorf("an overlay that removes the agent changes the processes: %q", found)
	}
	publish(text("second"))
	await("the base has another provider", func(found []string) bool {
		return len(found) == 0 || !strings.Contains(strings.Join(found, " "), first[0])
	})
	use("acme")
	await("a tenant uses it", func(found []string) bool { return len(found) == 1 && found[0] != first[0] })
	publish("version: 1\nagents: {}\ntenants: {may: {}}\n")
	await("the base has none", func(found []string) bool { return len(found) == 0 })
}
