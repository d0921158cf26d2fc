package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

// A credential limited to some agents reads only the entries, patches, explanations and diagnostics
// of those agents. All other routes answer 404, whatever exists.

// errRestricted rejects requests that also concern other agents.
var errRestricted = &server.Refusal{
	Status: http.StatusNotFound, Code: "not_found", Message: "not found: the credential may use some agents only, and this concerns the whole configuration",
}

// readFunc answers a read request.
type readFunc[In, Out any] = func(ctx context.Context, caller service.Caller, r *http.Request, in In) (Out, error)

// forAllAgents returns read, which rejects callers limited to some agents.
func forAllAgents[In, Out any](read readFunc[In, Out]) readFunc[In, Out] {
	return func(ctx context.Context, caller service.Caller, r *http.Request, in In) (out Out, err error) {
		if caller.Agents != nil {
			return out, errRestricted
		}
		return read(ctx, caller, r, in)
	}
}

// visibleFindings returns the findings about agents that the caller may use. If some are hidden,
// hints, related places and circles are omitted: they name other agents.
func visibleFindings(caller service.Caller, list diag.List) diag.List {
	if caller.Agents == nil {
		return list
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d diag.Diagnostic) bool {
		at, ok := diag.ParsePath(d.Path)
		own := ok && len(at) > 1 && at[0].Key == "agents" && caller.Agents.Has(at[1].Key)
		return !own || d.Agent != "" && !caller.Agents.Has(d.Agent) || d.Code == diag.DelegateCycle
	})
	for i := range list {
		list[i].Hint, list[i].Related = "", nil
	}
	return list
}
