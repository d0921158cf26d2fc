package runsclient_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func TestModelsAreFoundByEachOfTheirNames(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	catalog, err := c.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(catalog.Models, func(m runsclient.Model) bool { return m.VendorModelID == "idle" })
	if at < 0 {
		t.Fatalf("the models are %+v", catalog.Models)
	}
	idle := catalog.Models[at]
	read, window := 0.25, 128000
	want := runsclient.Model{ID: idle.ID, Label: idle.Label, Provider: idle.Provider, VendorModelID: "idle", Source: "platform_offering", ContextWindowTokens: &window,
		Pricing: &runsclient.Pricing{Input: 1.5, Output: 6, CacheRead: &read}}
	if diff := cmp.Diff(want, idle); diff != "" || idle.Label == "" || idle.Provider == "" {
		t.Errorf("the model is %+v", idle)
	}
	spec := ask("", "Hi.")
	for _, name := range []string{"hello-1", "platform:hello", "provider:hello", "provider:hello:hello-1", "hello:hello-1"} {
		spec.ModelID = name
		r, err := c.Run(t.Context(), spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect(t, r.Events[len(r.Events)-1:], "result", object{"model": object{"id": "platform:hello", "provider": "hello", "vendorModelId": "hello-1"}})
	}
}
