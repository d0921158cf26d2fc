package runsclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Spec describes a run, a session, or one of its messages.
type Spec struct {
	Name           string            `json:"name,omitempty"`
	AgentID        string            `json:"agentId,omitempty"`
	SystemPrompt   string            `json:"systemPrompt,omitempty"`
	ModelID        string            `json:"modelId,omitempty"`
	Prompt         string            `json:"prompt,omitempty"`
	Messages       []Message         `json:"messages,omitempty"`
	Tools          []Tool            `json:"tools"`
	ReasoningLevel any               `json:"reasoningLevel,omitempty"`
	Budgets        map[string]any    `json:"budgets,omitempty"`
	OutputSchema   map[string]any    `json:"outputSchema,omitempty"`
	LoopDetection  any               `json:"loopDetection,omitempty"`
	ToolBudgets    map[string]Budget `json:"toolBudgets,omitzero"`
	Metadata       map[string]string `json:"metadata,omitempty"`
}

// Message is a message of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Budget limits the calls of a tool.
type Budget struct {
	MaxCalls int `json:"maxCalls"`
}

// Created holds the address of a run.
type Created struct {
	RunID     string `json:"runId"`
	StreamURL string `json:"streamUrl"`
}

// Snapshot is the state of a run.
type Snapshot struct {
	ID            string            `json:"id"`
	RunID         string            `json:"runId"`
	SessionID     *string           `json:"sessionId"`
	Status        string            `json:"status"`
	FinalText     *string           `json:"finalText"`
	Error         *string           `json:"error"`
	FailureReason map[string]string `json:"failureReason"`
	Spec          map[string]any    `json:"spec"`
	AgentSpec     map[string]any    `json:"agentSpec"`
	Metadata      map[string]string `json:"metadata"`
	Tokens        map[string]int    `json:"tokens"`
	Turns         *int              `json:"turns"`
	Model         map[string]string `json:"model"`
	CreatedAt     string            `json:"createdAt"`
	StartedAt     *string           `json:"startedAt"`
	EndedAt       *string           `json:"endedAt"`
}

// Result is the result of a successful run.
type Result struct {
	RunID, Text string
	Events      []Event
}

// Create begins a run. The spec is a Spec, or any other body to send.
func (c *Client) Create(ctx context.Context, spec any) (Created, error) {
	return c.createRun(ctx, c.Path("agent-runs"), spec)
}

func (c *Client) createRun(ctx context.Context, path string, spec any) (Created, error) {
	var made Created
	if err := c.callAPI(ctx, http.MethodPost, path, normalizeSpec(spec), &made); err != nil {
		return made, err
	}
	if made.RunID == "" || !strings.HasPrefix(made.StreamURL, "/") || !strings.HasSuffix(made.StreamURL, "/agent-runs/"+escapeText(made.RunID)+"/stream") {
		return made, &ProtocolError{Problem: fmt.Sprintf("the run %q is at %q", made.RunID, made.StreamURL)}
	}
	return made, nil
}

// normalizeSpec returns a spec in the form that SDKs send: always with a list of tools.
func normalizeSpec(spec any) any {
	s, ok := spec.(Spec)
	if ok && s.Tools == nil {
		s.Tools = []Tool{}
	}
	if ok {
		return s
	}
	return spec
}

// Run begins a run, makes the calls that it requests and waits for its end. It returns a *RunError
// if the run does not succeed.
func (c *Client) Run(ctx context.Context, spec Spec) (*Result, error) {
	made, err := c.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c.Drive(ctx, made.RunID, spec.Tools, 0, nil)
}

// Snapshot returns the state of a run.
func (c *Client) Snapshot(ctx context.Context, runID string) (*Snapshot, error) {
	var s Snapshot
	return &s, c.callAPI(ctx, http.MethodGet, c.Path("agent-runs", runID), nil, &s)
}

// Cancel ends a run.
func (c *Client) Cancel(ctx context.Context, runID string) error {
	var answer struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
	}
	if err := c.callAPI(ctx, http.MethodPost, c.Path("agent-runs", runID, "cancel"), nil, &answer); err != nil {
		return err
	}
	if !answer.OK {
		return &ProtocolError{Problem: "a cancel is answered without ok"}
	}
	return nil
}

// Answer posts the result of a client tool. The body is sent in addition to the call's id.
func (c *Client) Answer(ctx context.Context, runID, toolUseID string, body map[string]any) error {
	sent := map[string]any{"toolUseId": toolUseID}
	for name, value := range body {
		sent[name] = value
	}
	return c.callAPI(ctx, http.MethodPost, c.Path("agent-runs", runID, "tool-results"), sent, nil)
}
