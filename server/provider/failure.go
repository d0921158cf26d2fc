package provider

import (
	"context"

	"github.com/agentruntime/agentruntime/server"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// classCodes maps failure classes to codes; all others are InvalidArgument.
var classCodes = map[server.Class]codes.Code{
	server.ClassInternal: codes.Internal, server.ClassGone: codes.Canceled, server.ClassUnresolvable: codes.FailedPrecondition,
	server.ClassDraining: codes.Unavailable, server.ClassReadOnly: codes.Unavailable, server.ClassStoreDown: codes.Unavailable,
	server.ClassNotFound: codes.NotFound, server.ClassNoAgent: codes.FailedPrecondition, server.ClassSessionStart: codes.FailedPrecondition,
	server.ClassWorkspace: codes.FailedPrecondition,
	server.ClassTooLarge:  codes.ResourceExhausted, server.ClassExists: codes.AlreadyExists, server.ClassKeyConflict: codes.AlreadyExists,
	server.ClassBusy: codes.FailedPrecondition, server.ClassWrongState: codes.FailedPrecondition, server.ClassAnswered: codes.AlreadyExists,
	server.ClassLimit: codes.ResourceExhausted,
}

// toStatus returns an error in the host's form. Internal causes are only logged.
func (s *Server) toStatus(ctx context.Context, method string, err error) error {
	if err == nil || isStatus(err) {
		return err
	}
	f := server.Report(ctx, s.settings.Logger.Named(method), err)
	code, ok := classCodes[f.Class]
	if !ok {
		code = codes.InvalidArgument
	}
	return status.Error(code, f.Message)
}
