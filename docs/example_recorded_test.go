package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/model/scripted"
)

//docs:region normalize

var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// hideDates makes requests of different days equal.
var hideDates = recorded.Normalize(func(req *model.Request) {
	for _, message := range req.Messages {
		for i := range message.Parts {
			message.Parts[i].Text = date.ReplaceAllString(message.Parts[i].Text, "DATE")
		}
	}
})

//docs:end

func Example_recorded() {
	source, err := scripted.New(scripted.Script{Replies: []scripted.Reply{{Text: "A Monday."}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	printAnswer(recorded.NewRecorder(source, &file, hideDates), "What is 2026-11-23?")
	player, err := recorded.NewPlayer(&file, hideDates)
	if err != nil {
		fmt.Println(err)
		return
	}
	printAnswer(player, "What is 2026-11-30?")
	// Output:
	// A Monday.
	// A Monday.
}

// printAnswer prints the text of an answer.
func printAnswer(e model.Executor, question string) {
	req := &model.Request{Model: "demo", Messages: []model.Message{model.User(question)}}
	for ev, err := range e.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev.Type == model.EventText {
			fmt.Println(ev.Delta)
		}
	}
}
