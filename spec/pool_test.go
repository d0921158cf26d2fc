package spec_test

import (
	"math"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestPoolValidate(t *testing.T) {
	t.Parallel()
	one := []spec.PoolMember{{ModelID: "m"}}
	for name, tt := range map[string]struct {
		pool spec.Pool
		want []string
	}{
		"one member":         {spec.Pool{Members: one}, nil},
		"a home and a spare": {spec.Pool{Members: []spec.PoolMember{{ModelID: "m", Role: spec.RoleMember, Weight: new(0.1)}, {ModelID: "n", Role: spec.RoleFailoverOnly}}}, nil},
		"no member":          {spec.Pool{}, []string{"missing-field members: a pool needs at least one member"}},
		"spares only": {spec.Pool{Members: []spec.PoolMember{{ModelID: "m", Role: spec.RoleFailoverOnly}}}, []string{
			"invalid-value members: every member is failover_only; one must have the role member",
		}},
		"members": {
			spec.Pool{Members: []spec.PoolMember{
				{ModelID: "m", Weight: new(0.0)}, {ModelID: "n", Weight: new(math.NaN())}, {ModelID: "m", Role: "spare"}, {}, {}, {ModelID: "o", Weight: new(math.Inf(1))},
			}},
			[]string{
				"invalid-value members[0].weight: weight is 0; it must be more than 0",
				"invalid-value members[1].weight: weight is NaN; it must be more than 0",
				`invalid-value members[2].role: role is "spare"; allowed are member and failover_only`,
				`invalid-value members[2].model_id: model "m" is a member twice`,
				"missing-field members[3].model_id: model_id is required",
				"missing-field members[4].model_id: model_id is required",
				"invalid-value members[5].weight: weight is +Inf; it must be more than 0",
			},
		},
		"routing": {spec.Pool{Members: one, Routing: &spec.Routing{Home: "random", StickyScope: "thread"}}, []string{
			`invalid-value routing.home: "random" is not allowed here; choose one of [deterministic round_robin first_healthy]`,
			`invalid-value routing.sticky_scope: "thread" is not allowed here; choose one of [session run]`,
		}},
		"switching": {spec.Pool{Members: one, Switch: &spec.Switch{QuotaRetryAfter: new(spec.Duration(-1)), MaxSwitchesPerSession: new(-1)}}, []string{
			"invalid-value switch.quota_retry_after_threshold: quota_retry_after_threshold is -1ns; it must be 0 or more",
			"invalid-value switch.max_switches_per_session: max_switches_per_session is -1; it must be 0 or more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.pool.Validate(), tt.want...)
		})
	}
}

func TestAMemberIsAHomeWithWeightOne(t *testing.T) {
	t.Parallel()
	if m := (&spec.PoolMember{}); !m.Home() || m.Share() != 1 {
		t.Errorf("home %v, share %v", m.Home(), m.Share())
	}
	if m := (&spec.PoolMember{Role: spec.RoleFailoverOnly, Weight: new(2.5)}); m.Home() || m.Share() != 2.5 {
		t.Errorf("home %v, share %v", m.Home(), m.Share())
	}
}
