package permission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/plugins"
)

// Many rules for one tool are not compared: both directions may be true then.
func TestComparingManyRulesTakesLittleTime(t *testing.T) {
	t.Parallel()
	rules := func(behavior string) string {
		var list []string
		for i := range 1000 {
			list = append(list, fmt.Sprintf(`{"tool":"wc(a%d == 1)","behavior":%q}`, i, behavior))
		}
		return `{"rules":[` + strings.Join(list, ",") + `]}`
	}
	before, after := gateOf(t, rules("ask")).(plugins.DiffGate), gateOf(t, rules("deny")).(plugins.DiffGate)
	begun := time.Now()
	if w := after.Widening(before, "wc"); !w.Widened || !w.Narrowed || !strings.Contains(w.Reason, "cannot be compared") {
		t.Errorf("%+v", w)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	if w := after.Widening(after, "wc"); w.Widened || w.Narrowed {
		t.Errorf("equal rules: %+v", w)
	}
}
