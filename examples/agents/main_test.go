package main

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/genkitjs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

//go:embed client.mjs
var client []byte

func TestTheExampleIsUsedFromJavaScript(t *testing.T) {
	program := genkitjs.Install(t)
	ctx, stop := context.WithCancel(t.Context())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- serve(ctx, "127.0.0.1:0", func(at string) { url <- at }) }()
	select {
	case at := <-url:
		program.Run(t, client, at)
	case err := <-ended:
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheExampleComesToItsEnd(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const want = `stop: What can I do for you?
interrupted: 
a person is asked about refund {"amount":12}
stop: What can I do for you?
2 requests, 12 paid
progress 1 of 2
progress 2 of 2
The report is written.
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
