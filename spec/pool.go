package spec

import (
	"math"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// Role is the role of a member in a pool.
type Role string

// The roles of pool members.
const (
	// RoleMember may be the home of a session.
	RoleMember Role = "member"
	// RoleFailoverOnly serves only after a switch away from a home.
	RoleFailoverOnly Role = "failover_only"
)

// Pool groups models that can stand in for each other. Its id shares the
// namespace of model ids.
type Pool struct {
	ID      string       `json:"id" key:"true" doc:"The pool's id; it shares the namespace of model ids."`
	Members []PoolMember `json:"members" required:"true" doc:"The models of the pool."`
	Routing *Routing     `json:"routing,omitempty" doc:"How the home member of a session is chosen."`
	Switch  *Switch      `json:"switch,omitempty" doc:"When a call moves to another member."`
}

// PoolMember is one model of a pool.
type PoolMember struct {
	ModelID string   `json:"model_id" required:"true" doc:"The model."`
	Weight  *float64 `json:"weight,omitempty" default:"1" doc:"This member's share of sessions, relative to the others."`
	Role    Role     `json:"role,omitempty" enum:"member|failover_only" default:"member" doc:"failover_only members serve only after a switch."`
}

// Home reports whether the member may be the home of a session.
func (m *PoolMember) Home() bool { return m.Role != RoleFailoverOnly }

// Share returns the member's weight.
func (m *PoolMember) Share() float64 { return orDefault(m.Weight, 1) }

// Routing selects the home member of a session.
type Routing struct {
	Home        string `json:"home,omitempty" enum:"deterministic|round_robin|first_healthy" default:"deterministic" doc:"deterministic: by a hash of the session; round_robin: in turn; first_healthy: the first that works."`
	StickyScope string `json:"sticky_scope,omitempty" enum:"session|run" default:"session" doc:"Lifetime of a home: the session, or one turn (run)."`
}

// Switch says when a call moves on to another member of the pool.
type Switch struct {
	OnCircuitOpen         *bool     `json:"on_circuit_open,omitempty" default:"true" doc:"Avoids members with an open circuit breaker."`
	OnQuota               *bool     `json:"on_quota,omitempty" default:"true" doc:"Moves on if a member is rate limited or overloaded."`
	QuotaRetryAfter       *Duration `json:"quota_retry_after_threshold,omitempty" alias:"quota_retry_after_threshold_secs:s" doc:"Moves on only if the member asks to wait longer than this."`
	OnPermanent           *bool     `json:"on_permanent,omitempty" default:"true" doc:"Moves on when a member rejects the credentials or lacks the model."`
	MaxSwitchesPerSession *int      `json:"max_switches_per_session,omitempty" min:"0" doc:"Maximum switches per session. Unlimited if absent."`
}

// Validate checks the record by itself. Paths are relative to the pool.
func (p *Pool) Validate() diag.List {
	var list diag.List
	if len(p.Members) == 0 {
		list = append(list, diag.New(diag.MissingField, "members", "a pool needs at least one member"))
	}
	homes := 0
	for i := range p.Members {
		m := &p.Members[i]
		path := diag.Index("members", i)
		list = append(list, check.Within(path, check.Required("model_id", m.ModelID))...)
		if w := m.Share(); math.IsNaN(w) || math.IsInf(w, 0) || w <= 0 {
			list = append(list, diag.New(diag.InvalidValue, path+".weight", "weight is %v; it must be more than 0", w))
		}
		list = append(list, check.Within(path, checkChoice("role", m.Role, RoleMember, RoleFailoverOnly))...)
		if m.Home() {
			homes++
		}
		same := func(other PoolMember) bool { return other.ModelID == m.ModelID }
		if m.ModelID != "" && slices.ContainsFunc(p.Members[:i], same) {
			list = append(list, diag.New(diag.InvalidValue, path+".model_id", "model %q is a member twice", m.ModelID))
		}
	}
	if len(p.Members) > 0 && homes == 0 {
		list = append(list, diag.New(diag.InvalidValue, "members", "every member is failover_only; one must have the role member"))
	}
	list = append(list, p.Routing.validate()...)
	if s := p.Switch; s != nil {
		if s.QuotaRetryAfter != nil && *s.QuotaRetryAfter < 0 {
			list = append(list, diag.New(diag.InvalidValue, "switch.quota_retry_after_threshold",
				"quota_retry_after_threshold is %s; it must be 0 or more", s.QuotaRetryAfter))
		}
		list = append(list, check.Within("switch", check.NotNegative("max_switches_per_session", s.MaxSwitchesPerSession))...)
	}
	return list
}

func (r *Routing) validate() diag.List {
	if r == nil {
		return nil
	}
	return slices.Concat(
		check.OneOf("routing.home", r.Home, "deterministic", "round_robin", "first_healthy"),
		check.OneOf("routing.sticky_scope", r.StickyScope, "session", "run"),
	)
}
