package builder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
)

// limitsTime bounds how long a start waits for the limits of models.
const limitsTime = 2 * time.Second

// leastWindow and leastOutput are the smallest plausible limits, in tokens.
const (
	leastWindow = 256
	leastOutput = 64
)

// LimitsError reports that a server did not answer a request for the limits of a model.
type LimitsError struct {
	Model, Provider string
	Err             error
}

// Error names the model and the cause.
func (e *LimitsError) Error() string {
	return fmt.Sprintf("ask provider %s for the limits of model %s: %v", e.Provider, e.Model, e.Err)
}

// Unwrap returns the cause.
func (e *LimitsError) Unwrap() error { return e.Err }

// LearnLimits is DiscoverLimits for a start: it takes at most two seconds, and does nothing unless
// an agent has a context policy, which needs limits. RelearnLimits queries failed servers again.
func (b *AgentRuntimeBuilder) LearnLimits(ctx context.Context) {
	if needsLimits(b.set) {
		asking, cancel := context.WithTimeout(ctx, limitsTime)
		defer cancel()
		_ = b.DiscoverLimits(asking)
	}
}

// DiscoverLimits queries model servers for the limits that the configuration does not declare. It
// returns the joined errors, each a *LimitsError.
func (b *AgentRuntimeBuilder) DiscoverLimits(ctx context.Context) error {
	found, err := askLimits(ctx, b.set)
	b.set.Limits = withLimits(b.set.Limits, found)
	return err
}

// RelearnLimits is LearnLimits for a runtime. It publishes a revision if a server returned new
// limits.
func RelearnLimits(ctx context.Context, rt *runtime.AgentRuntime) error {
	set := rt.Revision().Set()
	if !needsLimits(set) {
		return nil
	}
	found, err := askLimits(ctx, set)
	maps.DeleteFunc(found, func(id string, l model.Limits) bool { return set.Limits[id] == l })
	if len(found) == 0 {
		return err
	}
	_, publishing := rt.Publish(ctx, func(d *registry.Draft) error {
		for id := range found {
			now, _ := d.Models.Get(id)
			if before, _ := set.Models.Get(id); now != before {
				delete(found, id)
			}
		}
		d.Limits = withLimits(d.Limits, found)
		return nil
	})
	return errors.Join(err, publishing)
}

// needsLimits reports whether an agent has a context policy.
func needsLimits(set *registry.Set) bool {
	has := func(a *spec.Agent) bool {
		_, compacts := a.Sections[spec.CompactionSection]
		return compacts || a.ContextPolicy != nil
	}
	if set.Defaults != nil && has(&set.Defaults.Agent) {
		return true
	}
	for _, agent := range set.Agents.All() {
		if has(agent) {
			return true
		}
	}
	return false
}

// withLimits returns limits with others added, as a new map.
func withLimits(known, found map[string]model.Limits) map[string]model.Limits {
	all := make(map[string]model.Limits, len(known)+len(found))
	maps.Copy(all, known)
	maps.Copy(all, found)
	return all
}

// askLimits returns the servers' limits for models, by model ID. It queries the providers
// concurrently.
func askLimits(ctx context.Context, set *registry.Set) (map[string]model.Limits, error) {
	asked := make(map[string][]*spec.Model)
	for _, m := range set.Models.All() {
		if m.ContextWindow == nil || m.MaxOutputTokens == nil {
			asked[m.ProviderID] = append(asked[m.ProviderID], m)
		}
	}
	var mu sync.Mutex
	var errs []error
	found := make(map[string]model.Limits)
	var running sync.WaitGroup
	for id, models := range asked {
		exec, _ := set.Providers.Get(id)
		source, ok := exec.(model.LimitSource)
		if !ok {
			continue
		}
		running.Go(func() {
			for _, m := range models {
				limits, err := limitsOf(ctx, source, m.UpstreamModel)
				mu.Lock()
				if err != nil {
					errs = append(errs, &LimitsError{Model: m.ID, Provider: m.ProviderID, Err: err})
				} else if limits != (model.Limits{}) {
					found[m.ID] = limits
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return found, errors.Join(errs...)
}

// limitsOf queries one server. A panic is an error, and an implausible limit counts as none.
func limitsOf(ctx context.Context, source model.LimitSource, name string) (limits model.Limits, err error) {
	defer panics.Recover(&err)
	if limits, err = source.Limits(ctx, name); limits.ContextWindow < leastWindow {
		limits.ContextWindow = 0
	}
	if limits.MaxOutputTokens < leastOutput {
		limits.MaxOutputTokens = 0
	}
	return limits, err
}
