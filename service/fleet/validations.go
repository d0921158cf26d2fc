package fleet

import (
	"context"
	"runtime"
	"sync"
)

// validations limits concurrent overlay checks to one per tenant, so that no tenant delays
// others.
type validations struct {
	mu sync.Mutex
	// byTenant holds the tenants that are admitted or waiting.
	byTenant map[string]*tenantTurn
	// proving has an element for each running proof.
	proving chan struct{}
}

// tenantTurn is held by the caller working on a tenant.
type tenantTurn struct {
	held  chan struct{}
	users int
}

func newValidations() *validations {
	return &validations{byTenant: make(map[string]*tenantTurn), proving: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// enter waits until no other caller works on a tenant. The caller must call leave when done.
func (v *validations) enter(ctx context.Context, tenant string) (leave func(), err error) {
	v.mu.Lock()
	t := v.byTenant[tenant]
	if t == nil {
		t = &tenantTurn{held: make(chan struct{}, 1)}
		v.byTenant[tenant] = t
	}
	t.users++
	v.mu.Unlock()
	select {
	case t.held <- struct{}{}:
		return func() { <-t.held; v.forget(tenant, t) }, nil
	case <-ctx.Done():
		v.forget(tenant, t)
		return nil, ctx.Err()
	}
}

// forget removes a tenant that no caller works on or waits for.
func (v *validations) forget(tenant string, t *tenantTurn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(v.byTenant, tenant)
	}
}

// prove waits for processor capacity for one more proof.
func (v *validations) prove(ctx context.Context) (done func(), err error) {
	select {
	case v.proving <- struct{}{}:
		return func() { <-v.proving }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
