package a2a_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
)

// replicaVariable has the database of a replica that is a process of its own.
const replicaVariable = "A2A_REPLICA"

// replicaLease is how long a replica that is dead keeps its turns.
const replicaLease = time.Second

// storyteller is a model that tells a story slowly.
type storyteller struct{}

// The words of the story, and how long one takes.
const (
	storyWords = 30
	storyPause = 40 * time.Millisecond
)

// story is what the storyteller tells.
func story() string {
	var b strings.Builder
	for i := range storyWords {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// Stream tells the story word by word.
func (storyteller) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ticker := time.NewTicker(storyPause)
		defer ticker.Stop()
		for word := range strings.SplitAfterSeq(strings.TrimSpace(story()), " ") {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				yield(model.Event{}, ctx.Err())
				return
			}
			if !yield(model.Event{Type: model.EventText, Delta: strings.TrimSpace(word) + " "}, nil) {
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 7, Output: storyWords}}, nil)
	}
}

// replica is one of several processes that serve one database.
type replica struct {
	service *service.Service
	url     string
	ends    []func() error
}

// openReplica returns a replica that answers requests. It works on turns once its
// service is started.
func openReplica(ctx context.Context, dsn string) (_ *replica, err error) {
	r := new(replica)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	rt, err := builder.New().WithProvider("demo", storyteller{}).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "story"}).
		WithAgentSpec(spec.Agent{ID: "storyteller", ModelID: "default"}).Build()
	if err != nil {
		return nil, err
	}
	kept, err := postgres.Open(ctx, store.Settings{DSN: dsn})
	if err != nil {
		return nil, err
	}
	r.ends = append(r.ends, kept.Close)
	queue, err := river.New(kept.Pool(), river.Settings{})
	if err != nil {
		return nil, err
	}
	r.service = service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: queue, Notifier: kept.Notifier(), Lease: replicaLease})
	r.ends = append(r.ends, func() error { r.service.Close(); return nil })
	return r, r.answer(ctx)
}

// answer makes the replica answer requests.
func (r *replica) answer(ctx context.Context) error {
	s, err := server.New(server.Settings{Address: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	if err := s.Listen(ctx); err != nil {
		return err
	}
	r.url = s.URL()
	surface, err := a2aserver.New(a2aserver.Settings{Service: r.service, PublicURL: r.url})
	if err == nil {
		err = s.Mount(ctx, surface)
	}
	if err != nil {
		return errors.Join(err, s.Shutdown(ctx))
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving) }()
	r.ends = append(r.ends, func() error {
		end()
		return errors.Join(<-ended, s.Shutdown(context.WithoutCancel(ctx)))
	})
	return nil
}

// close ends what was begun, the last first.
func (r *replica) close() error {
	var errs []error
	for i := len(r.ends) - 1; i >= 0; i-- {
		errs = append(errs, r.ends[i]())
	}
	return errors.Join(errs...)
}

// beReplica is the main function of a replica process: it prints its address and serves
// until it is killed or the process that started it has ended.
func beReplica(dsn string) int {
	ctx := context.Background()
	r, err := openReplica(ctx, dsn)
	if err == nil {
		err = r.service.Start(ctx)
	}
	if err == nil {
		fmt.Println(r.url)
		_, _ = io.Copy(io.Discard, os.Stdin)
		err = r.close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		return 1
	}
	return 0
}

// launchReplica starts a replica process. The kill is that of a power cut.
func launchReplica(t *testing.T, dsn string) (url string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it is killed below
	cmd.Env = append(os.Environ(), replicaVariable+"="+dsn)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the replica did not start: %v", err)
	}
	return strings.TrimSpace(line), kill
}

// joinReplica adds a replica in this process. It does not work yet.
func joinReplica(t *testing.T, dsn string) *replica {
	t.Helper()
	r, err := openReplica(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// newDatabase returns a database with the tables of a service.
func newDatabase(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Start(t).Database(t)
	if _, err := postgres.Migrate(t.Context(), store.Settings{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	kept, err := postgres.Open(t.Context(), store.Settings{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	_, err = river.Migrate(t.Context(), kept.Pool())
	if err = errors.Join(err, kept.Close()); err != nil {
		t.Fatal(err)
	}
	return dsn
}
