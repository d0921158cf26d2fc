package mcp

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The optional features of the protocol.
const (
	featureResources   = "resources"
	featurePrompts     = "prompts"
	featureElicitation = "elicitation"
	featureSampling    = "sampling"
	featureRoots       = "roots"
)

// knownFeatures are the values of features.
var knownFeatures = []string{featureResources, featurePrompts, featureElicitation, featureSampling, featureRoots}

// allowsFeature reports whether the configuration allows a feature.
func (c *config) allowsFeature(name string) bool {
	if c.Features == nil {
		return name == featureElicitation
	}
	return slices.Contains(c.Features, name)
}

// clientFeatures are the features that a session offers to its server.
type clientFeatures struct{ elicitation, sampling, roots bool }

func (c *config) clientFeatures() clientFeatures {
	return clientFeatures{c.allowsFeature(featureElicitation), c.allowsFeature(featureSampling), c.allowsFeature(featureRoots)}
}

// offeredFeatures returns the server's features that agents can use.
func offeredFeatures(r *mcp.InitializeResult) []string {
	var list []string
	if r == nil || r.Capabilities == nil {
		return nil
	}
	if r.Capabilities.Prompts != nil {
		list = append(list, featurePrompts)
	}
	if r.Capabilities.Resources != nil {
		list = append(list, featureResources)
	}
	return list
}
