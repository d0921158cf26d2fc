package vendorhttp

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// Ask sends a request and yields the events of its answer until the answer is complete, it fails or
// the consumer stops. begin receives the request with tool names that the server accepts.
func (a *API) Ask(ctx context.Context, req *model.Request, begin func(*model.Request) Exchange, yield func(model.Event, error) bool) {
	bound, err := a.bindCall(ctx)
	var names *wireNames
	if err == nil {
		req, names, err = bound.adaptNames(req)
	}
	if err != nil {
		yield(model.Event{}, err)
		return
	}
	t := &attempt{api: bound, caller: ctx, editor: editor{api: bound, request: req}, names: names}
	t.ctx, t.cancel = context.WithCancel(ctx)
	defer t.close()
	x := begin(req)
	if err := t.sendRequest(x); err != nil {
		yield(model.Event{}, err)
		return
	}
	t.readStream(x.Translator(), names.restore(yield))
}

// adaptNames returns a request whose tool names the server accepts, and those names; nil if no
// names change.
func (a *API) adaptNames(req *model.Request) (*model.Request, *wireNames, error) {
	rule := a.protocol.Names
	if namesFit(rule, req) {
		return req, nil, nil
	}
	names := &wireNames{rule: rule}
	if len(req.Tools) > 0 {
		var err error
		if names, err = a.names.Encoded(req.Tools); err != nil {
			return nil, nil, err
		}
	}
	own := *req
	own.Tools = names.tools
	if own.ToolChoice.Name != "" {
		own.ToolChoice.Name = names.of(own.ToolChoice.Name)
	}
	own.Messages = slices.Clone(req.Messages)
	for i := range own.Messages {
		own.Messages[i].Parts = names.adaptParts(own.Messages[i].Parts)
	}
	return &own, names, nil
}
