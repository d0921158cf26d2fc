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
	// byTenant are the tenants that are admitted or wait.
	byTenant map[string]*tenantTurn
	// proving has an element for each proof that uses the processor.
	proving chan struct{}
}

// tenantTurn is held by the caller that works for a tenant.
type tenantTurn struct {
	held  chan struct{}
	users int
}

func newValidations() *validations {
	return &validations{byTenant: make(map[string]*tenantTurn), proving: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// enter waits until no other caller works for a tenant. The caller calls leave when it is
// done.
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

// forget removes a tenant that nobody works or waits for.
func (v *validations) forget(tenant string, t *tenantTurn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(v.byTenant, tenant)
	}
}

// prove waits until the processor is free for one more proof.
func (v *validations) prove(ctx context.Context) (done func(), err error) {
	select {
	case v.proving <- struct{}{}:
		return func() { <-v.proving }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
