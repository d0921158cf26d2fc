package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/registry"
)

// maxKeptChoices bounds the tool choices of the explanations that an explainer keeps, at
// about 500 bytes each.
const maxKeptChoices = 1 << 14

// explainer explains agents of a revision on demand and keeps the most recent
// explanations, so that comparing a large fleet needs little memory.
type explainer struct {
	rev  *registry.Revision
	kept map[string]*Explanation
	// order holds the ids of kept, oldest first, and choices counts their tools.
	order   []string
	choices int
	// definitions are the results of toolDefinition by tool.
	definitions map[string]string
	// err is the first error of find.
	err error
}

func newExplainer(rev *registry.Revision) *explainer {
	return &explainer{rev: rev, kept: make(map[string]*Explanation), definitions: make(map[string]string)}
}

// explain returns an agent's explanation, by its full id.
func (x *explainer) explain(ctx context.Context, id string) (*Explanation, error) {
	if e := x.kept[id]; e != nil {
		return e, nil
	}
	e, err := Explain(ctx, x.rev, id)
	if err != nil {
		return nil, err
	}
	e.Trace = nil // large, and not needed for comparing
	x.kept[id], x.order, x.choices = e, append(x.order, id), x.choices+len(e.Tools)
	for x.choices > maxKeptChoices && len(x.order) > 1 {
		oldest := x.order[0]
		x.choices -= len(x.kept[oldest].Tools)
		delete(x.kept, oldest)
		x.order = x.order[1:]
	}
	return e, nil
}

// find is explain for an agent that another one leads to. After an error, which is stored in err,
// it returns nil.
func (x *explainer) find(ctx context.Context, id string) *Explanation {
	e, err := x.explain(ctx, id)
	if err != nil && x.err == nil {
		x.err = err
	}
	return e
}

// definitionOf returns a tool's toolDefinition, computed once.
func (x *explainer) definitionOf(id string) string {
	definition, ok := x.definitions[id]
	if !ok {
		definition = toolDefinition(x.rev.Set(), id)
		x.definitions[id] = definition
	}
	return definition
}

// toolDefinition identifies the behavior of a global tool to the extent that its declaration shows
// it: settings, parameters and effect.
func toolDefinition(set *registry.Set, id string) string {
	tool, ok := set.Tools.Get(id)
	if !ok {
		return ""
	}
	d := tool.Descriptor()
	return shortHash(fmt.Sprintf("%s\x1f%s\x1f%s\x1f%s\x1f%v",
		set.Definitions[set.Tools.Path(id)], rawjson.CompactText(d.Parameters), d.Effect, d.Limit(), d.Serial))
}

// shortHash identifies a text without showing it.
func shortHash(text string) string {
	const shown = 12
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:shown]
}
