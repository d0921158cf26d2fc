// Command agents shows agents with Go code: a desk with typed state that asks a person
// before it pays, and a report that is written in the background and shows its progress
// as artifacts. It needs no key: the model is scripted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/dispatch/local"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// script is what the model says.
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

// refund pays money back, once somebody agreed.
type refund struct{}

// Descriptor describes the tool.
func (refund) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "Pays money back.", Parameters: []byte(`{"type":"object","properties":{"amount":{"type":"integer"}}}`)}
}

// Call asks a person, and pays when it is called again.
func (refund) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	if call.Resumed == nil {
		return tools.Result{Wait: &tools.Wait{Questions: []interaction.Request{{Message: "Pay it back?"}}}}, nil
	}
	err := agents.UpdateState(call.Session, func(d *Desk) error { d.Paid += 12; return nil })
	return tools.TextResult("paid"), err
}

//docs:end

//docs:region code

// reply is the desk: it counts requests, and leaves the rest to its model and tools.
func reply(ctx context.Context, t *agents.Turn[Desk]) (*agents.Result, error) {
	if err := t.Update(func(d *Desk) error { d.Requests++; return nil }); err != nil {
		return nil, err
	}
	return t.Generate(ctx, agents.Prompt{Instructions: "You are the refund desk. Be brief."})
}

//docs:end

//docs:region report

// report writes a report, which has no model, and shows how far it is.
func report(_ context.Context, t *agents.Turn[struct{}]) (*agents.Result, error) {
	for _, text := range []string{"1 of 2", "2 of 2"} {
		if err := t.SendArtifact(wire.Artifact{Name: "progress", Parts: []wire.Part{wire.NewTextPart(text)}}); err != nil {
			return nil, err
		}
	}
	return &agents.Result{Text: "The report is written."}, nil
}

//docs:end

// run starts everything, and talks to both agents.
func run(ctx context.Context, out io.Writer) (err error) {
	desk, err := agents.Coded("desk", reply, agents.Options[Desk]{})
	reporter, err2 := agents.Custom("report", report, agents.Options[struct{}]{})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	provider, err := scripted.New(script)
	if err != nil {
		return err
	}
	b := builder.New().WithProvider("demo", provider).WithModel(spec.Model{ID: "small", ProviderID: "demo", UpstreamModel: "demo"}).
		WithTool("refund", refund{}).WithAgentSpec(spec.Agent{ID: "desk", ModelID: "small"})
	if err := agents.Install(b, desk, reporter); err != nil {
		return err
	}
	rt, err := b.Build()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	kept := memory.New(store.Settings{}) // or store/sqlite, store/postgres
	defer func() { err = errors.Join(err, kept.Close()) }()
	s := service.New(service.Settings{Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{})})
	if err := s.Start(ctx); err != nil {
		return err
	}
	defer s.Close()
	if _, err := agents.NewSet(agents.Settings{Service: s, Agents: []agents.Definition{desk, reporter}}); err != nil {
		return err
	}
	return errors.Join(askDesk(ctx, out, desk), followReport(ctx, out, reporter))
}

//docs:region talk

// askDesk has a conversation of two turns, the second of which asks a person.
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

// followReport begins a report in the background, and follows it.
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
