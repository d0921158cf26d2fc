// Package settings holds what a configuration tells a process: how it answers
// requests, where it keeps records, how it works on turns, and which turns it makes
// by schedule. What agents are is in package spec.
package settings
