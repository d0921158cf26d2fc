package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
)

// workerVariable has the place of a worker process, as JSON.
const workerVariable = "FAULTS_WORKER"

// line is one line that a worker writes to its harness.
type line struct {
	// ID is the id of the request that the line belongs to.
	ID int64 `json:"id,omitempty"`
	// Ready reports that the worker works.
	Ready bool `json:"ready,omitempty"`
	// Working is the turn on which it made progress.
	Working string `json:"working,omitempty"`
	// Event is a followed event.
	Event *sighting `json:"event,omitempty"`
	// Done ends a request, with the state of its turn or an error.
	Done   bool         `json:"done,omitempty"`
	Status store.Status `json:"status,omitempty"`
	Error  string       `json:"error,omitempty"`
}

// reporter writes lines.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (r *reporter) say(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(l); err != nil {
		os.Exit(4) // nobody listens any more
	}
}

// beWorker runs a worker process: it works on turns and serves requests until its input ends.
func beWorker(settings string) int {
	if err := serve(settings); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

func serve(settings string) error {
	var p place
	if err := json.Unmarshal([]byte(settings), &p); err != nil {
		return err
	}
	logger, err := p.logger()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &reporter{out: json.NewEncoder(os.Stdout)}
	e, err := open(ctx, &p, logger, func(turnID string) { r.say(line{Working: turnID}) })
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.Start(ctx); err != nil {
		return err
	}
	r.say(line{Ready: true})
	attend(ctx, os.Stdin, r, direct{e.Service})
	return nil
}

// attend serves requests until its input ends.
func attend(ctx context.Context, in io.Reader, r *reporter, g gateway) {
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			r.say(line{ID: asked.ID, Done: true, Error: err.Error()})
			continue
		}
		tasks.Go(func() { r.say(answerTo(ctx, r, g, asked)) })
	}
}

func answerTo(ctx context.Context, r *reporter, g gateway, asked request) line {
	done := line{ID: asked.ID, Done: true}
	var err error
	if asked.Do != followTurn {
		done.Status, err = g.do(ctx, asked)
	} else {
		for seen, broken := range g.follow(ctx, asked.Turn, asked.After) {
			if err = broken; err == nil {
				r.say(line{ID: asked.ID, Event: &seen})
			}
		}
	}
	if err != nil {
		done.Error = err.Error()
	}
	return done
}

func (p *place) logger() (*zap.Logger, error) {
	if p.Log == "" {
		return zap.NewNop(), nil
	}
	c := zap.NewDevelopmentConfig()
	c.Level.SetLevel(zap.InfoLevel)
	c.OutputPaths, c.DisableStacktrace, c.DisableCaller = []string{p.Log}, true, true
	return c.Build(zap.Fields(zap.Int("pid", os.Getpid())))
}
