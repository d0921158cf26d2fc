package backend

import "github.com/agentruntime/agentruntime/plugins"

// CheckResolution reports why an answer does not fit a ticket, as a
// *ResolutionError.
func CheckResolution(ticket *plugins.Ticket, r *plugins.Resolution) error {
	if problem := check(ticket, r); problem != "" {
		return &ResolutionError{Target: ticket.ID, Problem: problem}
	}
	return nil
}
