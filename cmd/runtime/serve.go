package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	return &cobra.Command{
		Use:   "serve FILE",
		Short: "Serve the agents (not part of this version yet)",
		Args:  arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return errors.New("this version has no server yet; use \"runtime run\" or the Go API")
		},
	}
}
