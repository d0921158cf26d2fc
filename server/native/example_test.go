package native_test

import (
	"context"
	"fmt"
	"os"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/native"
)

// A program that lets an agent of a server answer, and shows the text as it comes.
func ExampleClient() {
	ctx := context.Background()
	client, err := native.NewClient(native.ClientSettings{URL: "https://agents.example.com", Key: os.Getenv("RUNTIME_API_KEY")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	session, err := client.CreateSession(ctx, native.CreateSession{AgentID: "clerk"})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := client.CreateTurn(ctx, native.CreateTurn{SessionID: session.ID, Input: []model.Message{model.User("What is open?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for record, err := range client.Events(ctx, turn.ID, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev, err := record.Event(); err == nil {
			if text, ok := ev.Data.(*event.TextDelta); ok {
				fmt.Print(text.Delta)
			}
		}
	}
}
