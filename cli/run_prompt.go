package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/tools"
)

// errNoPrompt ends a command without a prompt.
var errNoPrompt = errors.New("the prompt is empty")

// prompt is the input of a run, given or typed.
type prompt struct {
	// variables are the turn's variables for the agent's prompt.
	variables json.RawMessage
	// tenant holds the settings of the turn's tenant.
	tenant tools.TenantValues
	text   string
	// typed is set if the prompt can be typed at a terminal, and read if it came from standard
	// input.
	typed, read bool
}

// ignoreNoPrompt turns errNoPrompt into success.
func ignoreNoPrompt(err error) error {
	if errors.Is(err, errNoPrompt) {
		return nil
	}
	return err
}

// promptAmong returns the prompt among the arguments. Without one, it is typed at the terminal.
func promptAmong(args []string, in io.Reader) *prompt {
	switch {
	case len(args) > 0 && args[0] != "-":
		return &prompt{text: args[0]}
	case len(args) == 0 && terminal.IsTerminal(in):
		return &prompt{typed: true}
	default:
		return &prompt{read: true}
	}
}

// load reads the prompt unless it will be typed.
func (q *prompt) load(ctx context.Context, in io.Reader) error {
	if q.typed {
		return nil
	}
	if q.read {
		data, err := readInput(ctx, in, terminal.MaxPrompt+2)
		if err != nil {
			return err
		}
		q.text = strings.TrimRight(string(data), "\r\n")
	}
	switch {
	case len(q.text) > terminal.MaxPrompt:
		return fmt.Errorf("the prompt is larger than %d bytes", terminal.MaxPrompt)
	case !utf8.ValidString(q.text):
		return errors.New("the prompt is not valid UTF-8")
	case strings.TrimSpace(q.text) == "":
		return errors.New("a prompt is required, as the last argument or on standard input")
	}
	return nil
}

// ask asks for a typed prompt until there is one. It returns errNoPrompt at the end of the input.
func (q *prompt) ask(ctx context.Context, a *question.Answerer) error {
	for q.typed && strings.TrimSpace(q.text) == "" {
		a.Prompt("prompt: ")
		line, ok := a.Input.Next(ctx, nil)
		if !ok || a.Input.Ended {
			fmt.Fprintln(a.Err)
		}
		switch {
		case !ok:
			return ctx.Err()
		case a.Input.Ended:
			return errNoPrompt
		}
		q.text = line
	}
	return nil
}

// readInput reads at most limit bytes of standard input, or until ctx ends.
func readInput(ctx context.Context, in io.Reader, limit int64) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, limit))
		read <- input{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-read:
		if got.err != nil {
			return nil, fmt.Errorf("read standard input: %w", got.err)
		}
		return got.data, nil
	}
}

// encodeVariables returns variables as a JSON object, or nothing.
func encodeVariables(values map[string]json.RawMessage) (json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	return json.Marshal(values)
}
