package a2abackend

import (
	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// Kind is the kind of the backend.
const Kind = "a2a"

// Settings are what code hands a factory.
type Settings struct {
	// Logger is told which interface of a peer is chosen; nil logs nothing.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// Factory makes the backends that reach A2A peers. It is safe for concurrent use.
type Factory struct {
	logger *zap.Logger
}

var (
	_ backend.Discoverer = (*Factory)(nil)
	_ backend.Prober     = (*Factory)(nil)
	_ backend.Examiner   = (*Factory)(nil)
)

// NewFactory returns a factory.
func NewFactory(s Settings) *Factory {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &Factory{logger: s.Logger}
}

// Kind returns Kind.
func (*Factory) Kind() string { return Kind }

// Validate reports what is wrong with the target and the options of an endpoint;
// the rest is checked by its record. It reaches nothing.
func (*Factory) Validate(e *spec.Endpoint) diag.List {
	o, list := readOptions(e.Options)
	if e.Target == "." || e.Target == ".." {
		list = append(list, diag.New(diag.InvalidEndpoint, "target", "target %q is no name of an agent", e.Target))
	}
	if keyOutsideHeader(e.Auth) && onlyGRPC(&o) {
		list = append(list, diag.New(diag.InvalidEndpoint, "auth.in", "a key in a %s cannot be sent over gRPC", e.Auth.In))
	}
	return list
}

// New returns the backend of an endpoint. It reaches nothing.
func (f *Factory) New(e *spec.Endpoint) (backend.Backend, error) {
	p, err := newPeer(e, f.logger)
	if err != nil {
		return nil, err
	}
	return &remote{peer: p}, nil
}
