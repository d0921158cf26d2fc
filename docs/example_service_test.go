package docs_test

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

func Example_service() {
	demo, err := scripted.New(scripted.Script{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := builder.New().
		WithProvider("demo", demo).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default"}).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := serveOnce(context.Background(), rt); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run_start step_start text_delta inference_complete step_end run_finish
	// succeeded: echo: Hello.
	// 2 messages
}

//docs:region service

func serveOnce(ctx context.Context, rt *runtime.AgentRuntime) error {
	// sqlite.Open and postgres.Open persist data that memory loses.
	records := memory.New(store.Settings{})
	defer records.Close()
	turns := service.New(service.Settings{
		Runtime: rt, Store: records, Dispatcher: local.New(local.Settings{Concurrency: 8}),
	})
	defer turns.Close()
	if err := turns.Start(ctx); err != nil {
		return err
	}

	// Every call names its caller, which cannot see other callers' data.
	alice := service.Caller{Tenant: "acme", Subject: "alice"}
	session, err := turns.CreateSession(ctx, alice, service.CreateSession{AgentID: "assistant"})
	if err != nil {
		return err
	}
	// CreateTurn returns as soon as the turn is stored. The key makes it safe to retry if the
	// answer was lost.
	turn, err := turns.CreateTurn(ctx, alice, service.CreateTurn{
		SessionID: session.ID, Input: []model.Message{model.User("Hello.")}, IdempotencyKey: "hello-1",
	})
	if err != nil {
		return err
	}
	// From any position, any number of times, on any replica.
	var seen []event.Type
	for record, err := range turns.Events(ctx, alice, turn.ID, 0) {
		if err != nil {
			return err
		}
		seen = append(seen, record.Type)
	}
	for i, kind := range seen {
		if i > 0 {
			fmt.Print(" ")
		}
		fmt.Print(kind)
	}
	done, err := turns.WaitTurn(ctx, alice, turn.ID)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %s\n", done.Status, done.Outcome.Response)
	snapshot, err := turns.GetSnapshot(ctx, alice, done.SnapshotID)
	if err != nil {
		return err
	}
	fmt.Println(len(snapshot.State.Messages), "messages")
	return nil
}

//docs:end
