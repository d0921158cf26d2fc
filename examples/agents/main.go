// Command agents shows agents with Go code: a desk with typed state that asks a person before it
// pays, and a report written in the background that shows its progress as artifacts. With -serve it
// serves clients of the agents API, such as genkit/beta/client. It needs no key: the model is
// scripted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/server"
	serveragents "github.com/agentruntime/agentruntime/server/agents"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

func main() {
	address := flag.String("serve", "", "answer clients of the agents API on an address, such as 127.0.0.1:8080")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	start := func() error { return run(ctx, os.Stdout) }
	if *address != "" {
		start = func() error {
			return serve(ctx, *address, func(url string) { fmt.Println("listening on " + url) })
		}
	}
	err := start()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// script holds the model's answers.
var script = scripted.Script{
	Replies:  []scripted.Reply{{Match: "refund", ToolCalls: []model.ToolCall{{Name: "refund", Arguments: []byte(`{"amount":12}`)}}}},
	Fallback: &scripted.Reply{Text: "What can I do for you?"},
}

//docs:region state

// Desk is the custom state of the agent desk.
type Desk struct {
	Requests int `json:"requests"`
	Paid     int `json:"paid"`
}

//docs:end

//docs:region tool

// refund pays money back after a person approves.
type refund struct{}

// Descriptor describes the tool.
func (refund) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "Pays money back.", Parameters: []byte(`{"type":"object","properties":{"amount":{"type":"integer"}}}`)}
}

// Call asks a person, and pays when called again.
func (refund) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	if call.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "Pay it back?"}}}}, nil
	}
	err := agents.UpdateState(call.Session, func(d *Desk) error { d.Paid += 12; return nil })
	return tools.TextResult("paid"), err
}

//docs:end

//docs:region code

// reply implements the desk: it counts requests and leaves the rest to its model and tools.
func reply(ctx context.Context, t *agents.Turn[Desk]) (*agents.Result, error) {
	if err := t.Update(func(d *Desk) error { d.Requests++; return nil }); err != nil {
		return nil, err
	}
	return t.Generate(ctx, agents.Prompt{Instructions: "You are the refund desk. Be brief."})
}

//docs:end

//docs:region report

// report writes a report without a model, and shows its progress.
func report(_ context.Context, t *agents.Turn[struct{}]) (*agents.Result, error) {
	for _, text := range []string{"1 of 2", "2 of 2"} {
		if err := t.SendArtifact(wire.Artifact{Name: "progress", Parts: []wire.Part{wire.NewTextPart(text)}}); err != nil {
			return nil, err
		}
	}
	return &agents.Result{Text: "The report is written."}, nil
}

//docs:end

// program holds the agents and their runtime.
type program struct {
	desk     *agents.Agent[Desk]
	reporter *agents.Agent[struct{}]
	set      *agents.Set
	close    func() error
}

// open starts everything.
func open(ctx context.Context) (_ *program, err error) {
	desk, err := agents.Coded("desk", reply, agents.Options[Desk]{})
	reporter, err2 := agents.Custom("report", report, agents.Options[struct{}]{})
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	provider, err := scripted.New(script)
	if err != nil {
		return nil, err
	}
	b := builder.New().WithProvider("demo", provider).WithModel(spec.Model{ID: "small", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("refund", refund{}).WithAgentSpec(spec.Agent{ID: "desk", ModelID: "small"})
	if err := agents.Install(b, desk, reporter); err != nil {
		return nil, err
	}
	rt, err := b.Build()
	if err != nil {
		return nil, err
	}
	kept := memory.New(store.Settings{}) // or store/sqlite, store/postgres
	s := service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{})})
	p := &program{desk: desk, reporter: reporter, close: func() error { s.Close(); return errors.Join(kept.Close(), rt.Close()) }}
	if err = s.Start(ctx); err == nil {
		p.set, err = agents.NewSet(agents.Settings{Service: s, Agents: []agents.Definition{desk, reporter}})
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// run talks to both agents.
func run(ctx context.Context, out io.Writer) (err error) {
	p, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return errors.Join(askDesk(ctx, out, p.desk), followReport(ctx, out, p.reporter))
}

//docs:region serve

// serve serves clients of the agents API on an address until ctx ends, and calls ready with its
// URL.
func serve(ctx context.Context, address string, ready func(url string)) (err error) {
	p, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	surface, err := serveragents.New(serveragents.Settings{Agents: p.set})
	if err != nil {
		return err
	}
	s, err := server.New(server.Settings{Address: address})
	if err != nil {
		return err
	}
	if err := errors.Join(s.Mount(ctx, surface), s.Listen(ctx)); err != nil {
		return err
	}
	ready(s.LocalURL())
	ended := s.Serve(ctx)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(ended, s.Shutdown(bounded))
}

//docs:end

//docs:region talk

// askDesk holds a conversation of two turns; the second asks a person.
func askDesk(ctx context.Context, out io.Writer, desk *agents.Agent[Desk]) error {
	talk, err := desk.Connect(ctx, agents.FromSession("customer 7"))
	if err != nil {
		return err
	}
	input := agents.Text("Hello")
	for range 3 {
		if err := talk.Send(ctx, input); err != nil {
			return err
		}
		output, err := talk.Output(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", output.FinishReason, output.Text())
		input = agents.Text("I want a refund.")
		if open := output.Interrupts(); len(open) > 0 {
			fmt.Fprintf(out, "a person is asked about %s %s\n", open[0].ToolRequest.Name, open[0].ToolRequest.Input)
			yes, err := agents.Again(&open[0], true)
			if err != nil {
				return err
			}
			input = agents.Restart(yes)
		}
	}
	kept, err := desk.LatestSnapshot(ctx, talk.SessionID())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d requests, %d paid\n", kept.State.Custom.Requests, kept.State.Custom.Paid)
	return nil
}

//docs:end

//docs:region follow

// followReport starts a report in the background and follows it.
func followReport(ctx context.Context, out io.Writer, reporter *agents.Agent[struct{}]) error {
	begun, err := reporter.Detach(ctx, agents.Source{}, agents.Text("Write it."), agents.DetachOptions{})
	if err != nil {
		return err
	}
	for piece, err := range reporter.Follow(ctx, begun.SnapshotID) {
		switch {
		case err != nil:
			return err
		case piece.Output != nil:
			fmt.Fprintln(out, piece.Output.Text())
		case piece.Chunk.Artifact != nil:
			fmt.Fprintf(out, "%s %s\n", piece.Chunk.Artifact.Name, *piece.Chunk.Artifact.Parts[0].Text)
		}
	}
	return nil
}

//docs:end
