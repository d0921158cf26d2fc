package mcp

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// recoverPanics turns a handler's panic into an error: the SDK would crash the process.
func (s *Surface) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer panics.Handle(func(p *panics.Error) {
			s.settings.Logger.Error("an MCP handler panicked", zap.String("method", method), zap.Any("panic", p.Value), zap.ByteString("stack", p.Stack))
			result, err = nil, errInternal
		})
		return next(ctx, method, req)
	}
}

// replaceTools handles tool requests with the caller's agents.
func (s *Surface) replaceTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			cursor := ""
			if r.Params != nil {
				cursor = r.Params.Cursor
			}
			result, err := next(ctx, method, &mcp.ListToolsRequest{Session: r.Session, Params: &mcp.ListToolsParams{}, Extra: r.Extra})
			if err != nil {
				return nil, err
			}
			v, err := s.newView(ctx, r.Extra)
			if err != nil {
				return nil, err
			}
			list := result.(*mcp.ListToolsResult)
			if err := v.listTools(list, cursor); err != nil {
				return nil, err
			}
			return allowTasks(list, r.ProtocolVersion()), nil
		case *mcp.CallToolRequest:
			v, err := s.newView(ctx, r.Extra)
			if err != nil {
				return nil, err
			}
			id, ok := v.findTool(r.Params.Name)
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", clip.Text(r.Params.Name))}
			}
			params := *r.Params
			params.Name = agentTool
			return s.callTool(ctx, &called{view: v, id: id}, &mcp.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra}, next)
		case *mcp.ServerRequest[*taskParams]:
			return s.serveTask(ctx, method, r)
		default:
			result, err := next(ctx, method, req)
			return offerTasks(result), err
		}
	}
}

// callTool calls an agent. The result is a task if the call becomes one.
func (s *Surface) callTool(ctx context.Context, to *called, r *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	result, err := next(context.WithValue(ctx, calledKey{}, to), methodCall, r)
	if err != nil {
		return nil, err
	}
	if to.task != nil {
		return to.task.createTask(ctx)
	}
	if failed, ok := result.(*mcp.CallToolResult); ok && wantsTask(r) {
		return nil, taskError(failed)
	}
	return result, nil
}
