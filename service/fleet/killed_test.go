package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/driver"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// mortal is a process that publishes and dies before or after one of the store operations of the
// publication.
type mortal struct {
	Config string
	// Does is the kind of publication, and Mark the text that it contains.
	Does, Mark string
	// Point counts the points from 1; 0 means no point.
	Point int
}

// mortalStore is a store whose process dies at a point of a publication.
type mortalStore struct {
	store.Store
	point *killtest.Point
}

// publishingKey marks the context of a publication: the process's other store operations do not
// belong to it.
type publishingKey struct{}

// pass counts a point at which the process may die.
func (m *mortalStore) pass(ctx context.Context) {
	if ctx.Value(publishingKey{}) != nil {
		m.point.Pass()
	}
}

func (m *mortalStore) PublishRevision(ctx context.Context, p *store.PublishRevision) (*store.Revision, error) {
	m.pass(ctx)
	defer m.pass(ctx)
	return m.Store.PublishRevision(ctx, p)
}

func (m *mortalStore) AddRevisionAttempt(ctx context.Context, a store.RevisionAttempt) error {
	m.pass(ctx)
	defer m.pass(ctx)
	return m.Store.AddRevisionAttempt(ctx, a)
}

func (m *mortalStore) OverlayMark(ctx context.Context) (uint64, error) {
	defer m.pass(ctx)
	return m.Store.OverlayMark(ctx)
}

func (m *mortalStore) Overlays(ctx context.Context, q store.OverlayQuery) (store.OverlayPage, error) {
	defer m.pass(ctx)
	return m.Store.Overlays(ctx, q)
}

func (m *mortalStore) Overlay(ctx context.Context, tenant string) (store.OverlayState, error) {
	defer m.pass(ctx)
	return m.Store.Overlay(ctx, tenant)
}

func (m *mortalStore) CurrentHash(ctx context.Context, tenant string) (string, error) {
	defer m.pass(ctx)
	return m.Store.CurrentHash(ctx, tenant)
}

func (m *mortalStore) CurrentRevision(ctx context.Context, tenant string) (*store.Revision, error) {
	defer m.pass(ctx)
	return m.Store.CurrentRevision(ctx, tenant)
}

func (m *mortalStore) Revision(ctx context.Context, tenant, hash string) (*store.Revision, error) {
	defer m.pass(ctx)
	return m.Store.Revision(ctx, tenant, hash)
}

// runMortal is a process that publishes unless it dies first.
func runMortal(p *mortal) error {
	components := shipped.Components()
	for i := range components.Stores {
		open := components.Stores[i].Open
		components.Stores[i].Open = func(ctx context.Context, s store.Settings) (*driver.Engine, error) {
			e, err := open(ctx, s)
			if err == nil {
				e.Store = &mortalStore{Store: e.Store, point: killtest.NewPoint(p.Point)}
			}
			return e, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := app.Open(ctx, app.Options{Files: []string{p.Config}, Components: components})
	if err != nil {
		return err
	}
	if err := p.publish(ctx, a.Fleet()); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return a.Shutdown(ctx)
}

// mortalBase is a base over which the overlay of tenant b resolves if it has the model spare.
const mortalBase = `{"version":1,"providers":{"demo":{"type":"scripted"}},"models":{"m":{"provider_id":"demo","upstream_model":"x"}%s},
	"agents":{"clerk":{"model_id":"m","allowed_tools":[],"description":%q}},"tenants":{"may":{"models":["spare"]}}}`

const spareModel = `,"spare":{"provider_id":"demo","upstream_model":"y"}`

// publish publishes over the current revision. A base with an odd mark has no spare model, so that
// it leaves a tenant behind.
func (p *mortal) publish(ctx context.Context, f *fleet.Fleet) error {
	publishing := context.WithValue(ctx, publishingKey{}, true)
	change := fleet.Change{Author: "ann", Note: p.Mark, Expected: f.Running().Hash, ExceptBroken: true}
	tenant := f.Tenant("a")
	if current, err := tenant.Current(ctx); err == nil && (p.Does == "overlay" || p.Does == "rollback" || p.Does == "patch") {
		change.Expected = current.Hash
	}
	described := json.RawMessage(fmt.Sprintf(`{"model_id":"m","allowed_tools":[],"description":%q}`, p.Mark))
	var err error
	switch p.Does {
	case "base":
		change.Document = fmt.Appendf(nil, mortalBase, map[bool]string{true: spareModel}[p.Point%2 == 0], p.Mark)
		_, err = f.Publish(publishing, &change)
	case "entry":
		_, err = f.PublishEntry(publishing, &fleet.EntryChange{Registry: "agents", ID: "clerk", Value: described, Change: change})
	case "overlay":
		change.Document = []byte(overlayOf(p.Mark))
		_, err = tenant.Publish(publishing, &change)
	case "patch":
		_, err = tenant.PublishPatch(publishing, &fleet.PatchChange{Registry: "agents", ID: "clerk", Value: json.RawMessage(fmt.Sprintf(`{"system_prompt":%q}`, p.Mark)), Change: change})
	case "rollback":
		page, listErr := tenant.Revisions(ctx, fleet.Page{})
		if listErr != nil {
			return listErr
		}
		for _, r := range page.Revisions { // the latest other one
			if r.Hash != change.Expected {
				_, err = tenant.Rollback(publishing, r.Hash, &change)
				return err
			}
		}
		err = errors.New("there is nothing to go back to")
	}
	return err
}

// kept is a store's content for the base and the tenants.
type kept struct {
	base, overlay       *store.Revision
	held                string
	attempts, published map[string]int
}

// readKept reads a store's content like another process does.
func readKept(t *testing.T, driver driver.Driver, s store.Settings) (k kept) {
	t.Helper()
	e, err := driver.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Store.Close() }()
	if k.base, err = e.Store.CurrentRevision(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if k.overlay, err = e.Store.CurrentRevision(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	state, err := e.Store.Overlay(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	k.held, k.attempts, k.published = state.Base, make(map[string]int), make(map[string]int)
	for _, tenant := range []string{"", "a"} {
		for page := (store.Page{Limit: store.MaxPage}); ; {
			attempts, err := e.Store.RevisionAttempts(t.Context(), store.RevisionQuery{Tenant: tenant, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range attempts.Attempts {
				k.attempts[a.Note+" "+string(a.Outcome)]++
			}
			if page.After = attempts.Next; page.After == "" {
				break
			}
		}
		for page := (store.Page{Limit: store.MaxPage}); ; {
			revisions, err := e.Store.Revisions(t.Context(), store.RevisionQuery{Tenant: tenant, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range revisions.Revisions {
				k.published[r.Note]++
			}
			if page.After = revisions.Next; page.After == "" {
				break
			}
		}
	}
	return k
}

// TestAPublisherIsKilledAtAnyPoint kills a publisher at each point of its publications: the base
// with tenants, a single entry, an overlay, a patch and a rollback. Another process finds the
// complete old or the complete new revision, a record only for a new revision, and can publish.
func TestAPublisherIsKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]driver.Driver{"sqlite": sqlite.Driver(), "postgres": postgres.Driver()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			settings := store.Settings{DSN: filepath.Join(dir, "data", "runtime.db")}
			text := fmt.Sprintf("version: 1\nstore: {driver: sqlite, data_dir: %s/data}\n", dir)
			if name == "postgres" {
				settings.DSN = pgtest.Start(t).Database(t)
				text = fmt.Sprintf("version: 1\nstore: {driver: postgres, dsn: %q}\n", settings.DSN)
			}
			file := filepath.Join(dir, "config.yaml")
			text += "revisions: {source: store}\nserver: {public_url: \"https://example.com\"}\n" + yamlOf(t, fmt.Sprintf(mortalBase, spareModel, "first"))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			beginOverlays(t, file)
			for _, does := range []string{"overlay", "patch", "rollback", "entry", "base"} {
				killPublishers(t, file, does, func() kept { return readKept(t, driver, settings) })
			}
		})
	}
}

// yamlOf returns the sections of a JSON document as YAML lines, without the version.
func yamlOf(t *testing.T, document string) string {
	t.Helper()
	var sections map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &sections); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range []string{"providers", "models", "agents", "tenants"} {
		fmt.Fprintf(&text, "%s: %s\n", name, bytes.ReplaceAll(sections[name], []byte("\n"), nil))
	}
	return text.String()
}

// beginOverlays publishes two overlays of tenant a, and one of tenant b with a model that
// a base may lack.
func beginOverlays(t *testing.T, file string) {
	t.Helper()
	a, err := app.Open(t.Context(), app.Options{Files: []string{file}, Components: shipped.Components()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	one, err := a.Fleet().Tenant("a").Publish(t.Context(), &fleet.Change{Document: []byte(overlayOf("one"))})
	if err == nil {
		_, err = a.Fleet().Tenant("a").Publish(t.Context(), &fleet.Change{Document: []byte(overlayOf("two")), Expected: one.Hash})
	}
	if err == nil {
		_, err = a.Fleet().Tenant("b").Publish(t.Context(), &fleet.Change{Document: []byte(`{"version":1,"patches":{"agents":{"clerk":{"model_id":"spare"}}}}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// killPublishers kills a publisher at each point and then lets another finish.
func killPublishers(t *testing.T, file, does string, read func() kept) {
	t.Helper()
	const most = 60
	before, olds, news := read(), 0, 0
	for point := 1; point <= most; point++ {
		p := mortal{Config: file, Does: does, Mark: fmt.Sprintf("%s %d", does, point), Point: point}
		killed := killtest.Start(t, &p)
		after := read()
		isNew := after.checkAfter(t, &p, &before)
		if before = after; isNew {
			news++
		} else {
			olds++
		}
		if killed {
			continue
		}
		t.Logf("%s: killed at %d points, published at %d of them", does, point-1, news-1)
		if !isNew || news < 2 || olds < 2 {
			t.Errorf("%s was killed at %d points, and was published at %d of them and at its end", does, point-1, news-1)
		}
		return
	}
	t.Errorf("%s has more than %d points", does, most)
}

// checkAfter checks the state after a publisher died and reports whether its publication is
// current.
func (k *kept) checkAfter(t *testing.T, p *mortal, before *kept) (isNew bool) {
	t.Helper()
	now, was, others := k.overlay, before.overlay, k.base.Number == before.base.Number
	if p.Does == "base" || p.Does == "entry" {
		now, was, others = k.base, before.base, k.overlay.Number == before.overlay.Number
	}
	isNew = now.Number != was.Number
	about := fmt.Sprintf("%s killed at point %d", p.Does, p.Point)
	if !others || config.HashDocument(now.Document) != now.Hash {
		t.Errorf("%s: something else has changed, or the document is another than its hash says", about)
	}
	wantHeld := before.held
	switch {
	case isNew && (now.Number != was.Number+1 || now.Parent != was.Hash || now.Note != p.Mark || p.Does != "rollback" && !bytes.Contains(now.Document, []byte(p.Mark))):
		t.Errorf("%s: revision %d over %.8s with the note %q is not the whole new one: %s", about, now.Number, now.Parent, now.Note, now.Document)
	case !isNew && (now.Hash != was.Hash || !bytes.Equal(now.Document, was.Document)):
		t.Errorf("%s: the old revision is not what it was", about)
	case isNew && p.Does == "base" && p.Point%2 == 0:
		wantHeld = ""
	case isNew && p.Does == "base" && wantHeld == "":
		wantHeld = was.Hash
	}
	if k.held != wantHeld {
		t.Errorf("%s: the other tenant is over %q, want %q", about, k.held, wantHeld)
	}
	want := map[bool]int{true: 1}[isNew]
	if got, n := k.attempts[p.Mark+" published"], k.published[p.Mark]; got != want || n != want {
		t.Errorf("%s: there are %d records and %d revisions of it, want %d", about, got, n, want)
	}
	return isNew
}
