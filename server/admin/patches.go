package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// patchRoutes returns the patch routes of the base and each tenant.
func (s *Surface) patchRoutes(at, read, write string) []server.Route {
	at += "/patches"
	return []server.Route{
		server.Handle("GET "+at, read, s.listPatches),
		server.Handle("GET "+at+"/{registry}/{id}", read, s.readPatch),
		server.HandleProgress("PUT "+at+"/{registry}/{id}", write, s.putPatch).WithQuery(changeQueryNames...),
		server.HandleProgress("DELETE "+at+"/{registry}/{id}", write, s.removePatch).WithQuery(changeQueryNames...),
	}
}

// patch is a patch of the base, or of an overlay.
type patch struct {
	Registry string `json:"registry"`
	ID       string `json:"id"`
	Value    any    `json:"value"`
}

// patchList contains all patches of the base, or of an overlay.
type patchList struct {
	Revision revisionRef `json:"revision"`
	Patches  []patch     `json:"patches"`
}

// ETag returns the hash of the revision.
func (l *patchList) ETag() string { return l.Revision.Hash }

// patchAnswer is one patch.
type patchAnswer struct {
	Revision revisionRef `json:"revision"`
	patch
}

// ETag returns the hash of the revision.
func (a *patchAnswer) ETag() string { return a.Revision.Hash }

func (s *Surface) listPatches(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*patchList, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	list, current, err := of.Patches(ctx)
	if err != nil {
		return nil, refuse(err)
	}
	out := &patchList{Revision: refOf(current), Patches: []patch{}}
	for _, p := range list {
		if maySee(caller, p.Registry, p.ID) {
			out.Patches = append(out.Patches, patch{p.Registry, p.ID, p.Value})
		}
	}
	return out, nil
}

func (s *Surface) readPatch(ctx context.Context, caller service.Caller, r *http.Request, _ none) (*patchAnswer, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	registry, id := r.PathValue("registry"), r.PathValue("id")
	if !maySee(caller, registry, id) {
		return nil, &service.NotFoundError{Kind: "patches", ID: registry + "/" + id}
	}
	p, current, err := of.Patch(ctx, registry, id)
	if err != nil {
		return nil, refuse(err)
	}
	return &patchAnswer{refOf(current), patch{p.Registry, p.ID, p.Value}}, nil
}

func (s *Surface) putPatch(ctx context.Context, caller service.Caller, r *http.Request, in entryRequest, report func(done, total int)) (*Published, error) {
	if len(in.Value) == 0 || in.Value[0] != '{' && string(in.Value) != "null" {
		return nil, &service.InvalidError{Field: "value", Problem: "must be an object, or null to remove the entry"}
	}
	return s.changePatch(ctx, caller, r, &in, report)
}

func (s *Surface) removePatch(ctx context.Context, caller service.Caller, r *http.Request, _ none, report func(done, total int)) (*Published, error) {
	return s.changePatch(ctx, caller, r, new(entryRequest), report)
}

// changePatch publishes with one patch changed; without a value the patch is removed.
func (s *Surface) changePatch(ctx context.Context, caller service.Caller, r *http.Request, in *entryRequest, report func(done, total int)) (*Published, error) {
	of, err := s.configurationOf(caller, r)
	if err != nil {
		return nil, err
	}
	if err := checkWhole(caller); err != nil {
		return nil, err
	}
	registry := r.PathValue("registry")
	if !slices.Contains(fleet.Registries, registry) {
		return nil, &service.NotFoundError{Kind: "patches", ID: registry}
	}
	return publish(caller, r, in.Note, report, func(c *fleet.Change) (*fleet.Published, error) {
		return of.PublishPatch(ctx, &fleet.PatchChange{Registry: registry, ID: r.PathValue("id"), Value: in.Value, Change: *c})
	})
}
