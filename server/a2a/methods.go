package a2a

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/service"
)

// GetTask returns a task with its history and artifacts.
func (h *handler) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (_ *a2a.Task, err error) {
	defer h.server.guardMethod(ctx, "GetTask", &err)
	c, err := h.admitRequest(ctx, req.Tenant)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(req.HistoryLength); err != nil {
		return nil, err
	}
	turn, err := c.getTurn(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return c.toTask(ctx, turn, fullView(req.HistoryLength))
}

// CancelTask cancels a task immediately, wherever it runs. A canceled task is returned unchanged.
func (h *handler) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (_ *a2a.Task, err error) {
	defer h.server.guardMethod(ctx, "CancelTask", &err)
	c, err := h.admitRequest(ctx, req.Tenant)
	if err != nil {
		return nil, err
	}
	turn, err := c.getTurn(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	if turn.Status.Live() {
		if turn, err = c.service.CancelTurn(ctx, c.caller, turn.ID, "its caller canceled it"); err != nil {
			return nil, err
		}
	}
	if turn.Status != service.Canceled {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	}
	return c.toTask(ctx, turn, fullView(nil))
}

// SendMessage starts a task or answers its question, and returns it once it has ended, asks a
// question, or the maximum wait has passed.
func (h *handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (_ a2a.SendMessageResult, err error) {
	defer h.server.guardMethod(ctx, "SendMessage", &err)
	c, err := h.admitRequest(ctx, req.Tenant)
	if err != nil {
		return nil, err
	}
	turn, err := c.sendMessage(ctx, req)
	if err != nil {
		return nil, err
	}
	config := configOf(req)
	if !config.ReturnImmediately {
		if turn, err = c.waitSettled(ctx, turn); err != nil {
			return nil, err
		}
	}
	if c.wantsMessage(ctx, req) {
		m, err := c.replyMessage(context.WithoutCancel(ctx), turn)
		if err != nil {
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
	return c.toTask(context.WithoutCancel(ctx), turn, fullView(config.HistoryLength))
}

// SendStreamingMessage is SendMessage with a stream of events. The stream ends when the task has
// ended or asks its caller for something.
func (h *handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return h.streamEvents(ctx, "SendStreamingMessage", req.Tenant, func(c *call, show showFunc) error {
		turn, err := c.sendMessage(ctx, req)
		if err != nil {
			return err
		}
		if c.wantsMessage(ctx, req) {
			return c.streamReply(ctx, turn, configOf(req).HistoryLength, show)
		}
		return c.followTask(ctx, turn, configOf(req).HistoryLength, true, show)
	})
}

// SubscribeToTask sends a live task's current state, and then its events, up to its end.
func (h *handler) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return h.streamEvents(ctx, "SubscribeToTask", req.Tenant, func(c *call, show showFunc) error {
		turn, err := c.getTurn(ctx, req.ID)
		if err == nil && !turn.Status.Live() {
			err = newUnsupported("the task has ended: get it instead")
		}
		if err != nil {
			return err
		}
		return c.followTask(ctx, turn, nil, false, show)
	})
}

// showFunc sends an event and returns false if no more may follow.
type showFunc func(a2a.Event) bool

// streamEvents admits a request and yields its events, and its errors as callers see them.
func (h *handler) streamEvents(ctx context.Context, method, tenant string, stream func(*call, showFunc) error) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if err := h.admitStream(ctx, method, tenant, stream, func(ev a2a.Event) bool { return yield(ev, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// admitStream admits a request and shows its events.
func (h *handler) admitStream(ctx context.Context, method, tenant string, stream func(*call, showFunc) error, show showFunc) (err error) {
	defer h.server.guardMethod(ctx, method, &err)
	c, err := h.admitRequest(ctx, tenant)
	if err != nil {
		return err
	}
	return stream(c, show)
}

// GetTaskPushConfig returns a push configuration of a task.
func (h *handler) GetTaskPushConfig(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (_ *a2a.PushConfig, err error) {
	defer h.server.guardMethod(ctx, "GetTaskPushConfig", &err)
	c, turn, err := h.admitPushRequest(ctx, req.Tenant, req.TaskID)
	if err != nil {
		return nil, err
	}
	return c.getPush(ctx, turn.ID, req.ID)
}

// ListTaskPushConfigs returns the push configurations of a task.
func (h *handler) ListTaskPushConfigs(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (_ *a2a.ListTaskPushConfigResponse, err error) {
	defer h.server.guardMethod(ctx, "ListTaskPushConfigs", &err)
	c, turn, err := h.admitPushRequest(ctx, req.Tenant, req.TaskID)
	if err != nil {
		return nil, err
	}
	size, token, err := pageOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return c.listPush(ctx, turn.ID, size, token)
}

// CreateTaskPushConfig subscribes a receiver to a task's updates.
func (h *handler) CreateTaskPushConfig(ctx context.Context, req *a2a.PushConfig) (_ *a2a.PushConfig, err error) {
	defer h.server.guardMethod(ctx, "CreateTaskPushConfig", &err)
	c, turn, err := h.admitPushRequest(ctx, req.Tenant, req.TaskID)
	if err != nil {
		return nil, err
	}
	info, err := c.infoOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	return c.createPush(ctx, info, req, false)
}

// DeleteTaskPushConfig deletes a push configuration of a task.
func (h *handler) DeleteTaskPushConfig(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) (err error) {
	defer h.server.guardMethod(ctx, "DeleteTaskPushConfig", &err)
	c, turn, err := h.admitPushRequest(ctx, req.Tenant, req.TaskID)
	if err != nil {
		return err
	}
	return c.deletePush(ctx, turn.ID, req.ID)
}

// GetExtendedAgentCard returns the card for the principal.
func (h *handler) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (_ *a2a.AgentCard, err error) {
	defer h.server.guardMethod(ctx, "GetExtendedAgentCard", &err)
	c, err := h.admitRequest(ctx, req.Tenant)
	if err != nil {
		return nil, err
	}
	card, err := h.server.extendedCard(ctx, c)
	if err != nil {
		return nil, err
	}
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if !ok || e.spoken != v03 {
		return card, h.server.settings.Signer.signCard(card)
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool { return i.ProtocolVersion != v03 })
	e.card, err = h.server.encodeUnion(card)
	return card, err
}

// admitPushRequest admits a request about a task's push configurations. A server without push
// notifications rejects it whether or not the task exists.
func (h *handler) admitPushRequest(ctx context.Context, tenant string, id a2a.TaskID) (*call, *service.Turn, error) {
	c, err := h.admitRequest(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	if h.sender == nil {
		return nil, nil, errNoPush
	}
	turn, err := c.getTurn(ctx, id)
	return c, turn, err
}

// pageOf returns the requested page of push configurations. The SDK does not read the query.
// Version 0.3 has no pages, so its query is ignored.
func pageOf(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (size int, token string, err error) {
	e, ok := ctx.Value(envelopeKey{}).(*envelope)
	if !ok || e.query == nil || e.spoken == v03 {
		return req.PageSize, req.PageToken, nil
	}
	if text := e.query.Get("pageSize"); text != "" {
		if size, err = strconv.Atoi(text); err != nil {
			return 0, "", newInvalidParams("pageSize is not a number")
		}
	}
	return size, e.query.Get("pageToken"), nil
}
