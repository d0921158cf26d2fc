package main

import (
	"github.com/agentruntime/agentruntime/config"
	"github.com/spf13/cobra"
)

func newSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Long: `schema prints the JSON Schema of the configuration file, for editors. It
describes every kind of component that this program knows.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.out.Write(config.Schema(kinds()))
			return err
		},
	}
}
