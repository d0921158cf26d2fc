package resolve

import (
	"testing"

	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// Of a pool only that counts which each of its members can do.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	cheap, dear := &spec.Pricing{InputPerMillion: 1}, &spec.Pricing{InputPerMillion: 9}
	large := &spec.Model{ID: "large", ContextWindow: new(200), MaxOutputTokens: new(10), Pricing: dear}
	small := &spec.Model{ID: "small", ContextWindow: new(100), MaxOutputTokens: new(20), Pricing: cheap}
	unknown := &spec.Model{ID: "unknown"}
	x := &index{set: registry.NewStore(nil).Current().Set()}
	for name, tt := range map[string]struct {
		models []*spec.Model
		want   capabilities
	}{
		"nothing known": {[]*spec.Model{unknown}, capabilities{}},
		"one":           {[]*spec.Model{large}, capabilities{ContextWindow: 200, MaxOutput: 10, DeclaredOutput: 10, Pricing: map[string]*spec.Pricing{"large": dear}}},
		"several":       {[]*spec.Model{unknown, large, small}, capabilities{ContextWindow: 100, MaxOutput: 10, DeclaredOutput: 10, Pricing: map[string]*spec.Pricing{"large": dear, "small": cheap}}},
	} {
		if diff := cmp.Diff(tt.want, x.capabilitiesOf(tt.models...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
