package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestPropertyWhatIsPublishedIsWhatTheDocumentDeclares publishes random documents, some with
// patches, random changes of single entries, and rollbacks. After each, the running state must
// equal the state of a process that starts with only the merged document: in its hashes, in the dry
// run's findings and their positions, and in the plan of every agent. A rejected change must change
// nothing.
func TestPropertyWhatIsPublishedIsWhatTheDocumentDeclares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
		one := p.start(t, oldConfig)
		defer one.stop()
		e := &publisher{T: rt, test: t, process: one, program: &p}
		e.compare([]byte(oldConfig))
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			rapid.OneOf(
				rapid.Just(e.publishFiles), rapid.Just(e.publishEntry), rapid.Just(e.publishPatch), rapid.Just(e.rollBack),
			).Draw(rt, "step")()
		}
	})
}

// publisher makes random changes.
type publisher struct {
	*rapid.T

	test    *testing.T
	process *process
	program *program
	// published are the published documents in the form created here, and hashes the hashes of
	// their revisions.
	published [][]byte
	hashes    []string
}

// publishFiles publishes random files, in which later files patch the first.
func (e *publisher) publishFiles() {
	sources := []config.Source{{Name: "base.json", Data: e.drawDocument()}}
	if rapid.Bool().Draw(e.T, "patched") {
		sources = append(sources, config.Source{Name: "patch.json", Data: e.drawPatch()})
	}
	file, found := config.Parse(sources, e.program.options())
	if found.HasErrors() {
		return // such files are not sent
	}
	document, err := file.Document()
	if err != nil {
		e.Fatal(err)
	}
	e.publish(document, func(c *fleet.Change) (*fleet.Published, error) {
		c.Document = document
		return e.process.fleet.Publish(e.test.Context(), c)
	})
}

// publishEntry changes or removes one entry of the current document.
func (e *publisher) publishEntry() {
	change := fleet.EntryChange{Registry: "agents", ID: e.drawAgentID("changed agent")}
	if rapid.Bool().Draw(e.T, "a model") {
		change.Registry, change.ID = "models", e.drawModelID("changed model")
		change.Value = encode(e.T, e.drawModel())
	} else {
		change.Value = encode(e.T, e.drawAgent())
	}
	if rapid.IntRange(0, 3).Draw(e.T, "removed") == 0 {
		change.Value = nil
	}
	current, err := e.process.fleet.Current(e.test.Context())
	if err != nil {
		e.Fatal(err)
	}
	document := editDocument(e.T, current.Document, change.Registry, change.ID, change.Value)
	e.publish(document, func(c *fleet.Change) (*fleet.Published, error) {
		change.Change = *c
		return e.process.fleet.PublishEntry(e.test.Context(), &change)
	})
}

// publishPatch changes or removes one patch of the current document.
func (e *publisher) publishPatch() {
	change := fleet.PatchChange{Registry: "agents", ID: e.drawAgentID("patched agent")}
	switch rapid.IntRange(0, 4).Draw(e.T, "kind of patch") {
	case 0: // it is removed
	case 1:
		change.Value = json.RawMessage("null")
	default:
		change.Value = encode(e.T, e.drawPatchOfAgent())
	}
	current, err := e.process.fleet.Current(e.test.Context())
	if err != nil {
		e.Fatal(err)
	}
	document, _, err := config.WithPatch(current.Document, change.Registry, change.ID, change.Value)
	if err != nil {
		e.Fatal(err)
	}
	e.publish(document, func(c *fleet.Change) (*fleet.Published, error) {
		change.Change = *c
		return e.process.fleet.PublishPatch(e.test.Context(), &change)
	})
}

// rollBack publishes an earlier document.
func (e *publisher) rollBack() {
	at := rapid.IntRange(0, len(e.hashes)-1).Draw(e.T, "earlier")
	e.publish(e.published[at], func(c *fleet.Change) (*fleet.Published, error) {
		return e.process.fleet.Rollback(e.test.Context(), e.hashes[at], c)
	})
}

// publish makes a change that results in a document and compares the running state with the
// document.
func (e *publisher) publish(document []byte, do func(*fleet.Change) (*fleet.Published, error)) {
	before, described := e.process.fleet.Running(), describe(e.process.runtime.Revision())
	change := fleet.Change{Expected: before.Hash, Author: "ann", DryRun: true}
	proved, provedErr := do(&change)
	if after := e.process.fleet.Running(); after != before {
		e.Fatalf("after a dry run it runs %+v, before %+v", after, before)
	}
	change.DryRun = false
	out, err := do(&change)
	if (err == nil) != (provedErr == nil) {
		e.Fatalf("published: %v\nthe dry run: %v", err, provedErr)
	}
	if err != nil {
		if diff := cmp.Diff(described, describe(e.process.runtime.Revision())); diff != "" || e.process.fleet.Running() != before {
			e.Fatalf("what was refused changed this (-before +after):\n%s", diff)
		}
		return
	}
	if diff := cmp.Diff(proved.Proof, out.Proof); diff != "" {
		e.Fatalf("the dry run found something else (-dry +published):\n%s", diff)
	}
	if running := e.process.fleet.Running(); running.Hash != out.Hash || running.Number != out.Number {
		e.Fatalf("it runs %+v, and published was %d %s", running, out.Number, out.Hash)
	}
	if out.Unchanged != (out.Hash == before.Hash) {
		e.Fatalf("unchanged is %v, from %s to %s", out.Unchanged, before.Hash, out.Hash)
	}
	e.compare(document)
	e.compareFindings(out.Findings)
}

// compareFindings compares the findings, positions included, with a check of the whole document.
func (e *publisher) compareFindings(got diag.List) {
	current, err := e.process.fleet.Current(e.test.Context())
	if err != nil {
		e.Fatal(err)
	}
	file, _ := config.Parse([]config.Source{{Name: "document", Data: current.Document}}, e.program.options())
	made := e.program.newBuilder().WithConfig(file)
	defer func() { _ = made.Close() }()
	_, list := made.Check(e.test.Context())
	want := file.Complete(nil, list)
	for i := range want {
		want[i].Path = file.DecidedPath(want[i].Path)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		e.Fatalf("it was found something else (-in all of the document +published):\n%s", diff)
	}
}

// compare compares the running state with a document.
func (e *publisher) compare(document []byte) {
	e.published = append(e.published, document)
	e.hashes = append(e.hashes, e.process.fleet.Running().Hash)
	file, found := config.Parse([]config.Source{{Name: "document", Data: document}}, e.program.options())
	if found.HasErrors() {
		e.Fatalf("%v\n%s", found, document)
	}
	canonical, err := file.Document()
	if err != nil {
		e.Fatal(err)
	}
	current, err := e.process.fleet.Current(e.test.Context())
	if err != nil {
		e.Fatal(err)
	}
	if diff := cmp.Diff(string(canonical), string(current.Document)); diff != "" || current.Hash != config.HashDocument(canonical) {
		e.Fatalf("the store has another document (-merged +stored):\n%s", diff)
	}
	built, err := e.program.newBuilder().WithConfig(file).Build()
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = built.Close() }()
	if diff := cmp.Diff(describe(built.Revision()), describe(e.process.runtime.Revision())); diff != "" {
		e.Fatalf("it runs something else (-from scratch +published):\n%s", diff)
	}
	e.compareMerged(canonical)
}

// compareMerged compares the running state with the state for a document whose patches are merged
// into its entries: only the document hash may differ.
func (e *publisher) compareMerged(document []byte) {
	file, found := config.Parse([]config.Source{{Name: "document", Data: e.mergedDocument(document)}}, e.program.options())
	if found.HasErrors() {
		e.Fatal(found)
	}
	built, err := e.program.newBuilder().WithConfig(file).Build()
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = built.Close() }()
	const hashes = 2
	said := func(rev *registry.Revision) []string {
		lines := describe(rev)[hashes:]
		for i := range lines { // an empty list excludes the same as an absent list
			lines[i] = strings.ReplaceAll(lines[i], `,"excluded_tools":[]`, "")
		}
		return lines
	}
	if diff := cmp.Diff(said(built.Revision()), said(e.process.runtime.Revision())); diff != "" {
		e.Fatalf("it runs something else (-merged +published):\n%s", diff)
	}
}

// describe lists the observable properties of a revision: its hashes, the findings of the dry run,
// and its agents' plans.
func describe(rev *registry.Revision) []string {
	out := []string{rev.Hash(), rev.Set().Document}
	for _, d := range rev.Diagnostics() {
		out = append(out, fmt.Sprintf("%s %s %s: %s (%s)", d.Severity, d.Code, d.Path, d.Message, d.Agent))
	}
	for _, id := range rev.Set().AgentIDs() {
		plan, err := resolve.Resolve(context.Background(), rev, id, resolve.Options{})
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %v", id, err))
			continue
		}
		agent, err := json.Marshal(plan.Agent)
		if err != nil {
			return append(out, err.Error())
		}
		l := plan.Local
		out = append(out, fmt.Sprintf("%s: %s\nmodel %s of %s, upstream %s\noffered %v\nregistered %+v\nwarnings %v",
			id, agent, l.ModelID, l.Provider, l.Upstream, l.Offered, l.Env.Registrations(), plan.Warnings))
	}
	return out
}

func encode(t *rapid.T, v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// editDocument replaces an entry of a document, appends it at the end, or removes it.
func editDocument(t *rapid.T, document []byte, registry, id string, value json.RawMessage) []byte {
	var decoded map[string]json.RawMessage
	if err := json.Unmarshal(document, &decoded); err != nil {
		t.Fatal(err)
	}
	var entries []string
	add := func(id string, value json.RawMessage) {
		if value != nil {
			entries = append(entries, fmt.Sprintf("%q:%s", id, value))
		}
	}
	found := false
	if d := json.NewDecoder(bytes.NewReader(decoded[registry])); len(decoded[registry]) > 0 {
		_, _ = d.Token() // the brace
		for d.More() {
			key, keyErr := d.Token()
			var had json.RawMessage
			if err := errors.Join(keyErr, d.Decode(&had)); err != nil {
				t.Fatal(err)
			}
			if key == id {
				found, had = true, value
			}
			add(key.(string), had)
		}
	}
	if !found {
		add(id, value)
	}
	decoded[registry] = json.RawMessage("{" + strings.Join(entries, ",") + "}")
	return encode(t, decoded)
}

func (e *publisher) drawAgentID(label string) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "clerk"}).Draw(e.T, label)
}

func (e *publisher) drawModelID(label string) string {
	return rapid.SampledFrom([]string{"m", "n"}).Draw(e.T, label)
}

type fields = map[string]any

func (e *publisher) drawModel() fields {
	return fields{"provider_id": "p", "upstream_model": rapid.SampledFrom([]string{"up", "elsewhere"}).Draw(e.T, "upstream")}
}

func (e *publisher) drawAgent() fields {
	a := fields{"model_id": e.drawModelID("model")}
	if prompt := rapid.SampledFrom([]string{"", "old", "new", "Grüße, 世界", "${GREETING:-Hello}"}).Draw(e.T, "prompt"); prompt != "" {
		a["system_prompt"] = prompt
	}
	if rapid.Bool().Draw(e.T, "cautious") {
		a["plugin_ids"] = []string{"cautious"}
	}
	if rapid.Bool().Draw(e.T, "without the tool") {
		a["excluded_tools"] = []string{rapid.SampledFrom([]string{"risky", "*"}).Draw(e.T, "excluded")}
	}
	if n := rapid.IntRange(0, 5).Draw(e.T, "rounds"); n > 0 {
		a["max_rounds"] = n
	}
	if rapid.IntRange(0, 2).Draw(e.T, "delegates") == 0 {
		a["delegates"] = []string{e.drawAgentID("delegate")}
	}
	return a
}

// drawDocument draws a document that may have dangling references.
func (e *publisher) drawDocument() []byte {
	models, agents := fields{"m": e.drawModel()}, fields{}
	if rapid.Bool().Draw(e.T, "a second model") {
		models["n"] = e.drawModel()
	}
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "clerk"}), 1, 4, rapid.ID[string]).Draw(e.T, "agents")
	for i, id := range ids {
		agents[id] = e.drawAgent()
		if i > 0 && rapid.IntRange(0, 2).Draw(e.T, "extends") == 0 {
			agents[id] = fields{"extends": ids[i-1], "system_prompt": "extended"}
		}
	}
	return encode(e.T, fields{"version": 1, "providers": fields{"p": fields{"type": "fake"}}, "models": models, "agents": agents})
}

// drawPatch draws an agent patch that a document may contain.
func (e *publisher) drawPatch() []byte {
	agents := fields{}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "clerk"}), 1, 2, rapid.ID[string]).Draw(e.T, "patched agents") {
		agents[id] = e.drawPatchOfAgent()
	}
	return encode(e.T, fields{"version": 1, "patches": fields{"agents": agents}})
}

func (e *publisher) drawPatchOfAgent() fields {
	patch := fields{}
	for name, value := range e.drawAgent() {
		if rapid.Bool().Draw(e.T, "cleared") && name != "model_id" {
			value = nil
		}
		patch[name] = value
	}
	patch["allow_widening"] = true
	return patch
}

// mergedDocument returns a document with its patches applied.
func (e *publisher) mergedDocument(document []byte) []byte {
	var decoded map[string]json.RawMessage
	if err := json.Unmarshal(document, &decoded); err != nil {
		e.Fatal(err)
	}
	patches := decoded["patches"]
	if patches == nil {
		return document
	}
	delete(decoded, "patches")
	file, found := config.Parse([]config.Source{
		{Name: "document", Data: encode(e.T, decoded)}, {Name: "patches", Data: encode(e.T, fields{"version": 1, "patches": patches})},
	}, e.program.options())
	merged, err := file.Document()
	if found.HasErrors() || err != nil {
		e.Fatal(found, err)
	}
	return merged
}
