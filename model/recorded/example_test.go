package recorded_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
	"github.com/agentruntime/agentruntime/model/scripted"
)

// Example records a model and plays the recording. The model is scripted here; in a test
// of a team it is that of a vendor, and the file is in testdata.
func Example() {
	source, err := scripted.New(scripted.Script{Replies: []scripted.Reply{{Text: "It is sunny."}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	recorder := recorded.NewRecorder(source, &file)
	printAnswer(recorder, "How is the weather?")

	player, err := recorded.NewPlayer(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	printAnswer(player, "How is the weather?")
	printAnswer(player, "How is the water?")
	// Output:
	// It is sunny.
	// It is sunny.
	// invalid_request: no recording of this request; it differs from recording 1:
	//   messages[0].parts[0].text: recorded "How is the weather?", asked "How is the water?"
}

func printAnswer(e model.Executor, question string) {
	req := &model.Request{Model: "demo", Messages: []model.Message{model.User(question)}}
	var answer model.Answer
	for ev, err := range e.Stream(context.Background(), req) {
		if err == nil {
			err = answer.Add(&ev)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(answer.Text())
}
