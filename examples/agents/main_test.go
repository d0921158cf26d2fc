package main

import (
	"strings"
	"testing"
)

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
