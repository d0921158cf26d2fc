package runtime

import (
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/store"
)

// Caller is who asks: what belongs to somebody else looks to it as if it did
// not exist.
type Caller struct {
	// Tenant is a team or customer, Subject a person or program of it. Both are
	// required.
	Tenant  string
	Subject string
	// Agents are the agents that it may use; nil is all of them. What belongs to
	// other agents looks to it as if it did not exist.
	Agents *AgentSet
	// operator sees everything.
	operator bool
}

// Operator is the caller that sees everything: the person at the machine, and
// the runtime itself. What it makes belongs to nobody else.
func Operator() Caller { return Caller{Tenant: "operator", Subject: "operator", operator: true} }

// ErrNoCaller says that a request does not say who asks.
var ErrNoCaller = errors.New("the caller has no tenant or no subject")

func (c Caller) scope() (store.Scope, error) {
	switch {
	case c.operator:
		return store.Everything, nil
	case c.Tenant == "" || c.Subject == "":
		return store.Scope{}, ErrNoCaller
	default:
		return store.Of(c.owner()), nil
	}
}

func (c Caller) owner() store.Owner { return store.Owner{Tenant: c.Tenant, Subject: c.Subject} }

// NotFoundError says that there is no such thing, or that the caller does not
// see it. It is store.ErrNotFound.
type NotFoundError struct {
	// Kind is session, turn, interaction, snapshot or artifact.
	Kind string
	ID   string
}

// Error names what was asked for.
func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.Kind, e.ID) }

// Unwrap returns store.ErrNotFound.
func (*NotFoundError) Unwrap() error { return store.ErrNotFound }

// named gives a not found of the store the name of what was asked for.
func named(err error, kind, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{Kind: kind, ID: id}
	}
	return err
}

// InvalidError says that a request cannot be carried out as it is.
type InvalidError struct {
	// Field is the part of the request that is wrong.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Problem) }
