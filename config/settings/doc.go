// Package settings holds the settings of a process: how it answers requests, stores records and
// processes turns, and which turns it schedules. Agents are declared in package spec.
package settings
