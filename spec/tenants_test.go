package spec_test

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

func TestMinEveryIsASecondOrMore(t *testing.T) {
	t.Parallel()
	for span, isWrong := range map[time.Duration]bool{-1: true, 0: true, 1: true, 999 * time.Millisecond: true, time.Second: false, time.Hour: false} {
		every := spec.Duration(span)
		tenants := &spec.Tenants{May: &spec.TenantRights{Workflows: &spec.TenantWorkflows{MinEvery: &every}}}
		if list := tenants.Validate(); list.HasErrors() != isWrong {
			t.Errorf("%s: %v", span, list)
		}
	}
}
