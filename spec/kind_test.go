package spec_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestAKindMakesItsComponentFromItsOwnRecord(t *testing.T) {
	t.Parallel()
	type settings struct{ Size int }
	k := spec.NewKind("box", "A box.", func(id string, c *settings) (string, error) { return strings.Repeat(id, c.Size), nil })
	config := k.NewConfig()
	if k.NewConfig() == config {
		t.Error("two entries share one record")
	}
	config.(*settings).Size = 3
	if made, err := k.Create("x", config); err != nil || made != "xxx" {
		t.Errorf("Create = %q, %v", made, err)
	}
	for _, wrong := range []any{nil, settings{}, new(int)} {
		if made, err := k.Create("x", wrong); err == nil || made != "" {
			t.Errorf("Create with a %T = %q, %v", wrong, made, err)
		}
	}
}
